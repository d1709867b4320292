"""What Bub's users notice nothing of: each test on stock Bub, on hookbus, there while somebody
listens, and after uninstall."""

import asyncio
import inspect
from dataclasses import replace
from types import SimpleNamespace

import pluggy
import pytest
from bub.channels.admission import AdmitDecision
from bub.hooks import interception
from bub.hooks import runtime as runtime_module
from bub.hooks.interception import (
    LlmCallDecision,
    LlmCallRequest,
    LlmCallResult,
    ToolCall,
    ToolCallDecision,
    ToolCallResult,
)  # fmt: skip
from bub.model_selection import ModelOptions
from bub.streaming import AsyncStreamEvents, StreamEvent, StreamState
from bub.tape import TapeContext
from loguru import logger

from hookbus import Bus
from hookbus.adapters import bub

from .bub_parts import agent_hooks, call_tool, framework, plugin, runtime


@pytest.fixture(params=["before", "during", "heard", "after"], autouse=True)
def setting(request):
    """Stock Bub; on hookbus; on hookbus with a listener, so that every call goes through it; and
    given back."""
    if request.param == "before":
        yield
        return
    bus = Bus()
    uninstall = bub.install(bus)
    if request.param == "heard":
        bus.events.connect(lambda bus, event: None, name="listener")
    if request.param == "after":
        uninstall()
    yield
    uninstall()


@pytest.fixture
def logged():
    """What Bub logs from WARNING on, as texts."""
    lines = []
    sink = logger.add(
        lambda message: lines.append(message.record["message"]), level="WARNING", format="{message}"
    )
    yield lines
    logger.remove(sink)


def saying(told, word, answer=None):
    def implementation():
        told.append(word)
        return answer

    return implementation


def test_bub_K1_the_last_registered_runs_first_with_tryfirst_ahead_and_trylast_behind():
    told = []
    hooks = runtime(
        a=plugin(load_state=(saying(told, "a"), {"tryfirst": True})),
        b=plugin(load_state=saying(told, "b")),
        c=plugin(load_state=(saying(told, "c"), {"trylast": True})),
        d=plugin(load_state=saying(told, "d")),
        e=plugin(load_state=(saying(told, "e"), {"trylast": True})),
    )  # fmt: skip
    asyncio.run(hooks.call_many("load_state"))
    hooks.call_many_sync("load_state")
    asyncio.run(hooks.call_first("load_state"))
    hooks.call_first_sync("load_state")
    assert told == ["a", "d", "b", "c", "e"] * 4


def test_bub_K1_the_same_order_for_errors_and_agent_hooks():
    told = []
    names = ("on_error", "before_llm_call", "after_llm_call", "before_tool_call", "after_tool_call")
    shared = runtime(
        **{word: plugin(**{name: saying(told, word) for name in names}) for word in "abc"}
    )
    hooks = interception.AgentHooks(shared)

    async def ask():
        await shared.notify_error(stage="turn", error=ValueError(), message=None)
        shared.notify_error_sync(stage="turn", error=ValueError(), message=None)
        await hooks.before_llm_call(LlmCallRequest("r", "m", []), {})
        await hooks.after_llm_call(LlmCallRequest("r", "m", []), LlmCallResult("r"), {})
        await hooks.before_tool_call(ToolCall("r", "t", {}), {})
        await hooks.after_tool_call(ToolCall("r", "t", {}), ToolCallResult("r", "t", {}), {})

    asyncio.run(ask())
    assert told == ["c", "b", "a"] * 6


async def test_bub_K2_an_awaitable_is_awaited_before_the_next_one_starts():
    told = []

    def slow(word):
        async def load_state():
            told.append(f"{word} begins")
            await asyncio.sleep(0)
            told.append(f"{word} ends")
            return word

        return load_state

    assert await runtime(a=plugin(load_state=slow("a")), b=plugin(load_state=slow("b"))).call_many(
        "load_state"
    ) == ["b", "a"]
    assert told == ["b begins", "b ends", "a begins", "a ends"]


