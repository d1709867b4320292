"""A client of Anthropic's SDK whose model is scripted: it calls tools, and then says "done"."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool

from .tool_contract import Told

Call = tuple[str, dict[str, Any]]
"""The name of a tool, and its arguments."""


class Model:
    """Answers the requests of a client; keeps their bodies."""

    def __init__(self, calls: Sequence[Call], **more: Any) -> None:
        self.asked: list[Any] = []
        asked = [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given, **more}
            for number, (name, given) in enumerate(calls)
        ]
        self._turns = [("tool_use", asked), ("end_turn", [{"type": "text", "text": "done"}])]

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        reason, content = self._turns[len(self.asked)]
        self.asked.append(body)
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if not body.get("stream"):
            return httpx2.Response(200, json=message)
        lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events(message)]
        return httpx2.Response(
            200, text="".join(lines), headers={"content-type": "text/event-stream"}
        )

    async def awaited(self, request: httpx2.Request) -> httpx2.Response:
        return self(request)

    @property
    def client(self) -> Anthropic:
        transport = httpx2.MockTransport(self)
        return Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))

    @property
    def async_client(self) -> AsyncAnthropic:
        transport = httpx2.MockTransport(self.awaited)
        return AsyncAnthropic(api_key="none", http_client=httpx2.AsyncClient(transport=transport))

    @property
    def read(self) -> list[str]:
        """The results of tools that the model read, as text."""
        results = self.asked[1]["messages"][-1]["content"]
        return [text_of(each["content"]) for each in results]

    def told(self, message: Any) -> Told:
        return Told(self.read, repr(self.asked), message.content[0].text == "done")


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(each["text"] for each in content)


def events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a streamed message."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        begin = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]} if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )  # fmt: skip
        yield {"type": "content_block_start", "index": index, "content_block": begin}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def options(*tools: Any, **more: Any) -> dict[str, Any]:
    """Return the arguments of `tool_runner`."""
    go = [{"role": "user", "content": "go"}]
    return {"max_tokens": 9, "model": "scripted", "messages": go, "tools": list(tools), **more}


def paying(calls: Any) -> list[Call]:
    return [("pay", dict(each)) for each in calls]


def tool_of(body: Any) -> Any:
    def pay(amount: int, to: str) -> str:
        """Pay somebody."""
        return body(amount, to)

    return beta_tool(pay)


def async_tool_of(body: Any) -> Any:
    async def pay(amount: int, to: str) -> str:
        """Pay somebody."""
        return body(amount, to)

    return beta_async_tool(pay)
