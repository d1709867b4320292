"""AgenticX with `strict=True`: its defects are cured, in the four modules."""

import asyncio
import functools
import gc
import warnings

import pytest

from hookbus import Block, HookError
from hookbus.events import Failed
from hookbus.testing import record

from .agenticx_parts import IS_INSTALLED, hook_with, modules_in
from .agenticx_states import core_context, core_of, legacy_context, legacy_of


@pytest.fixture(params=["namespaces", "installed"] if IS_INSTALLED else ["namespaces"])
def agx(request, bus):
    with modules_in(request.param, bus, strict=True) as modules:
        yield modules


@pytest.fixture(params=["llm", "tool"])
def kind(request):
    return request.param


@pytest.fixture(params=["core", "legacy"])
def of(request, agx, kind):
    """Return a function of either of the twin modules, and one that makes a context for it."""
    find, make = (core_of, core_context) if request.param == "core" else (legacy_of, legacy_context)
    return lambda what: make(agx, kind) if what == "context" else find(agx, kind, what)


def before(of, *hooks):
    for hook in hooks:
        of("register_before_{}_call_hook")(hook)
    return of("execute_before_{}_call_hooks")(of("context"))


def test_agenticx_x02_none_is_no_decision_in_both_modules(of):
    assert before(of, lambda ctx: None, lambda ctx: True) is True
    assert before(of, lambda ctx: False) is False


def test_agenticx_x03_an_async_policy_is_awaited_and_blocks(of):
    async def policy(ctx):
        await asyncio.sleep(0)
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert before(of, policy) is False
        gc.collect()


def test_agenticx_x04_a_policy_that_raises_blocks_and_is_told(of, bus):
    def policy(ctx):
        raise LookupError("the policy file is gone")

    with record(bus) as fired:
        assert before(of, policy) is False
    [failed] = fired.of(Failed)
    assert (failed.receiver, failed.action, type(failed.exception)) == (
        "policy",
        "blocked",
        LookupError,
    )


def test_agenticx_x05_partials_and_objects_are_hooks_and_a_failed_registration_leaves_no_trace(of):
    class Policy:
        def __call__(self, ctx):
            asked.append("object")

    asked = []
    with pytest.raises(HookError, match="not callable"):
        of("register_before_{}_call_hook")("policy")
    assert (
        before(of, Policy(), functools.partial(lambda note, ctx: note.append("partial"), asked))
        is True
    )
    assert asked == ["object", "partial"]


def test_agenticx_x05_hooks_without_a_name_are_listed(agx, kind):
    core_of(agx, kind, "register_before_{}_call_hook")(functools.partial(lambda ctx: True))
    assert core_of(agx, kind, "get_registered_{}_hooks")() == {"before": ["<lambda>"], "after": []}


def test_agenticx_x06_a_hook_that_takes_itself_out_skips_nobody(of):
    def once(ctx):
        of("unregister_before_{}_call_hook")(once)

    assert before(of, once, lambda ctx: False) is False


def test_agenticx_x07_a_bound_method_that_was_unregistered_does_not_run(of):
    class Policy:
        def check(self, ctx):
            asked.append(1)

    asked, policy = [], Policy()
    register, unregister = (
        of(f"{what}_before_{{}}_call_hook") for what in ("register", "unregister")
    )
    for _ in range(2):
        register(policy.check)
        unregister(policy.check)
    assert before(of) is True and asked == []
    register(policy.check)
    assert before(of) is True and asked == [1]


@pytest.mark.parametrize("answer", [0, "", "yes", {"blocked": False}])
def test_agenticx_x12_an_answer_that_means_nothing_blocks_and_is_told_with_its_type(
    of, bus, answer
):
    with record(bus) as fired:
        assert before(of, lambda ctx: answer) is False
    assert type(answer).__name__ in str(fired.of(Failed)[0].exception)


def test_agenticx_x25_x12_after_hooks_chain_and_what_is_no_text_is_not_let_through(agx, kind):
    attribute = "response" if kind == "llm" else "tool_result"
    register, execute = (
        legacy_of(agx, kind, what)
        for what in ("register_after_{}_call_hook", "execute_after_{}_call_hooks")
    )
    context = legacy_context(agx, kind)
    setattr(context, attribute, "the secret")
    register(lambda ctx: getattr(ctx, attribute).replace("the", "a"))
    register(lambda ctx: getattr(ctx, attribute).upper())
    assert execute(context) == "A SECRET"

    def redact(ctx):
        return {"text": "***"}

    register(redact)
    setattr(context, attribute, "the secret")
    text = execute(context)
    assert "secret" not in text.lower() and "redact returned dict" in text


