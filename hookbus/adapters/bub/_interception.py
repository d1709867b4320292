"""Runs one call to a hook of Bub's `AgentHooks`, and interprets the decisions of
implementations."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from hookbus import Block, HookError, Replace

from .._own_hooks import frozen
from ._calls import Asking, is_cancelled_by_nobody, title_of, warn


class Interception(Asking):
    """One call to a hook of `AgentHooks`, whose implementations change, answer or deny the next
    step."""

    on_error = "isolate"
    types: ClassVar[Any]  # the module with Bub's requests and decisions

    def is_usual(self, value: Any) -> bool:
        """Return whether an answer is valid for Bub."""
        if value is None or self.hook.startswith("after_"):
            return True
        types = self.types
        is_llm = self.hook == "before_llm_call"
        return isinstance(
            value,
            (types.LlmCallRequest, types.LlmCallDecision) if is_llm else types.ToolCallDecision,
        )

    def read(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        if value is None or self.hook.startswith("after_"):
            return None
        read = self._read_llm if self.hook == "before_llm_call" else self._read_tool
        return read(impl, value, arguments)

    def _read_llm(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        if isinstance(value, self.types.LlmCallRequest):
            return {"request": value}
        if isinstance(value, self.types.LlmCallDecision):
            return Replace((arguments["request"], value))
        return self.wrong(impl, value, "LlmCallRequest | LlmCallDecision | None")

    def _read_tool(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        call = arguments["call"]
        if not isinstance(value, self.types.ToolCallDecision):
            return self.wrong(impl, value, "ToolCallDecision | None")
        if value.action == "proceed":
            if value.arguments is None:
                return None
            return {"call": self.types.replace(call, arguments=dict(value.arguments))}
        if value.action == "deny":
            return Block(str(value.message or "denied"), result=(call, value))
        return Replace((call, value))

    def wrong(self, impl: Any, value: Any, expected: str) -> Any:
        """Log an invalid answer, and ignore it."""
        got = type(value).__name__
        warn(
            "hook.agent_hook_bad_return hook={} adapter={} got={} expected={}", self.hook,
            title_of(impl), got, expected,
        )  # fmt: skip
        return None

    def failed(self, impl: Any, error: BaseException) -> None:
        if is_cancelled_by_nobody(error):
            self.interrupt = error
        if isinstance(error, Exception):
            warn(
                "hook.agent_hook_failed hook={} adapter={}", self.hook, title_of(impl),
                has_trace=True,
            )  # fmt: skip


class StrictInterception(Interception):
    """An interception with `strict=True`. A failing policy blocks the call, and only return values
    have an effect."""

    def prepared(self, given: dict[str, Any]) -> dict[str, Any]:
        if self.hook == "before_tool_call" and "call" in given:
            return {
                **given,
                "call": self.types.replace(
                    given["call"], arguments=frozen(given["call"].arguments)
                ),
            }
        if self.hook == "before_llm_call" and "request" in given:
            return {
                **given,
                "request": self.types.replace(
                    given["request"], messages=frozen(given["request"].messages)
                ),
            }
        return given

    def wrong(self, impl: Any, value: Any, expected: str) -> Any:
        super().wrong(impl, value, expected)
        if inspect.isgenerator(value):
            value.close()
        raise HookError(
            f"{title_of(impl)} answered {self.hook} with a {type(value).__name__}; return "
            f"{expected}"
        )
