"""A local model for the CLI of the Claude Agent SDK, which returns scripted answers."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Blocks = list[dict[str, Any]]


class Model:
    """A server of the messages API, in a `with` block.

    Args:
        answer: from the body of a request, the blocks that the model answers with.

    Attributes:
        asked: the bodies of the requests.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Blocks]) -> None:
        self.answer, self.asked = answer, []
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def environment(self, home: Path) -> dict[str, str]:
        """Return what makes the CLI ask this model, with a home and settings of its own."""
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self._server.server_port}",
            "ANTHROPIC_API_KEY": "none",
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }


class _Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass  # the CLI's own log says it

    def do_HEAD(self) -> None:
        self._send("text/plain", b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.model.asked.append(body)
        blocks = self.model.answer(body)
        self._send("text/event-stream", "".join(
            f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
            for name, data in _events(blocks)
        ).encode())  # fmt: skip

    def _send(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _events(blocks: Blocks) -> Any:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant",
        "model": "scripted", "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": usage,
    }  # fmt: skip
    yield "message_start", {"message": message}
    for index, block in enumerate(blocks):
        is_call = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_call else {"type": "text", "text": ""}
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                 if is_call else {"type": "text_delta", "text": block["text"]})  # fmt: skip
        yield "content_block_start", {"index": index, "content_block": empty}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    reason = "tool_use" if any(each["type"] == "tool_use" for each in blocks) else "end_turn"
    yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield "message_stop", {}


def says(text: str) -> Blocks:
    return [{"type": "text", "text": text}]


def asks(*calls: tuple[str, dict[str, Any]]) -> Blocks:
    return [{"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": dict(given)}
            for i, (name, given) in enumerate(calls)]  # fmt: skip


def results_in(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the results of tools that a request holds, by the number of the call."""
    blocks = [block for message in body["messages"] if isinstance(message["content"], list)
              for block in message["content"]]  # fmt: skip
    return {each["tool_use_id"]: each for each in blocks if each.get("type") == "tool_result"}


def text_of(result: dict[str, Any]) -> str:
    content = result["content"]
    if isinstance(content, str):
        return content
    return "\n".join(each["text"] for each in content)


def scripted(*calls: tuple[str, dict[str, Any]]) -> Model:
    """A model that asks for the calls, and says "done" once it was told their results."""
    return Model(lambda body: says("done") if results_in(body) else asks(*calls))