async def test_bub_K2_a_plain_function_may_return_an_awaitable():
    async def later():
        return "later"

    assert (
        await runtime(a=plugin(build_prompt=lambda: later())).call_first("build_prompt") == "later"
    )


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_bub_K2_where_bub_cannot_await_what_is_async_is_skipped_with_a_warning(logged, in_a_loop):
    made = []

    async def later():
        return "never"

    def is_async():
        made.append(later())
        return made[-1]

    hooks = runtime(
        plain=plugin(system_prompt=lambda: "plain"), late=plugin(system_prompt=is_async)
    )

    async def ask():
        return hooks.call_many_sync("system_prompt"), hooks.call_first_sync("system_prompt")

    asked = (
        asyncio.run(ask())
        if in_a_loop
        else (hooks.call_many_sync("system_prompt"), hooks.call_first_sync("system_prompt"))
    )
    assert asked == (["plain"], "plain")
    assert logged == ["hook.async_not_supported hook=system_prompt adapter=late"] * 2
    for each in made:
        each.close()


async def test_bub_K3_call_first_gives_the_first_that_is_not_none_and_call_many_gives_all():
    told = []
    hooks = runtime(
        a=plugin(build_prompt=saying(told, "a", "a")), b=plugin(build_prompt=saying(told, "b", "")),
        c=plugin(build_prompt=saying(told, "c")),
    )  # fmt: skip
    assert await hooks.call_first("build_prompt") == "" and told == ["c", "b"]
    assert hooks.call_first_sync("build_prompt") == ""
    assert (
        await hooks.call_many("build_prompt")
        == [None, "", "a"]
        == hooks.call_many_sync("build_prompt")
    )


async def test_bub_K3_nobody_who_answers_gives_none_and_an_unknown_hook_is_no_error():
    hooks = runtime(a=plugin(build_prompt=lambda: None))
    assert (
        await hooks.call_first("build_prompt") is None
        and hooks.call_first_sync("build_prompt") is None
    )
    assert (
        await hooks.call_first("load_state") is None and await hooks.call_many("load_state") == []
    )
    for name in ("no_such_hook", "_private"):
        assert await hooks.call_first(name, x=1) is None and hooks.call_first_sync(name) is None
        assert await hooks.call_many(name) == [] == hooks.call_many_sync(name)


async def test_bub_K3_a_hook_without_a_specification_is_called_all_the_same():
    hooks = runtime(a=plugin(my_own_hook=lambda x: f"a{x}"), b=plugin(my_own_hook=lambda: None))
    assert await hooks.call_many("my_own_hook", x=1) == [None, "a1"]
    assert hooks.call_first_sync("my_own_hook", x=1) == "a1"


async def test_bub_K3_so_is_one_of_somebody_elses_specification():
    class Specs:
        @pluggy.HookspecMarker("bub")
        def pick(self, colour, size=1): ...

    hooks = runtime()
    hooks.manager.add_hookspecs(Specs)
    hooks.manager.register(plugin(pick=lambda colour: colour), name="a")
    assert await hooks.call_many("pick", colour="red") == ["red"]


async def test_bub_K4_each_gets_what_it_names_of_what_was_given():
    seen = []
    hooks = runtime(
        none=plugin(load_state=lambda: seen.append(())),
        one=plugin(load_state=lambda session_id: seen.append(session_id)),
        both=plugin(load_state=lambda message, session_id: seen.append((message, session_id))),
        default=plugin(load_state=lambda session_id="mine": seen.append(session_id)),
    )  # fmt: skip
    await hooks.call_many("load_state", message="m", session_id="s", something="else")
    assert seen == ["mine", ("m", "s"), "s", ()]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'message'"):
        await hooks.call_many("load_state", session_id="s")


async def test_bub_K4_the_very_objects_that_were_given_arrive():
    state, seen = {}, []
    hooks = runtime(a=plugin(save_state=lambda state: state.update(seen=True)))
    await hooks.call_many("save_state", state=state, session_id="s")
    assert state == {"seen": True} and seen == []


