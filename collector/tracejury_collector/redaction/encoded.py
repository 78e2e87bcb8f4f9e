"""Bytes as they are stored, told apart from text."""

from __future__ import annotations

import base64


class Base64(str):
    """Bytes in base64, made here: what they say can be read."""

    __slots__ = ()

    @classmethod
    def of(cls, value: bytes) -> Base64:
        """Return the bytes in base64."""
        return cls(base64.b64encode(value).decode())

    def text(self) -> str:
        """Return the bytes as a text, as far as they are one."""
        return base64.b64decode(self).decode("utf-8", "replace")
