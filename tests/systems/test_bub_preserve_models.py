"""What Bub's users notice nothing of in its models and its pluggy, in every setting."""

import asyncio
import inspect
from types import SimpleNamespace

import pluggy
import pytest
from bub.hooks import interception
from bub.hooks import runtime as runtime_module
from bub.hooks.interception import ToolCallDecision
from bub.streaming import AsyncStreamEvents, StreamEvent, StreamState

from . import bub_states as parts
from .bub_parts import framework, plugin, runtime
from .bub_states import CALL, saying

setting = parts.setting
logged = parts.logged


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
