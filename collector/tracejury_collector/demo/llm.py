"""A small chat-completions server on loopback: the demo's agent talks to it instead of a model.

It asks for the weather, then for hotels, then answers from what the tools returned.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

MODEL = "gpt-4o"
THINKING_S = 0.08
MAX_BODY_BYTES = 4 << 20


@contextmanager
def serve_llm() -> Iterator[str]:
    """Serve the model for as long as the context lasts; gives the base URL of its API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def complete(request: dict[str, Any]) -> dict[str, Any]:
    """Return the chat completion for a request: the next tool call, or the answer."""
    messages: list[dict[str, Any]] = request["messages"]
    tool_outputs = [str(m.get("content")) for m in messages if m.get("role") == "tool"]
    message = _next_message(tool_outputs)
    prompt_tokens = _tokens(orjson.dumps([messages, request.get("tools")]))
    completion_tokens = _tokens(orjson.dumps(message))
    return {
        "id": f"chatcmpl-demo-{len(tool_outputs)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model", MODEL),
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _next_message(tool_outputs: Sequence[str]) -> dict[str, Any]:
    if not tool_outputs:
        return _tool_call("call_weather_1", "get_weather", {"city": "Lisbon", "day": "Saturday"})
    if len(tool_outputs) == 1:
        return _tool_call("call_hotels_2", "find_hotels", {"city": "Lisbon", "max_price_eur": 150})
    weather, hotels = json.loads(tool_outputs[0]), json.loads(tool_outputs[1])
    best = min(hotels, key=lambda hotel: float(hotel["price_eur"]))
    answer = (
        f"Saturday in Lisbon will be {weather['sky']} with {weather['high_c']} °C. "
        f"I suggest the {best['name']}: {best['price_eur']} EUR a night."
    )
    return {"role": "assistant", "content": answer}


def _tool_call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _tokens(text: bytes) -> int:
    """Return about as many tokens as a tokenizer would."""
    return max(1, len(text) // 4)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if not self.path.endswith("/chat/completions") or length > MAX_BODY_BYTES:
            self.send_error(404)
            return
        reply = complete(json.loads(self.rfile.read(length)))
        time.sleep(THINKING_S)
        body = orjson.dumps(reply)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal to the demo."""
