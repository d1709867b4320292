"""Scripted models on the loopback interface, with one class for the API of each agent. A model
calls one tool, and then answers "done". `hookbus gate try` and the tests run the real agents with
these models.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Event = tuple[str | None, dict[str, Any]]
"""An event of a stream, with its name or None, and its data."""


class Model:
    """The server of a model. Use it in a `with` block.

    Args:
        name: the tool to call.
        arguments: the arguments of the call.

    Attributes:
        results: the results of the tool, as the agent sent them to the model.
        url: the address of the server.
    """

    def __init__(self, name: str, arguments: Mapping[str, Any]) -> None:
        self.name, self.arguments, self.results = name, dict(arguments), list[Any]()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def events(self, body: Mapping[str, Any]) -> Iterable[Event]:
        """Return the events that answer a request."""
        raise NotImplementedError


def _every(body: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return all objects in lists at a path of names, at every level."""
    found = [dict(body)]
    for name in names:
        lists = [each.get(name) for each in found]
        found = [inner for each in lists if isinstance(each, list) for inner in each]
    return [each for each in found if isinstance(each, dict)]


class ClaudeModel(Model):
    """A model with Anthropic's messages API."""

    def events(self, body: Mapping[str, Any]) -> Iterator[Event]:
        """Return the events that answer a request."""
        blocks = _every(body, "messages", "content")
        found = [each.get("content") for each in blocks if each.get("type") == "tool_result"]
        self.results += found
        is_done = bool(found) or not body.get("tools")
        usage = {"input_tokens": 1, "output_tokens": 1}
        message: dict[str, Any] = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "done"}
        if not is_done:
            block = {"type": "tool_use", "id": "toolu_1", "name": self.name, "input": {}}
            text = json.dumps(self.arguments)
            delta = {"type": "input_json_delta", "partial_json": text}
        why = {"stop_reason": "end_turn" if is_done else "tool_use", "stop_sequence": None}
        yield "message_start", {"message": message}
        yield "content_block_start", {"index": 0, "content_block": block}
        yield "content_block_delta", {"index": 0, "delta": delta}
        yield "content_block_stop", {"index": 0}
        yield "message_delta", {"delta": why, "usage": usage}
        yield "message_stop", {}


class CodexModel(Model):
    """A model with OpenAI's responses API."""

    def events(self, body: Mapping[str, Any]) -> Iterator[Event]:
        """Return the events that answer a request."""
        inputs = _every(body, "input")
        found = [each["output"] for each in inputs if str(each.get("type")).endswith("_output")]
        self.results += found
        call = {"type": "function_call", "id": "f1", "call_id": "c1", "name": self.name,
                "arguments": json.dumps(self.arguments)}  # fmt: skip
        text = {"type": "message", "role": "assistant", "id": "m1",
                "content": [{"type": "output_text", "text": "done"}]}  # fmt: skip
        item = text if found else call
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield "response.created", {"response": {"id": "r1"}}
        yield "response.output_item.done", {"output_index": 0, "item": item}
        yield "response.completed", {"response": {"id": "r1", "output": [item], "usage": usage}}


class GeminiModel(Model):
    """A model with the streaming Gemini API."""

    def events(self, body: Mapping[str, Any]) -> Iterator[Event]:
        """Return the events that answer a request."""
        parts = _every(body, "contents", "parts")
        found = [each["functionResponse"]["response"] for each in parts
                 if "functionResponse" in each]  # fmt: skip
        self.results += found
        call = {"functionCall": {"name": self.name, "args": self.arguments}}
        part = {"text": "done"} if found or not body.get("tools") else call
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        yield None, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


class ChatModel(Model):
    """A model with the chat completions API, which Copilot and OpenCode use for custom
    providers."""

    def events(self, body: Mapping[str, Any]) -> Iterator[Event]:
        """Return the events that answer a request."""
        messages = _every(body, "messages")
        found = [each["content"] for each in messages if each.get("role") == "tool"]
        self.results += found
        function = {"name": self.name, "arguments": json.dumps(self.arguments)}
        call = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
        is_done = bool(found) or not body.get("tools")
        delta = {"content": "done"} if is_done else call
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        first = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
        why = "stop" if is_done else "tool_calls"
        last = {"index": 0, "delta": {}, "finish_reason": why}
        yield None, {**base, "choices": [first]}
        yield None, {**base, "choices": [last], "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the agents have their own logs."""

    def do_HEAD(self) -> None:
        self._send("text/plain", b"")

    def do_GET(self) -> None:
        self._send("application/json", b'{"models": [], "data": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        events = [
            f"data: {json.dumps(data)}\n\n" if name is None
            else f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
            for name, data in self.model.events(body)
        ]  # fmt: skip
        self._send("text/event-stream", "".join(events).encode())

    def _send(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
