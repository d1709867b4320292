"""A local model for programs that use OpenAI's or Anthropic's. It returns scripted answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = str | Sequence[tuple[str, dict[str, Any]]]
"""What the model says at once: a text, or calls of tools."""


@contextmanager
def scripted(*turns: Turn) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Serve a model that takes these turns one after the other. Give the environment that makes a
    program ask it, and what it was asked so far.
    """
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"turns": turns, "asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield {
            "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
        }, asked  # fmt: skip
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    turns: Sequence[Turn]
    asked: list[str]

    def log_message(self, format: str, *args: Any) -> None:
        pass  # the program says what goes wrong

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        number = len(self.asked)
        self.asked.append(body.decode())
        model = json.loads(body)["model"]
        turn = self.turns[number]
        text = turn if isinstance(turn, str) else None
        calls = [] if isinstance(turn, str) else [
            (f"call_{number}_{place}", name, given) for place, (name, given) in enumerate(turn)
        ]  # fmt: skip
        api = self.path.rpartition("/")[2]
        answer = _APIS[api](text, calls)
        told = json.dumps({"id": f"{api}_{number}", "model": model, **answer}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)


Calls = list[tuple[str, str, dict[str, Any]]]


def _completions(text: str | None, calls: Calls) -> dict[str, Any]:
    """Return a turn as OpenAI's chat completions say it."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function",
             "function": {"name": name, "arguments": json.dumps(given)}}
            for id, name, given in calls
        ]  # fmt: skip
    reason = "tool_calls" if calls else "stop"
    return {
        "object": "chat.completion", "created": 0,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def _responses(text: str | None, calls: Calls) -> dict[str, Any]:
    """Return a turn as OpenAI's responses say it."""
    output: list[dict[str, Any]] = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name,
         "arguments": json.dumps(given), "status": "completed"}
        for id, name, given in calls
    ]  # fmt: skip
    if text is not None:
        said = {"type": "output_text", "text": text, "annotations": []}
        output.append({"type": "message", "id": "msg", "role": "assistant", "status": "completed",
                       "content": [said]})  # fmt: skip
    return {
        "object": "response", "created_at": 0, "status": "completed", "output": output,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip


def _messages(text: str | None, calls: Calls) -> dict[str, Any]:
    """Return a turn as Anthropic's messages say it."""
    content: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
    content += [{"type": "tool_use", "id": id, "name": name, "input": given}
                for id, name, given in calls]  # fmt: skip
    return {
        "type": "message", "role": "assistant", "content": content, "stop_sequence": None,
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


_APIS = {"completions": _completions, "responses": _responses, "messages": _messages}
