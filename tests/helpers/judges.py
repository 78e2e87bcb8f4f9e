"""A model on loopback that answers as scripted, over real HTTP, in the shapes of three providers.

An answer of a script is one of
    {"score": …, "verdict": …, …}   the fields of a ruling, given in the way that was asked for
    {"say": "text"}                 plain text in place of a ruling
    {"status": 429, "headers": {}}  an error, or a redirect
    {"refuse": "text"}              a refusal
    {"delay_s": 0.5, …}             any of these, after a while
    {"cut": true}                   an answer that ended at the token limit
    {"hang": true}                  no answer until the server closes
    {"drip": true}                  an answer that comes byte by byte and never ends
    {"flood": true}                 an answer larger than any that is read
    {"raw": "text"}                 a body that is no answer of any API
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from tracejury_evaluators.endpoint import JudgeEndpoint, use_endpoint

MODEL = "openai:gpt-4o-mini"
KEY = "sk-judge-0123456789abcdef"
USAGE = (100, 20)
"""Input and output tokens that every answer reports."""

Script = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Everything that the model was told."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass(slots=True)
class ScriptedJudge:
    """The server's side: where it is, what is left to answer, what it was asked."""

    url: str = ""
    script: list[Mapping[str, Any]] = field(default_factory=list)
    forever: Mapping[str, Any] = field(default_factory=lambda: {"status": 418})
    answering: Callable[[Received], Mapping[str, Any]] | None = None
    received: list[Received] = field(default_factory=list)
    delay_s: float = 0.0
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def restart(self, script: Script) -> None:
        """Forget what was, and answer by this script."""
        with self.lock:
            self.script, self.received = list(script), []

    def take(self, request: Received) -> Mapping[str, Any]:
        """The next answer; past the end of the script `answering`, else `forever`: an error."""
        with self.lock:
            self.received.append(request)
            if self.script:
                return self.script.pop(0)
        return self.answering(request) if self.answering else self.forever

    @property
    def prompts(self) -> list[str]:
        """What the user's message of every request of OpenAI's shape said."""
        return [
            next(m["content"] for m in request.body["messages"] if m["role"] == "user")
            for request in self.received
        ]


@contextmanager
def serve_judge(script: Script = ()) -> Iterator[ScriptedJudge]:
    """A judge that answers by the script for as long as the context lasts."""
    judge = ScriptedJudge(script=list(script))
    server = _Server(("127.0.0.1", 0), _Handler)
    server.judge = judge
    judge.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield judge
    finally:
        judge.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def judging_by(judge: ScriptedJudge, model: str = MODEL, key: str = KEY) -> Iterator[None]:
    """The scripted judge is the one in force for as long as the context lasts."""
    path = "/v1" if model.startswith("openai:") else ""
    use_endpoint(JudgeEndpoint(model=model, base_url=judge.url + path, api_key=key))
    try:
        yield
    finally:
        use_endpoint(None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    judge: ScriptedJudge

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hung up: some tests are about that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        judge = cast("_Server", self.server).judge
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = judge.take(Received(path=self.path, headers=headers, body=body))
        judge.closing.wait(judge.delay_s)
        if answer.get("hang"):
            judge.closing.wait(30)
            self.close_connection = True
            return
        judge.closing.wait(answer.get("delay_s", 0))
        if answer.get("drip") or answer.get("flood"):
            self._pour(judge.closing, b" " if answer.get("drip") else b" " * (1 << 20))
            return
        status = answer.get("status", 200)
        text = (
            answer.get("raw") or answer.get("body") or json.dumps(_reply(self.path, body, answer))
        )
        self._send(status, text.encode(), answer.get("headers", {}))

    def _pour(self, closing: threading.Event, chunk: bytes) -> None:
        """Send this again and again, until the asker has had enough."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        while not closing.wait(0.05 if len(chunk) == 1 else 0):
            self.wfile.write(chunk)

    def do_GET(self) -> None:
        judge = cast("_Server", self.server).judge
        headers = {name.lower(): value for name, value in self.headers.items()}
        judge.take(Received(path=self.path, headers=headers, body={}))
        self._send(200, b"{}", {})

    def _send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal to the tests."""


def _reply(path: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    if answer.get("status", 200) != 200:
        return {"error": {"message": "scripted", "type": "scripted", "code": None}}
    if path.endswith("/messages"):
        return _anthropic(body, answer)
    if ":generateContent" in path:
        return _google(path, body, answer)
    return _openai(body, answer)


def _openai(body: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": _text(answer)}
    finish = "length" if answer.get("cut") else "stop"
    if "refuse" in answer:
        message |= {"content": None, "refusal": answer["refuse"]}
    elif body.get("tools") and not {"say", "cut"} & set(answer):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps(answer)}
        message |= {
            "content": None,
            "tool_calls": [{"id": "call-1", "type": "function", "function": function}],
        }
        finish = "tool_calls"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": USAGE[0],
            "completion_tokens": USAGE[1],
            "total_tokens": sum(USAGE),
        },
    }


def _anthropic(body: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    plain = {"say", "cut", "refuse"} & set(answer) or not body.get("tools")
    content: dict[str, Any] = (
        {"type": "text", "text": _text(answer)}
        if plain
        else {"type": "tool_use", "id": "t1", "name": body["tools"][0]["name"], "input": answer}
    )
    stop = "end_turn" if plain else "tool_use"
    stop = "max_tokens" if answer.get("cut") else "refusal" if "refuse" in answer else stop
    return {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [content],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": USAGE[0], "output_tokens": USAGE[1]},
    }


def _google(path: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    plain = {"say", "cut", "refuse"} & set(answer) or not body.get("tools")
    part: dict[str, Any] = {"text": _text(answer)}
    if not plain:
        name = body["tools"][0]["functionDeclarations"][0]["name"]
        part = {"functionCall": {"name": name, "args": answer}}
    finish = "MAX_TOKENS" if answer.get("cut") else "SAFETY" if "refuse" in answer else "STOP"
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [part]}, "finishReason": finish, "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": USAGE[0],
            "candidatesTokenCount": USAGE[1],
            "totalTokenCount": sum(USAGE),
        },
        "modelVersion": path.rsplit("/", 1)[-1].partition(":")[0],
    }


def _text(answer: Mapping[str, Any]) -> str:
    if "say" in answer:
        return str(answer["say"])
    return str(answer.get("refuse") or json.dumps(answer))