@pytest.mark.parametrize("call", ["call_first", "call_many", "call_first_sync", "call_many_sync"])
def test_bub_K5_an_exception_of_an_ordinary_hook_goes_out_as_it_is(call):
    failure, told = LookupError("broken"), []

    def broken():
        raise failure

    hooks = runtime(
        never=plugin(load_state=saying(told, "never")), broken=plugin(load_state=broken)
    )
    asked = getattr(hooks, call)
    with pytest.raises(LookupError) as raised:
        asyncio.run(asked("load_state")) if inspect.iscoroutinefunction(asked) else asked(
            "load_state"
        )
    assert (
        raised.value is failure
        and told == []
        and failure.__cause__ is None
        and failure.__context__ is None
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_bub_K5_so_does_whatever_ends_more_than_a_call(error):
    def broken():
        raise error("out")

    hooks = runtime(broken=plugin(load_state=broken, on_error=broken))
    with pytest.raises(error, match="out"):
        await hooks.call_many("load_state")
    with pytest.raises(error, match="out"):
        await hooks.notify_error(stage="turn", error=ValueError(), message=None)


async def test_bub_K5_the_turn_fails_and_the_observers_of_errors_hear_of_it():
    heard = []

    def broken(message):
        raise LookupError("broken")

    bot = framework(a=plugin(
        build_prompt=broken, on_error=lambda stage, error,
        message: heard.append((stage, repr(error), message["content"])),
    ))  # fmt: skip
    with pytest.raises(LookupError, match="broken"):
        await bot.process_inbound({"content": "hi"})
    assert heard == [("turn", "LookupError('broken')", "hi")]


@pytest.mark.parametrize("is_sync", [False, True])
def test_bub_K6_every_observer_of_errors_runs_and_its_failure_is_logged(logged, is_sync):
    told = []

    def broken():
        raise LookupError("broken")

    hooks = runtime(
        a=plugin(on_error=saying(told, "a")),
        b=plugin(on_error=broken),
        c=plugin(on_error=saying(told, "c")),
    )
    given = {"stage": "turn", "error": ValueError("theirs"), "message": None}
    assert (
        hooks.notify_error_sync(**given) if is_sync else asyncio.run(hooks.notify_error(**given))
    ) is None
    assert told == ["c", "a"] and logged == ["hook.on_error_failed stage=turn adapter=b"]


def test_bub_K6_an_async_observer_is_awaited_or_skipped_with_a_warning(logged):
    told, made = [], []

    async def later():
        told.append("later")

    def observer(stage):
        made.append(later())
        return made[-1]

    hooks = runtime(a=plugin(on_error=observer))
    given = {"stage": "turn", "error": ValueError(), "message": None}
    asyncio.run(hooks.notify_error(**given))
    hooks.notify_error_sync(**given)
    made[-1].close()
    assert told == ["later"] and logged == ["hook.async_not_supported hook=on_error adapter=a"]


REQUEST = LlmCallRequest("run", "model", [{"role": "user", "content": "hi"}])
CALL = ToolCall("run", "bash", {"cmd": "ls"})


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


async def test_bub_K12_keys_of_the_higher_priority_win_in_the_state():
    saved = []
    bot = framework(
        low=plugin(load_state=lambda: {"who": "low", "low": 1}),
        none=plugin(load_state=lambda: None),
        high=plugin(
            load_state=lambda: {"who": "high"}, save_state=lambda state: saved.append(state)
        ),
    )
    result = await bot.process_inbound({"content": "hi"})
    assert (result.state["who"], result.state["low"]) == ("high", 1) and saved == [result.state]


def test_bub_K12_blocks_of_the_system_prompt_are_joined_from_low_to_high_by_a_blank_line():
    said = {"a": "low", "b": "", "c": "high"}
    bot = framework(
        **{name: plugin(system_prompt=lambda word=word: word) for name, word in said.items()}
    )
    assert bot.get_system_prompt("hi", {}) == "low\n\nhigh"


async def test_bub_K12_the_first_channel_sidecar_and_current_model_of_a_name_win():
    def named(word, name="x"):
        return SimpleNamespace(name=name, of=word)

    bot = framework(
        low=plugin(
            provide_channels=lambda: [named("low"), named("low", "y")],
            provide_tape_sidecar=lambda: named("low"),
            provide_model_options=lambda: ModelOptions(models=["a"], current_model="a"),
        ),
        high=plugin(
            provide_channels=lambda: [named("high")],
            provide_tape_sidecar=lambda: named("high"),
            provide_model_options=lambda workspace: ModelOptions(models=["b"], current_model=None),
        ),
    )
    assert {name: channel.of for name, channel in bot.get_channels(None).items()} == {
        "x": "high",
        "y": "low",
    }
    assert [sidecar.of for sidecar in bot.get_tape_sidecars()] == ["high"]
    options = await bot.get_model_options(session_id="s")
    assert (options.models, options.current_model) == (["b", "a"], "a")


async def test_bub_K12_providers_are_entered_for_as_long_as_the_framework_runs():
    told = []

    async def tape_store():
        told.append("store opened")
        yield "store"
        told.append("store closed")

    def inbox():
        told.append("inbox opened")
        yield "inbox"
        told.append("inbox closed")

    def lifespan():
        told.append("life begins")
        yield
        told.append("life ends")

    bot = framework(
        a=plugin(
            provide_tape_store=tape_store, provide_steering_inbox=inbox, provide_lifespan=lifespan
        )
    )
    async with bot.running():
        assert (bot.get_tape_store(), bot.get_steering_inbox()) == ("store", "inbox")
        assert told == ["life begins", "store opened", "inbox opened"]
    assert (
        told[3:] == ["inbox closed", "store closed", "life ends"] and bot.get_tape_store() is None
    )


async def test_bub_K12_a_wrong_type_is_a_type_error():
    bot = framework(a=plugin(
        admit_message=lambda: "yes", continue_prompt=lambda: 1,
        build_tape_context=lambda: "context", provide_model_options=lambda: [1],
        provide_environment=lambda: "here",
    ))  # fmt: skip
    for asked in (
        bot.admit_message(session_id="s", message={}, turn=None),
        bot.continue_prompt("p", None, StreamState()), bot.get_model_options(session_id="s"),
        bot.get_environment("s"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="must return"):
            await asked
    with pytest.raises(TypeError, match="must return TapeContext"):
        bot.build_tape_context()
    good = framework(
        a=plugin(
            admit_message=lambda: AdmitDecision("drop"), build_tape_context=lambda: TapeContext()
        )
    )
    assert (await good.admit_message(session_id="s", message={}, turn=None)).action == "drop"
    assert isinstance(good.build_tape_context(), TapeContext)


async def test_bub_K12_save_state_comes_after_the_model_also_where_it_failed_and_not_before():
    told = []

    def broken(**_):
        raise LookupError("broken")

    def save_state(model_output):
        import sys

        told.append((model_output, sys.exc_info()[0]))

    assert (
        await framework(a=plugin(run_model=lambda: "out", save_state=save_state)).process_inbound(
            {}
        )
    ).model_output == "out"
    for hook in ("run_model", "build_prompt"):
        with pytest.raises(LookupError):
            await framework(
                a=plugin(**{hook: lambda: broken(), "save_state": save_state})
            ).process_inbound({"content": "hi"})
    assert told == [("out", None), ("", LookupError)]


async def test_bub_K12_what_nobody_answers_falls_back():
    bot = framework(a=plugin(build_prompt=lambda: "", run_model=lambda prompt: f"re: {prompt}"))
    result = await bot.process_inbound({"content": "hi", "channel": "mail", "chat_id": 7})
    assert (result.session_id, result.prompt, result.model_output) == ("mail:7", "hi", "re: hi")
    assert result.outbounds == [
        {"content": "re: hi", "session_id": "mail:7", "channel": "mail", "chat_id": 7}
    ]


async def test_bub_K12_outbounds_of_all_are_sent_to_all():
    sent = []

    def sending(word):
        return lambda message: sent.append((word, message["n"]))

    bot = framework(
        a=plugin(render_outbound=lambda: [{"n": 1}, {"n": 2}], dispatch_outbound=sending("a")),
        b=plugin(render_outbound=lambda: {"n": 3}, dispatch_outbound=sending("b")),
    )
    await bot.process_inbound({"content": "hi"})
    assert sent == [("b", 3), ("a", 3), ("b", 1), ("a", 1), ("b", 2), ("a", 2)]


def test_bub_K12_onboarding_runs_from_low_to_high_and_each_sees_what_is_there(monkeypatch):
    from bub import configure

    monkeypatch.setattr(configure, "validate", lambda config: config)
    seen = []

    def onboard(word):
        def onboard_config(current_config):
            seen.append((word, dict(current_config)))
            return {word: True} if word != "none" else None

        return onboard_config

    bot = framework(**{word: plugin(onboard_config=onboard(word)) for word in ("a", "none", "b")})
    assert bot.collect_onboard_config() == {"a": True, "b": True}
    assert seen == [("a", {}), ("none", {"a": True}), ("b", {"a": True})]
    with pytest.raises(ValueError, match="No onboard_config hook found for plugin 'c'"):
        bot.collect_onboard_config("c")
    assert bot.collect_onboard_config("b") == {"b": True}
    with pytest.raises(TypeError, match="must return dict or None"):
        framework(a=plugin(onboard_config=lambda current_config: "no")).collect_onboard_config()


def stream_of(*words):
    async def events():
        for word in words:
            yield StreamEvent("text", {"delta": word})
        yield StreamEvent("final", {"ok": True})

    return AsyncStreamEvents(events(), state=StreamState())


MODEL = {"prompt": "p", "session_id": "s", "state": {}}


async def joined(stream):
    return [event.data["delta"] async for event in stream if event.kind == "text"]


async def test_bub_K13_text_becomes_a_stream_in_one_piece_and_a_stream_becomes_text():
    text = runtime(a=plugin(run_model=lambda prompt: f"re: {prompt}"))
    stream = runtime(a=plugin(run_model_stream=lambda: stream_of("a", "b")))
    assert await text.run_model(**MODEL) == "re: p" and await joined(
        await text.run_model_stream(**MODEL)
    ) == ["re: p"]
    assert await stream.run_model(**MODEL) == "ab" and await joined(
        await stream.run_model_stream(**MODEL)
    ) == ["a", "b"]
    assert (
        await runtime().run_model(**MODEL) is None
        and await runtime().run_model_stream(**MODEL) is None
    )


async def test_bub_K13_the_newest_plugin_that_has_either_name_decides():
    text = plugin(run_model=lambda: "text")
    stream = plugin(run_model_stream=lambda: stream_of("stream"))
    assert await runtime(a=text, b=stream).run_model(**MODEL) == "stream"
    assert await runtime(a=stream, b=text).run_model(**MODEL) == "text"
    ordinary = SimpleNamespace(run_model=lambda: "not a hook")
    assert await runtime(a=stream, b=ordinary).run_model(**MODEL) is None


async def test_bub_K13_a_wrong_type_is_a_type_error():
    with pytest.raises(TypeError, match="run_model must return str or None"):
        await runtime(a=plugin(run_model=lambda: 1)).run_model(**MODEL)
    with pytest.raises(TypeError, match="run_model_stream must return AsyncStreamEvents or None"):
        await runtime(a=plugin(run_model_stream=lambda: "text")).run_model_stream(**MODEL)


async def test_bub_K13_no_model_is_told_to_the_observers_of_errors_and_the_prompt_comes_back():
    heard = []
    bot = framework(a=plugin(on_error=lambda stage, error: heard.append((stage, str(error)))))
    assert (await bot.process_inbound({"content": "hi"})).model_output == "hi"
    assert heard == [("run_model", "no model skill returned output")]


def test_bub_K14_the_report_has_sorted_hooks_and_plugins_as_pluggy_keeps_them():
    hooks = runtime(
        p0=plugin(load_state=saying([], "a"), build_prompt=saying([], "a")),
        p1=plugin(load_state=saying([], "b")),
        p2=plugin(load_state=(saying([], "b"), {"trylast": True})),
    )  # fmt: skip
    assert hooks.hook_report() == {"build_prompt": ["p0"], "load_state": ["p2", "p0", "p1"]}


def test_bub_K15_pluggy_is_pluggys_own_and_keeps_its_promises():
    told = []
    manager = runtime(
        a=plugin(load_state=saying(told, "a", "a")), b=plugin(load_state=saying(told, "b"))
    ).manager
    assert (
        type(manager) is pluggy.PluginManager and type(manager.hook.load_state) is pluggy.HookCaller
    )
    assert manager.hook.load_state(message=1, session_id="s") == ["a"] and told == ["b", "a"]
    assert [name for name, _ in manager.list_name_plugin()] == ["a", "b"]
    a = manager.get_plugin("a")
    with pytest.raises(ValueError, match="already registered"):
        manager.register(a, name="c")
    with pytest.raises(ValueError, match="already registered"):
        manager.register(plugin(), name="a")
    with pytest.raises(pluggy.PluginValidationError, match="mesage"):
        manager.register(plugin(load_state=lambda mesage: None), name="typo")
    assert (
        manager.unregister(a) is a
        and manager.get_plugin("a") is None
        and manager.register(None) is None
    )
    manager.set_blocked("blocked")
    assert manager.register(plugin(load_state=saying(told, "blocked")), name="blocked") is None


async def test_bub_K15_who_is_registered_and_taken_out_later_is_heard_from_the_next_call_on():
    told = []
    hooks = runtime(a=plugin(load_state=saying(told, "a")))
    late = plugin(load_state=saying(told, "late"))

    def register():
        told.append("registers")
        hooks.manager.register(late, name="late")

    registering = plugin(load_state=register)
    hooks.manager.register(registering, name="registering")
    await hooks.call_many("load_state")
    hooks.manager.unregister(registering)
    await hooks.call_many("load_state")
    hooks.manager.unregister(late)
    await hooks.call_many("load_state")
    assert told == ["registers", "a", "late", "a", "a"]


async def test_bub_K15_a_wrapper_is_an_ordinary_implementation_to_bub(logged):
    def wrapper():
        return (yield)

    hooks = runtime(
        a=plugin(build_prompt=lambda: "a"),
        b=plugin(
            build_prompt=(wrapper, {"wrapper": True}), before_tool_call=(wrapper, {"wrapper": True})
        ),
    )
    assert inspect.isgenerator(await hooks.call_first("build_prompt"))
    assert await interception.AgentHooks(hooks).before_tool_call(CALL, {}) == (
        CALL,
        ToolCallDecision.proceed(),
    )
    assert logged[0].startswith(
        "hook.agent_hook_bad_return hook=before_tool_call adapter=b got=generator"
    )


def test_the_whole_surface_that_bub_uses_is_there():
    hooks = runtime(a=plugin(load_state=lambda session_id: session_id))
    [impl] = hooks._iter_hookimpls("load_state")
    assert (impl.function("s"), tuple(impl.argnames), impl.plugin_name) == (
        "s",
        ("session_id",),
        "a",
    )
    assert hooks._kwargs_for_impl(impl, {"session_id": "s", "more": 1}) == {"session_id": "s"}
    given = {
        "hook_name": "load_state", "impl": impl, "call_kwargs": {"session_id": "s"},
        "kwargs": {"session_id": "s"},
    }  # fmt: skip
    assert hooks._invoke_impl_sync(**given) == "s" == asyncio.run(hooks._invoke_impl_async(**given))
    assert hooks._iter_hookimpls("no_such_hook") == []

    async def later():
        return 1

    made = later()
    impl = SimpleNamespace(function=lambda: made, argnames=(), plugin_name="a")
    skipped = hooks._invoke_impl_sync(hook_name="onboard", impl=impl, call_kwargs={}, kwargs={})
    made.close()
    assert skipped is runtime_module._SKIP_VALUE
    for name in ("call_first", "call_many", "notify_error", "run_model", "run_model_stream"):
        assert inspect.iscoroutinefunction(getattr(runtime_module.HookRuntime, name)), name
    for name in ("before_llm_call", "after_llm_call", "before_tool_call", "after_tool_call"):
        assert inspect.iscoroutinefunction(getattr(interception.AgentHooks, name)), name
