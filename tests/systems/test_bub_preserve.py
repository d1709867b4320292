"""What Bub's users notice nothing of: each test on stock Bub, on hookbus, there while somebody
listens, and after uninstall."""

import asyncio
import inspect

import pluggy
import pytest
from bub.hooks import interception
from bub.hooks.interception import LlmCallRequest, LlmCallResult, ToolCall, ToolCallResult

from . import bub_states as parts
from .bub_parts import framework, plugin, runtime
from .bub_states import saying

setting = parts.setting
logged = parts.logged


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
