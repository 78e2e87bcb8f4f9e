"""Data from the text of Python objects (`repr`), which some libraries record in place of JSON.

`Message(role=<Role.USER: 'user'>, parts=[Text(text='hi')])` gives
`{"type": "message", "role": "user", "parts": [{"type": "text", "text": "hi"}]}`.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Any, Final

MAX_CHARS = 200_000
MAX_DEPTH = 32
CUT: Final = "..."
LOOKS_LIKE: Final = re.compile(r"[A-Z]\w*\((?:\w+=|\))|\w+=\S")
_OBJECT: Final = re.compile(r"[A-Z]\w*\(\w+=")
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>[bru]{0,2}(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
    | (?P<number>-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<enum><[\w.]+:\s(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+)>)
    | (?P<opaque><[^<>]*(?:<[^<>]*>[^<>]*)*>)
    | (?P<name>[A-Za-z_][\w.]*)
    | (?P<mark>[\[\](){},:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN_STRING = re.compile(r"'[^'\\\r\n\0]*'" r'|"[^"\\\r\n\0]*"')
_PLAIN_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_CONSTANTS: Final = {"None": None, "True": True, "False": False}
_SUFFIX = re.compile(r"(?:Content|Block|Part)$")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class _BadTextError(ValueError):
    """The text is no representation that can be read."""


def parse_repr(text: str) -> Any:
    """The data behind the text of a Python object; None if it is none or was cut off."""
    return _parse(text, was_cut=False)


def parse_start(text: str) -> Any:
    """The data before the marked cut of an object's text: `Message(text='Good mor...`."""
    return _parse(text, was_cut=True) if is_cut(text) else None


def _parse(text: str, *, was_cut: bool) -> Any:
    if len(text) > MAX_CHARS or not LOOKS_LIKE.match(text):
        return None
    try:
        reader = _Reader(text, was_cut=was_cut)
        data = reader.value(0) if "(" in text[: text.index("=") + 1] else reader.fields()
        return data if reader.kind is None else None
    except (_BadTextError, ValueError, SyntaxError, MemoryError):
        return None


def parse_container(text: str) -> Any:
    """The data behind the text of a dict or list that holds objects; None if it is none."""
    if len(text) > MAX_CHARS or text[:1] not in ("{", "["):
        return None
    try:
        reader = _Reader(text, was_cut=False)
        data = reader.value(0)
        return data if reader.kind is None else None
    except (_BadTextError, ValueError, SyntaxError, MemoryError):
        return None


def is_cut(text: str) -> bool:
    """Whether it is the text of a Python object whose end was cut off, and marked so."""
    return text.endswith(CUT) and _OBJECT.match(text) is not None


class _Reader:
    def __init__(self, text: str, *, was_cut: bool) -> None:
        self._text = text
        self._was_cut = was_cut
        self._position = 0
        self.kind: str | None = ""
        self._token = ""
        self._advance()

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            if rest := self._text[self._position :].strip():
                self._advance_to_cut(rest)
                return
            self.kind, self._token = None, ""
            return
        self._position = match.end()
        self.kind = match.lastgroup
        self._token = match[self.kind] if self.kind else ""
        if self._was_cut and self.kind in ("name", "number") and self._is_at_cut():
            self.kind, self._token = None, ""

    def _advance_to_cut(self, rest: str) -> None:
        """Take what stands before the cut: the beginning of a text, or nothing."""
        if not self._was_cut:
            raise _BadTextError
        self._position = len(self._text)
        self.kind, self._token = None, ""
        if rest[0] in "'\"":
            self.kind, self._token = "beginning", rest[1:]

    def _is_at_cut(self) -> bool:
        return self._position >= len(self._text) - len(CUT)

    @property
    def _is_over(self) -> bool:
        """Whether the text ended inside of an object, by a cut."""
        return self._was_cut and self.kind is None

    def _take(self, mark: str) -> bool:
        if self.kind == "mark" and self._token == mark:
            self._advance()
            return True
        return False

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise _BadTextError
        kind, token = self.kind, self._token
        if kind == "mark":
            return self._collection(depth)
        if kind is None:
            raise _BadTextError
        self._advance()
        if kind in ("string", "number"):
            return _literal(token)
        if kind == "beginning":
            return token
        if kind == "enum":
            return _literal(token[token.index(": ") + 2 : -1])
        if kind == "name":
            return self._named(token, depth)
        return token

    def _named(self, name: str, depth: int) -> Any:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if not self._take("("):
            return name
        data: dict[str, Any] = {"type": _type_name(name)}
        position = 0
        while not self._take(")") and not self._is_over:
            if self.kind == "name" and self._text[self._position :].lstrip()[:1] == "=":
                key = self._token
                self._advance()
                self._advance()
            else:
                key, position = str(position), position + 1
            if self._is_over:
                break
            data[key] = self.value(depth + 1)
            self._separate(")")
        return data

    def _separate(self, end: str) -> None:
        if not self._take(",") and self._token != end and not self._is_over:
            raise _BadTextError

    def fields(self) -> dict[str, Any]:
        """The fields of `a=1 b='x'`, as pydantic models print themselves."""
        data: dict[str, Any] = {}
        while self.kind is not None:
            key = self._token
            if self.kind != "name" or key in data:
                raise _BadTextError
            self._advance()
            if not self._take("="):
                raise _BadTextError
            data[key] = self.value(0)
        return data

    def _collection(self, depth: int) -> Any:
        if self._take("["):
            return self._items("]", depth)
        if self._take("("):
            return self._items(")", depth)
        if not self._take("{"):
            raise _BadTextError
        data: dict[str, Any] = {}
        while not self._take("}") and not self._is_over:
            key = self.value(depth + 1)
            found = self._take(":")
            if self._is_over:
                break
            data[str(key)] = self.value(depth + 1) if found else None
            self._separate("}")
        return data

    def _items(self, end: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not self._take(end) and not self._is_over:
            items.append(self.value(depth + 1))
            self._separate(end)
        return items


def _literal(token: str) -> Any:
    """The value of a string or number; most need no compiler to be read."""
    if _PLAIN_STRING.fullmatch(token):
        return token[1:-1]
    if _PLAIN_NUMBER.fullmatch(token):
        return int(token)
    found = ast.literal_eval(token)
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


@lru_cache(maxsize=1024)
def _type_name(name: str) -> str:
    """The class name as a type of message part: `TextContent` is `text`."""
    short = _SUFFIX.sub("", name.rsplit(".", 1)[-1]) or name
    return _WORDS.sub("_", short).lower()
