"""What Bub's users notice nothing of in the hooks of model and tool, in every setting."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from bub.hooks.interception import (
    LlmCallDecision,
    LlmCallRequest,
    LlmCallResult,
    ToolCall,
    ToolCallDecision,
    ToolCallResult,
)  # fmt: skip
from bub.streaming import AsyncStreamEvents, StreamEvent

from . import bub_states as parts
from .bub_parts import agent_hooks, call_tool, plugin
from .bub_states import CALL, saying

setting = parts.setting
logged = parts.logged


REQUEST = LlmCallRequest("run", "model", [{"role": "user", "content": "hi"}])


async def test_bub_K7_a_failing_agent_hook_is_logged_and_skipped(logged):
    told = []

    def broken():
        raise LookupError("broken")

    async def broken_later():
        raise LookupError("broken")

    names = ("before_llm_call", "after_llm_call", "before_tool_call", "after_tool_call")
    hooks = agent_hooks(
        a=plugin(**{name: saying(told, name) for name in names}),
        b=plugin(**dict.fromkeys(names, broken)), c=plugin(**dict.fromkeys(names, broken_later)),
    )  # fmt: skip
    assert await hooks.before_llm_call(REQUEST, {}) == (REQUEST, None)
    assert await hooks.after_llm_call(REQUEST, LlmCallResult("run"), {}) is None
    assert await hooks.before_tool_call(CALL, {}) == (CALL, ToolCallDecision.proceed())
    assert await hooks.after_tool_call(CALL, ToolCallResult("run", "bash", {}), {}) is None
    assert told == list(names)
    assert logged == [
        f"hook.agent_hook_failed hook={name} adapter={each}" for name in names for each in "cb"
    ]


async def test_bub_K7_a_wrong_answer_is_logged_and_ignored(logged):
    hooks = agent_hooks(
        a=plugin(
            before_llm_call=lambda: "no",
            before_tool_call=lambda: False,
            after_tool_call=lambda: "whatever",
        ),
        b=plugin(
            before_llm_call=lambda: CALL,
            before_tool_call=lambda: {"cmd": "rm"},
            after_llm_call=lambda: "whatever",
        ),
    )
    assert await hooks.before_llm_call(REQUEST, {}) == (REQUEST, None)
    assert await hooks.before_tool_call(CALL, {}) == (CALL, ToolCallDecision.proceed())
    await hooks.after_llm_call(REQUEST, LlmCallResult("run"), {})
    await hooks.after_tool_call(CALL, ToolCallResult("run", "bash", {}), {})
    bad, llm = "hook.agent_hook_bad_return", "expected=LlmCallRequest | LlmCallDecision | None"
    assert logged == [
        f"{bad} hook=before_llm_call adapter=b got=ToolCall {llm}",
        f"{bad} hook=before_llm_call adapter=a got=str {llm}",
        f"{bad} hook=before_tool_call adapter=b got=dict expected=ToolCallDecision | None",
        f"{bad} hook=before_tool_call adapter=a got=bool expected=ToolCallDecision | None",
    ]  # fmt: skip


async def test_bub_K7_cancellation_and_interrupts_pass_through_agent_hooks():
    for error in (asyncio.CancelledError, KeyboardInterrupt):

        def broken(error=error):
            raise error

        with pytest.raises(error):
            await agent_hooks(a=plugin(before_tool_call=broken)).before_tool_call(CALL, {})


async def test_bub_K8_each_sees_the_request_as_it_was_changed_and_finish_stops_the_chain():
    told = []

    def change(request, state):
        told.append((request.model, state["x"]))
        return replace(request, model=request.model + "!")

    hooks = agent_hooks(
        never=plugin(before_llm_call=saying(told, "never")),
        finish=plugin(
            before_llm_call=lambda request: LlmCallDecision.finish(f"enough of {request.model}")
        ),
        b=plugin(before_llm_call=change),
        c=plugin(before_llm_call=change),
    )
    request, decision = await hooks.before_llm_call(REQUEST, state={"x": 1})
    assert request == replace(REQUEST, model="model!!") and decision == LlmCallDecision.finish(
        "enough of model!!"
    )
    assert told == [("model", 1), ("model!", 1)] and REQUEST.model == "model"


async def test_bub_K9_proceed_replaces_the_arguments_for_later_ones_with_a_new_dict():
    seen, given = [], {"cmd": "rm"}
    hooks = agent_hooks(
        a=plugin(before_tool_call=lambda call: seen.append(dict(call.arguments))),
        b=plugin(before_tool_call=lambda call: ToolCallDecision.proceed(given)),
        c=plugin(before_tool_call=lambda call: ToolCallDecision.proceed()),
    )
    call, decision = await hooks.before_tool_call(
        ToolCall("run", "bash", {"cmd": "ls", "more": 1}), {}
    )
    assert call.arguments == given and call.arguments is not given and seen == [given]
    assert decision == ToolCallDecision.proceed() and (call.run_id, call.tool) == ("run", "bash")


@pytest.mark.parametrize(
    "verdict",
    [ToolCallDecision.deny("no"), ToolCallDecision.deny(""), ToolCallDecision.replace(None)],
)
async def test_bub_K9_replace_and_deny_stop_the_chain(verdict):
    told = []
    hooks = agent_hooks(
        never=plugin(before_tool_call=saying(told, "never")),
        stop=plugin(before_tool_call=lambda: verdict),
        change=plugin(before_tool_call=lambda: ToolCallDecision.proceed({"cmd": "changed"})),
    )  # fmt: skip
    call, decision = await hooks.before_tool_call(CALL, {})
    assert (call.arguments, decision, told) == ({"cmd": "changed"}, verdict, [])


@pytest.mark.parametrize("case", ["success", "failure", "deny", "replace"])
async def test_bub_K10_after_tool_call_comes_always_with_one_result_that_can_be_changed(case):
    seen = []

    def tool(text):
        if case == "failure":
            raise ValueError("broken")
        return f"re: {text}"

    def decide():
        decisions = {
            "deny": ToolCallDecision.deny("no"),
            "replace": ToolCallDecision.replace("cached"),
        }
        return decisions.get(case)

    def change(result):
        seen.append((result.result, result.error and result.error.message))
        result.result = f"{result.result} (seen)"
        return "ignored"

    hooks = agent_hooks(
        a=plugin(before_tool_call=decide, after_tool_call=change), b=plugin(after_tool_call=change)
    )
    execution = await call_tool(hooks, tool, {"text": "hi"})
    first = {"success": "re: hi", "replace": "cached"}.get(case)
    error = {"failure": "Tool 'tool' execution failed.", "deny": "no"}.get(case)
    assert seen == [(first, error), (f"{first} (seen)", error)]
    assert execution.tool_results == [f"{first} (seen) (seen)"]
    assert (execution.error and execution.error.message) == error


async def test_bub_K10_without_hooks_and_without_a_tool_that_works_bub_is_what_it_was():
    assert (await call_tool(None, lambda: "plain", {})).tool_results == ["plain"]

    async def broken():
        raise ValueError("broken")

    execution = await call_tool(agent_hooks(), broken, {})
    assert execution.tool_results[0]["message"] == "Tool 'tool' execution failed."


class ScriptedRunner:
    """Bub's own model runner with a model that is a script."""

    def __init__(self, hooks, *, fails=False, hangs=False):
        from bub.builtin.model_runner import ModelRunner

        settings = SimpleNamespace(max_tokens=1, model_timeout_seconds=None)
        self.runner, self.recorded, self.asked = ModelRunner(settings, hooks=hooks), [], []

        async def build_messages(**given):
            return [{"role": "user", "content": given["prompt"]}], []

        async def record_chat(**given):
            self.recorded.append(given["response_text"])

        def completion(request, tools, tape, state, output):
            async def events():
                self.asked.append(request)
                if hangs:
                    await asyncio.sleep(60)
                if fails:
                    raise LookupError("no model")
                yield StreamEvent("text", {"delta": "hello"})

            return AsyncStreamEvents(events(), state=state)

        self.runner.build_messages, self.runner.record_chat = build_messages, record_chat
        self.runner._traced_completion = completion

    def run(self):
        tape = SimpleNamespace(context=SimpleNamespace(state={}), name="tape")
        return self.runner.run(tape=tape, model="m", tools=[], system_prompt=None, prompt="hi")


