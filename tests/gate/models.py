"""Scripted models on the loopback, for all agents but Claude Code: they call one tool."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    """A server, in a `with` block.

    Args:
        name: the tool to call.
        arguments: its arguments.

    Attributes:
        results: what the tool returned, as the agent told the model.
    """

    def __init__(self, name, arguments):
        self.name, self.arguments, self.results = name, arguments, []
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *raised):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def events(self, body):
        """Return the events that answer a request."""
        raise NotImplementedError


class CodexModel(Model):
    """The responses API."""

    def events(self, body):
        found = [each["output"] for each in body.get("input", ())
                 if str(each.get("type")).endswith("_output")]  # fmt: skip
        self.results += found
        call = {"type": "function_call", "id": "f1", "call_id": "c1", "name": self.name,
                "arguments": json.dumps(self.arguments)}  # fmt: skip
        text = {"type": "message", "role": "assistant", "id": "m1",
                "content": [{"type": "output_text", "text": "done"}]}  # fmt: skip
        item, usage = text if found else call, {"input_tokens": 1, "output_tokens": 1,
                                                "total_tokens": 2}  # fmt: skip
        yield "response.created", {"response": {"id": "r1"}}
        yield "response.output_item.done", {"output_index": 0, "item": item}
        yield "response.completed", {"response": {"id": "r1", "output": [item], "usage": usage}}


class ChatModel(Model):
    """Chat completions, which Copilot and OpenCode ask of a provider of one's own."""

    def events(self, body):
        messages = body.get("messages", ())
        found = [each["content"] for each in messages if each.get("role") == "tool"]
        self.results += found
        function = {"name": self.name, "arguments": json.dumps(self.arguments)}
        call = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
        is_done = bool(found) or not body.get("tools")
        delta, why = ({"content": "done"}, "stop") if is_done else (call, "tool_calls")
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        first = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
        yield None, {**base, "choices": [first]}
        last = {"index": 0, "delta": {}, "finish_reason": why}
        yield None, {**base, "choices": [last], "usage": usage}


class GeminiModel(Model):
    """The stream of the Gemini API."""

    def events(self, body):
        parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
        found = [each["functionResponse"]["response"] for each in parts
                 if "functionResponse" in each]  # fmt: skip
        self.results += found
        call = {"functionCall": {"name": self.name, "args": self.arguments}}
        part = {"text": "done"} if found or not body.get("tools") else call
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        yield None, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


class _Handler(BaseHTTPRequestHandler):
    model = None
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """The agents log what they need."""

    def do_GET(self):
        self._send("application/json", b'{"models": []}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = [
            f"data: {json.dumps(data)}\n\n" if name is None
            else f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
            for name, data in self.model.events(body)
        ]  # fmt: skip
        self._send("text/event-stream", "".join(said).encode())

    def _send(self, kind, content):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
