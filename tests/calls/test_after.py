"""What happens after the method: `error`, `post` and `finally`."""

import asyncio

import pytest

from hookbus import Block, Drop, HookBlocked, Replace, events, hookable


def test_the_first_rescue_is_the_result_and_passes_post(bus, agent, ran):
    bus.signal("error_reply").connect(lambda a, error: ran.append(type(error).__name__), priority=9)
    bus.signal("error_reply").connect(lambda a, error: Replace("rescued"))
    bus.signal("error_reply").connect(lambda a, error: Replace("too late"), name="late")
    bus.signal("post_reply").connect(lambda a, result: result + "!")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("raise") == "rescued!"
    assert ran == [("body", "raise"), "LookupError", "replaced"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
async def test_nobody_rescues_from_an_interrupt(bus, kind):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            raise kind

        @hookable("reply", bus=bus)
        async def later(self):
            raise kind

    bus.signal("error_reply").connect(lambda a: Replace("rescued"))
    with pytest.raises(kind):
        Agent().reply()
    with pytest.raises(kind):
        await Agent().later()


def test_the_methods_exception_keeps_identity_traceback_and_context_and_failures_become_notes(
    bus, ran
):
    raised = LookupError("the one")

    @hookable("failing", bus=bus)
    def failing():
        try:
            raise KeyError("inner")
        except KeyError:
            raise raised  # noqa: B904 - the implicit context is the point

    def broken(f):
        raise ValueError("SECRET")

    bus.signal("error_failing").connect(broken, name="broken rescue")
    bus.signal("finally_failing").connect(broken, name="broken observer")
    with pytest.raises(LookupError) as error:
        try:
            raise OSError("handled by the caller")
        except OSError:
            failing()
    assert error.value is raised and isinstance(raised.__context__, KeyError)
    assert any(entry.name == "failing" for entry in error.traceback)
    notes = "\n".join(raised.__notes__)
    assert "broken rescue" in notes and "broken observer" in notes and "SECRET" not in notes


def test_a_stop_iteration_comes_out_as_from_the_bare_method(bus):
    @hookable("stopping", bus=bus)
    def stopping():
        raise StopIteration(3)

    bus.signal("pre_stopping").connect(lambda f: None)
    with pytest.raises(StopIteration) as error:
        stopping()
    assert error.value.value == 3


async def test_an_around_that_lets_pass_what_python_makes_of_a_stop_iteration_has_not_failed(
    bus, ran
):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self): ...

    def breaks(agent, call_next):
        raise StopIteration

    async def passes(agent, call_next):
        return await call_next()

    bus.events.connect(
        lambda bus, event: ran.append(event.receiver) if isinstance(event, events.Failed) else None
    )
    bus.signal("around_reply").connect(passes, priority=1)
    bus.signal("around_reply").connect(breaks, name="breaks")
    with pytest.raises(RuntimeError):
        await Agent().reply()
    assert ran == ["breaks"]


async def test_who_awaits_meets_what_python_makes_of_a_stop_iteration_and_who_looks_what_was_raised(
    bus, ran
):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self): ...

    def breaks(agent, call_next):
        raise StopIteration

    async def retries(agent, call_next):
        with pytest.raises(RuntimeError):
            await call_next()
        return await call_next()

    def looks(agent, error):
        ran.append(type(error))

    agent = Agent()
    bus.signal("around_reply").connect(breaks)
    bus.signal("error_reply").connect(looks, role="observe")
    bus.signal("finally_reply").connect(looks)
    with pytest.raises(RuntimeError):
        await agent.reply()
    assert ran == [StopIteration, StopIteration]
    ran.clear()
    bus.signal("around_reply").connect(retries, priority=1)
    with pytest.raises(RuntimeError):
        await agent.reply()
    assert ran == [RuntimeError, RuntimeError]


def test_post_changes_the_result_and_none_needs_replace(bus, agent):
    bus.signal("post_reply").connect(lambda a, result: None, name="unchanged")
    assert agent.reply("a") == "re: a"
    bus.signal("post_reply").connect(lambda a, result: Replace(None), name="nothing")
    assert agent.reply("a") is None


def test_who_looks_at_the_context_is_heard_as_any_other(bus, agent, tokens):
    bus.signal("post_reply").connect(lambda a, ctx: ctx.result.upper())
    bus.signal("error_reply").connect(lambda a, ctx: Replace(type(ctx.error).__name__))
    bus.signal("item_tokens").connect(lambda f, ctx: Drop() if ctx.kwargs["n"] == 1 else None)
    assert agent.reply("a") == "RE: A" and agent.reply("raise") == "LOOKUPERROR"
    bus.signal("pre_tokens").connect(
        lambda f, ctx: Block("no") if ctx.kwargs["n"] > 2 else None, role="guard"
    )
    assert list(tokens(2)) == [0, 1] and list(tokens(1)) == []
    with pytest.raises(HookBlocked, match="no"):
        list(tokens(3))


def test_drop_is_no_answer_of_post(bus, agent):
    failed = []
    bus.events.connect(lambda bus, event: failed.append(event.receiver), kinds=events.Failed)
    bus.signal("post_reply").connect(lambda a: Drop(), name="drops")
    assert agent.reply("a") == "re: a" and failed == ["drops"]


def test_a_post_guard_withholds_the_result(bus, agent, ran):
    bus.signal("post_reply").connect(lambda a, result: Block("leaks"), role="guard")
    bus.signal("finally_reply").connect(lambda a, result: ran.append(result))
    with pytest.raises(HookBlocked, match="leaks"):
        agent.reply("a")
    assert ran == [("body", "a"), None]


def test_finally_runs_once_on_every_exit(bus, agent, ran):
    bus.signal("finally_reply").connect(
        lambda a, ctx, error: ran.append((ctx.outcome, type(error).__name__))
    )
    agent.reply("a")
    with pytest.raises(LookupError):
        agent.reply("raise")
    assert [entry for entry in ran if entry[0] != "body"] == [
        ("returned", "NoneType"),
        ("raised", "LookupError"),
    ]


def test_a_keyboard_interrupt_goes_out_at_once_and_starts_no_body(bus, agent, ran):
    def interrupt(a):
        raise KeyboardInterrupt

    bus.signal("pre_reply").connect(interrupt)
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    with pytest.raises(KeyboardInterrupt):
        agent.reply("a")
    assert ran == ["raised"]