def test_agenticx_x16_x23_a_plain_call_inside_a_loop_keeps_its_thread_and_makes_no_loop(
    of, monkeypatch
):
    def nested(ctx):
        if len(asked) > 2:
            return True
        return asked.append(1) or of("execute_before_{}_call_hooks")(of("context"))

    def no_loop():
        raise AssertionError("a loop was made")

    asked = []

    async def inside():
        monkeypatch.setattr(asyncio, "new_event_loop", no_loop)
        return before(of, nested)

    assert asyncio.run(inside()) is True and len(asked) == 3


# -- runtime.hooks ---------------------------------------------------------------------------------


def test_agenticx_x10_x11_a_hook_that_fails_ends_nothing_and_the_next_is_asked(agx, bus):
    async def broken(self, *args):
        raise LookupError("the log is full")

    async def ends(self, text, session):
        ended.append(text)

    ended, registry = [], agx.runtime.HookRegistry()
    methods = (
        "before_model", "after_model", "on_agent_start", "after_tool_call", "on_compaction",
        "on_agent_end",
    )  # fmt: skip
    registry.register(hook_with(agx, **dict.fromkeys(methods, broken)))
    registry.register(hook_with(agx, on_agent_end=ends))

    async def turn():
        await registry.run_on_agent_start(None, "me", "hello")
        assert await registry.run_before_model(["hello"], None) == ["hello"]
        await registry.run_after_model("answer", None)
        assert await registry.run_after_tool_call("read", "text", None) == "text"
        await registry.run_on_compaction(1, "", None)
        await registry.run_on_agent_end("bye", None)

    with record(bus) as fired:
        asyncio.run(turn())
    assert ended == ["bye"] and [event.action for event in fired.of(Failed)] == ["isolated"] * 6


def test_agenticx_x04_x10_a_hook_that_fails_before_a_tool_blocks_it(agx):
    async def broken(self, *args):
        raise LookupError("the policy file is gone")

    registry = agx.runtime.HookRegistry()
    registry.register(hook_with(agx, before_tool_call=broken))
    outcome = asyncio.run(registry.run_before_tool_call("rm", {}, None))
    assert outcome.blocked and "Hook" in outcome.reason and "LookupError" in outcome.reason


@pytest.mark.parametrize("answer", [False, True, "no", {"blocked": True}])
def test_agenticx_x12_an_outcome_of_the_wrong_type_blocks_and_is_told(agx, bus, answer):
    async def odd(self, *args):
        return answer

    registry = agx.runtime.HookRegistry()
    registry.register(hook_with(agx, before_tool_call=odd))
    with record(bus) as fired:
        assert asyncio.run(registry.run_before_tool_call("rm", {}, None)).blocked
    assert f"Hook returned {type(answer).__name__}; return HookOutcome" in str(
        fired.of(Failed)[0].exception
    )


def test_agenticx_x12_plain_methods_are_hooks_and_a_result_that_is_no_text_is_withheld(agx):
    def deny(self, tool_name, arguments, session):
        return agx.runtime.HookOutcome(True, "no rm") if tool_name == "rm" else None

    async def redact(self, tool_name, result, session):
        return {"text": "***"}

    registry = agx.runtime.HookRegistry()
    registry.register(hook_with(agx, before_tool_call=deny, after_tool_call=redact))
    assert asyncio.run(registry.run_before_tool_call("rm", {}, None)).reason == "no rm"
    result = asyncio.run(registry.run_after_tool_call("read", "the secret", None))
    assert "secret" not in result and "Hook returned dict" in result


def test_agenticx_x13_a_hook_has_the_methods_it_needs(agx):
    class Duck:
        async def before_tool_call(self, tool_name, arguments, session):
            return Block("no rm") if tool_name == "rm" else None

    registry = agx.runtime.HookRegistry()
    registry.register(Duck())
    asyncio.run(registry.run_on_agent_start(None, "me", "hello"))
    assert asyncio.run(registry.run_before_tool_call("rm", {}, None)) == agx.runtime.HookOutcome(
        True, "no rm"
    )


def test_agenticx_x21_a_hook_is_registered_once_and_can_be_taken_out(agx):
    async def end(self, text, session):
        ended.append(1)

    ended, registry = [], agx.runtime.HookRegistry()
    hook = hook_with(agx, on_agent_end=end)
    registry.register(hook)
    registry.register(hook, priority=3)
    asyncio.run(registry.run_on_agent_end("bye", None))
    assert ended == [1] and registry._entries == [(3, hook)]
    assert (registry.unregister(hook), registry.unregister(hook)) == (True, False)
    registry.register(hook)
    registry.clear()
    asyncio.run(registry.run_on_agent_end("bye", None))
    assert ended == [1] and registry.has_hooks() is False