async def test_bub_K8_finish_skips_the_provider_and_its_text_is_emitted_and_recorded():
    told = []
    runner = ScriptedRunner(agent_hooks(a=plugin(
        before_llm_call=lambda: LlmCallDecision.finish("too dear"),
        after_llm_call=saying(told, "after"),
    )))  # fmt: skip
    assert [(event.kind, event.data.get("delta")) async for event in runner.run()] == [
        ("text", "too dear"),
        ("final", None),
    ]
    assert runner.asked == [] == told and runner.recorded == ["too dear"]


async def test_bub_K11_after_llm_call_comes_once_for_a_call_that_completed():
    told = []
    hooks = agent_hooks(a=plugin(after_llm_call=lambda result: told.append(result.error)))
    async for _ in ScriptedRunner(hooks).run():
        pass
    with pytest.raises(LookupError, match="no model") as raised:
        async for _ in ScriptedRunner(hooks, fails=True).run():
            pass
    assert told == [None, raised.value]


async def test_bub_K11_after_llm_call_does_not_come_for_cancellation_and_early_close():
    told = []
    hooks = agent_hooks(a=plugin(after_llm_call=saying(told, "after")))
    stream = ScriptedRunner(hooks).run()
    await anext(stream)
    await stream.aclose()

    async def consume():
        async for _ in ScriptedRunner(hooks, hangs=True).run():
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == []
