"""The story of one call, part by part, as design and README tell it.

Every combination of failures is in guarantees/.
"""

import asyncio
import time

import pytest

from hookbus import Block, Bus, Drop, HookBlocked, ReceiverError, Replace, events, hookable

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def ran():
    return []


@pytest.fixture
def agent(bus, ran):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, temperature=0.7):
            ran.append(("body", msg))
            if msg == "raise":
                raise LookupError("from the body")
            return "re: " + msg

    return Agent()


# -- pre -------------------------------------------------------------------------------------------


def test_modifiers_then_guards_then_observers_see_what_the_method_will_get(bus, agent, ran):
    for role in ("observe", "guard"):
        bus.signal("pre_reply").connect(
            lambda a, msg, role=role: ran.append((role, msg)), role=role, name=role, priority=9
        )
    bus.signal("pre_reply").connect(lambda a, msg: {"msg": msg.upper()})
    assert agent.reply("a") == "re: A"
    assert ran == [("guard", "A"), ("observe", "A"), ("body", "A")]


def test_a_modifier_may_assign_in_its_context_and_return_a_patch(bus, agent, ran):
    def modify(a, ctx):
        ctx.kwargs["msg"] = "assigned"
        return {"temperature": 1}

    bus.signal("pre_reply").connect(modify)
    bus.signal("pre_reply").connect(
        lambda a, msg, temperature: ran.append((msg, temperature)), role="observe"
    )
    agent.reply("a")
    assert ran[0] == ("assigned", 1)


def test_a_modifier_that_raises_leaves_nothing_behind(bus, agent, ran):
    def half_way(a, ctx):
        ctx.kwargs["msg"] = "half"
        raise ValueError

    bus.signal("pre_reply").connect(half_way)
    assert agent.reply("a") == "re: a"


def test_a_late_write_to_a_draft_changes_nothing(bus, agent):
    kept = []
    bus.signal("pre_reply").connect(lambda a, ctx: kept.append(ctx))
    bus.signal("pre_reply").connect(
        lambda a: kept[0].kwargs.__setitem__("msg", "late"), name="later"
    )
    assert agent.reply("a") == "re: a"


def test_replace_skips_later_modifiers_around_and_method_but_not_guards_and_post(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: Replace("cached"))
    bus.signal("pre_reply").connect(lambda a: ran.append("later modifier"), name="later")
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    bus.signal("pre_reply").connect(lambda a: ran.append("observer"), role="observe", name="o")
    bus.signal("around_reply").connect(lambda a, call_next: ran.append("around"))
    bus.signal("post_reply").connect(lambda a, result: result + "!")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "cached!"
    assert ran == ["guard", "observer", "replaced"]


def test_a_block_is_final_and_only_finally_follows(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: Block("first"), role="guard", name="first")
    bus.signal("pre_reply").connect(
        lambda a: ran.append("second guard"), role="guard", name="second"
    )
    for phase in ("error", "post", "around"):
        bus.signal(f"{phase}_reply").connect(lambda a, phase=phase: ran.append(phase))
    bus.signal("finally_reply").connect(lambda a, ctx, result: ran.append((ctx.outcome, result)))
    with pytest.raises(HookBlocked) as error:
        agent.reply("a")
    assert (error.value.reason, error.value.receiver, error.value.hook) == (
        "first", "first", "reply",
    )  # fmt: skip
    assert ran == [("blocked", None)]


def test_a_block_with_a_result_gives_the_caller_that_result_untouched(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: Block("no", result="refused"), role="guard")
    bus.signal("post_reply").connect(lambda a, result: result + "!")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "refused" and ran == ["blocked"]


@pytest.mark.parametrize(
    "answer", [True, False, 0, "no", {"msg": "x"}, Replace("x"), Drop(), ...], ids=repr
)
def test_a_guard_that_answers_anything_but_none_or_block_blocks(bus, agent, ran, answer):
    bus.signal("pre_reply").connect(lambda a: answer, role="guard")
    with pytest.raises(HookBlocked, match="guard failed: HookError"):
        agent.reply("a")
    assert ran == []


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize("role", ["guard", "observe"])
def test_a_write_by_who_may_only_read_fails_even_if_swallowed(bus, agent, ran, role, swallow):
    told = []
    bus.events.connect(lambda bus, event: told.append(event))

    def write(a, ctx):
        try:
            ctx.kwargs["msg"] = "forged"
        except TypeError:
            if not swallow:
                raise

    bus.signal("pre_reply").connect(write, role=role)
    if role == "guard":
        with pytest.raises(HookBlocked):
            agent.reply("a")
    else:
        assert agent.reply("a") == "re: a"
    assert [event.action for event in told if isinstance(event, events.Failed)] == [
        "blocked" if role == "guard" else "isolated"
    ]


@pytest.mark.parametrize("answer", [Block("no"), Replace("x"), Drop(), {"msg": "x"}], ids=repr)
def test_what_an_observer_answers_never_acts_and_is_told_as_misuse(bus, agent, answer):
    told = []
    bus.events.connect(lambda bus, event: told.append(event))
    bus.signal("pre_reply").connect(lambda a: answer, role="observe")
    assert agent.reply("a") == "re: a"
    assert [event.action for event in told if isinstance(event, events.Failed)] == ["isolated"]


def test_a_failing_observer_leaves_its_siblings_alone(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: 1 / 0, role="observe", name="first")
    bus.signal("pre_reply").connect(lambda a: ran.append("second"), role="observe", name="second")
    assert agent.reply("a") == "re: a" and ran == ["second", ("body", "a")]


@pytest.mark.parametrize(
    ("on_error", "outcome"),
    [("isolate", "re: a"), ("block", HookBlocked), ("raise", ReceiverError)],
)
def test_a_failing_modifier_does_what_it_was_connected_to_do(bus, agent, ran, on_error, outcome):
    def redact(a):
        raise ValueError("broken")

    bus.signal("pre_reply").connect(redact, on_error=on_error)
    bus.signal("error_reply").connect(lambda a: Replace("rescued"))
    if isinstance(outcome, str):
        assert agent.reply("a") == outcome
    else:
        with pytest.raises(outcome) as error:
            agent.reply("a")
        assert ran == []
        assert on_error != "raise" or isinstance(error.value.__cause__, ValueError)


# -- when, once ------------------------------------------------------------------------------------


def test_when_is_judged_at_the_receivers_turn_on_the_arguments_as_they_are(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: {"msg": "bash -c ls"}, priority=1)
    bus.signal("pre_reply").connect(
        lambda a: Block("no shell"), role="guard", when={"msg": "bash*"}
    )
    with pytest.raises(HookBlocked, match="no shell"):
        agent.reply("echo")


def test_when_takes_a_predicate_and_compares_globs_by_their_text(bus, agent, ran):
    bus.signal("pre_reply").connect(
        lambda a: ran.append("predicate"), when=lambda msg: msg == "a", name="p", role="observe"
    )
    bus.signal("pre_reply").connect(
        lambda a: ran.append("glob"), when={"temperature": "0.*"}, name="g", role="observe"
    )
    agent.reply("a"), agent.reply("b", temperature=1)
    assert ran == ["predicate", "glob", ("body", "a"), ("body", "b")]


def test_a_guard_whose_when_fails_blocks(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: None, role="guard", when=lambda msg: 1 / 0)
    with pytest.raises(HookBlocked, match="ZeroDivisionError"):
        agent.reply("a")


# -- around ----------------------------------------------------------------------------------------


def test_arounds_wrap_outermost_first(bus, agent, ran):
    for name in ("outer", "inner"):

        def around(a, call_next, name=name):
            ran.append(f"{name} in")
            result = call_next()
            ran.append(f"{name} out")
            return f"{name}({result})"

        bus.signal("around_reply").connect(around, name=name)
    assert agent.reply("a") == "outer(inner(re: a))"
    assert ran == ["outer in", "inner in", ("body", "a"), "inner out", "outer out"]


def test_an_around_may_substitute_and_the_call_is_replaced(bus, agent, ran):
    bus.signal("around_reply").connect(lambda a, call_next: "cached")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "cached" and ran == ["replaced"]


def test_guards_judge_again_what_an_around_patches(bus, agent, ran):
    bus.signal("pre_reply").connect(
        lambda a, msg: Block("bad") if msg == "bad" else None, role="guard", name="guard"
    )
    bus.signal("around_reply").connect(lambda a, call_next: call_next(msg="bad"))
    with pytest.raises(HookBlocked, match="bad"):
        agent.reply("good")
    assert ran == []


def test_guards_judge_again_every_repeated_attempt(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    bus.signal("around_reply").connect(lambda a, call_next: (call_next(), call_next())[1])
    agent.reply("a")
    assert ran == ["guard", ("body", "a"), "guard", ("body", "a")]


def test_guards_are_asked_once_where_an_around_neither_patches_nor_repeats(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    bus.signal("around_reply").connect(lambda a, call_next: call_next())
    agent.reply("a")
    assert ran == ["guard", ("body", "a")]


def test_no_around_undoes_a_block(bus, agent, ran):
    bus.signal("pre_reply").connect(
        lambda a, msg: Block("bad") if msg == "bad" else None, role="guard", name="guard"
    )

    def stubborn(a, call_next):
        for _ in range(2):
            try:
                call_next(msg="bad")
            except HookBlocked:
                ran.append("caught")
        return "all is well"

    bus.signal("around_reply").connect(stubborn)
    bus.signal("post_reply").connect(lambda a: ran.append("post"), role="observe")
    with pytest.raises(HookBlocked, match="bad"):
        agent.reply("good")
    assert ran == ["caught", "caught"]


def test_an_around_may_catch_the_methods_exception(bus, agent, ran):
    def fallback(a, call_next):
        try:
            return call_next()
        except LookupError:
            return "fallback"

    bus.signal("around_reply").connect(fallback)
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("raise") == "fallback" and ran[-1] == "replaced"


def test_an_around_that_breaks_raises_and_is_chained_to_the_bodys_exception(bus, agent):
    def breaks(a, call_next):
        try:
            call_next()
        except LookupError:
            pass
        raise RuntimeError("broken around")

    bus.signal("around_reply").connect(breaks)
    with pytest.raises(RuntimeError) as error:
        agent.reply("raise")
    assert isinstance(error.value.__context__, LookupError)


# -- error, post, finally --------------------------------------------------------------------------


def test_the_first_rescue_is_the_result_and_passes_post(bus, agent, ran):
    bus.signal("error_reply").connect(lambda a, error: ran.append(type(error).__name__), priority=9)
    bus.signal("error_reply").connect(lambda a, error: Replace("rescued"))
    bus.signal("error_reply").connect(lambda a, error: Replace("too late"), name="late")
    bus.signal("post_reply").connect(lambda a, result: result + "!")
    assert agent.reply("raise") == "rescued!"
    assert ran == [("body", "raise"), "LookupError"]


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


def test_post_changes_the_result_and_none_needs_replace(bus, agent):
    bus.signal("post_reply").connect(lambda a, result: None, name="unchanged")
    assert agent.reply("a") == "re: a"
    bus.signal("post_reply").connect(lambda a, result: Replace(None), name="nothing")
    assert agent.reply("a") is None


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


# -- arguments -------------------------------------------------------------------------------------


def test_arguments_with_awkward_names_are_served_and_pass_unharmed(bus, ran):
    class Agent:
        @hookable("odd", bus=bus)
        def odd(this, args, /, sender, *rest, ctx="c", result="r", **kwargs):
            return args, sender, rest, ctx, result, kwargs

    bus.signal("pre_odd").connect(
        lambda a, args, sender, rest, kwargs: ran.append((args, sender, rest, kwargs)),
        role="observe",
    )
    bus.signal("pre_odd").connect(
        lambda a, ctx: ran.append((ctx.kwargs["ctx"], ctx.kwargs["result"])), name="c",
        role="observe",
    )  # fmt: skip
    bus.signal("pre_odd").connect(
        lambda sender, **kwargs: ran.append(sorted(kwargs)), name="plain", role="observe"
    )
    bus.signal("post_odd").connect(lambda a, result: ran.append(result), role="observe")
    expected = (1, 2, (3, 4), "c", "r", {"self": 5, "args": 6})
    assert Agent().odd(1, 2, 3, 4, self=5, args=6) == expected
    assert ran == [
        (1, 2, (3, 4), {"self": 5, "args": 6}), ("c", "r"), ["args", "kwargs", "rest", "result"],
        expected,
    ]  # fmt: skip


def test_values_are_never_copied_and_a_snapshot_copies_on_request(bus, ran):
    import threading

    class Agent:
        @hookable("hold", bus=bus)
        def hold(self, lock, payload):
            return lock, payload

    def modify(a, lock, payload, ctx):
        ran.append((lock, payload))
        with pytest.raises(TypeError, match="pickle"):
            ctx.snapshot()

    lock, payload = threading.Lock(), {"x": "y" * 1_000_000}
    bus.signal("pre_hold").connect(modify, on_error="raise")
    got = Agent().hold(lock, payload)
    assert got[0] is lock and got[1] is payload and ran[0][1] is payload
    bus.signal("pre_hold")._clear_state()
    bus.signal("pre_hold").connect(lambda a, ctx: ran.append(ctx.snapshot()), on_error="raise")
    Agent().hold("no lock", payload)
    assert ran[1].kwargs["payload"] == payload and ran[1].kwargs["payload"] is not payload


def test_a_context_is_one_calls_and_its_state_is_shared_by_its_receivers(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a, ctx: ctx.state.__setitem__("seen", ctx.kwargs["msg"]))

    def look(a, ctx):
        ran.append((ctx.hook, ctx.sender is a, ctx.state, ctx.result))

    bus.signal("post_reply").connect(look, role="observe")
    agent.reply("a"), agent.reply("b")
    assert [entry for entry in ran if len(entry) == 4] == [
        ("reply", True, {"seen": "a"}, "re: a"), ("reply", True, {"seen": "b"}, "re: b"),
    ]  # fmt: skip


# -- exactly once ----------------------------------------------------------------------------------


def test_super_diamonds_recursion_and_explicit_parent_calls_fire_as_they_should(bus, ran):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self, n):
            return [n, *(self.reply(n - 1) if n else [])]

    class Left(Base):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return super().reply(n)

    class Right(Base):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return super().reply(n)

    class Diamond(Left, Right):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return super().reply(n)

    bus.signal("pre_reply").connect(lambda a, n: ran.append(n), role="observe")
    assert Diamond().reply(2) == [2, 1, 0] and ran == [2, 1, 0]
    ran.clear()
    assert (
        Base.reply(Diamond(), 0) == [0] and ran == []
    )  # of the MRO, the first hookable alone runs the hooks
    assert Right().reply(0) == [0] and ran == [0]


def test_hooks_of_one_name_on_two_attributes_are_two_hooks(bus, ran):
    class Agent:
        @hookable("act", bus=bus)
        def one(self):
            return self.two()

        @hookable("act", bus=bus)
        def two(self):
            return 2

    bus.signal("pre_act").connect(lambda a: ran.append(1), role="observe")
    assert Agent().one() == 2 and ran == [1, 1]


# -- async -----------------------------------------------------------------------------------------


async def test_an_async_call_takes_receivers_of_both_colours(bus, ran):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            await asyncio.sleep(0)
            return msg

    async def upper(a, msg):
        await asyncio.sleep(0)
        return {"msg": msg.upper()}

    async def around(a, call_next):
        return await call_next() + "!"

    bus.signal("pre_reply").connect(upper)
    bus.signal("pre_reply").connect(lambda a, msg: {"msg": msg + msg})
    bus.signal("around_reply").connect(around)
    bus.signal("around_reply").connect(lambda a, call_next: call_next(), name="sync around")
    assert await Agent().reply("a") == "AA!"


async def test_observers_run_side_by_side_and_are_settled_before_the_call_goes_on(bus, ran):
    both = asyncio.Barrier(2)

    async def observe(a):
        await both.wait()
        ran.append("observed")

    @hookable("reply", bus=bus)
    async def reply():
        ran.append("body")

    bus.signal("pre_reply").connect(observe, role="observe", name="one")
    bus.signal("pre_reply").connect(lambda a: observe(a), role="observe", name="two")
    async with asyncio.timeout(5):
        await reply()
    assert ran == ["observed", "observed", "body"]


async def test_an_async_guard_that_blocks_the_loop_past_its_deadline_has_not_said_yes(bus, ran):
    @hookable("reply", bus=bus)
    async def reply():
        ran.append("body")

    async def guard(f):
        time.sleep(0.03)  # what blocks the loop cannot be interrupted, but its answer is late

    bus.signal("pre_reply").connect(guard, role="guard", timeout=0.01)
    with pytest.raises(HookBlocked, match="TimeoutError"):
        await reply()
    assert ran == []


# -- streams ---------------------------------------------------------------------------------------


@pytest.fixture
def tokens(bus, ran):
    @hookable("tokens", bus=bus)
    def tokens(n):
        try:
            for i in range(n):
                sent = yield i
                ran.append(("sent", sent)) if sent is not None else None
        finally:
            ran.append("closed")
        return "done"

    return tokens


def test_items_are_changed_dropped_and_guarded_before_they_leave(bus, tokens, ran):
    bus.signal("item_tokens").connect(lambda f, item: Drop() if item == 1 else item * 10)
    bus.signal("item_tokens").connect(lambda f, item: ran.append(("guard", item)), role="guard")
    assert list(tokens(3)) == [0, 20]
    assert ran == [("guard", 0), ("guard", 20), "closed"]


def test_a_blocked_item_ends_the_stream_and_closes_the_method(bus, tokens, ran):
    bus.signal("item_tokens").connect(
        lambda f, item: Block("enough") if item == 2 else None, role="guard"
    )
    got = []
    with pytest.raises(HookBlocked, match="enough"):
        for item in tokens(9):
            got.append(item)
    assert got == [0, 1] and ran == ["closed"]


def test_a_block_with_a_result_yields_it_last(bus, tokens, ran):
    bus.signal("item_tokens").connect(
        lambda f, item: Block("enough", result="cut") if item == 1 else None
    )
    assert list(tokens(9)) == [0, "cut"]
    bus.signal("pre_tokens").connect(lambda f: Block("not at all", result="nothing"), role="guard")
    assert list(tokens(9)) == ["nothing"]


def test_post_sees_what_a_generator_returned_and_may_change_it(bus, tokens):
    bus.signal("post_tokens").connect(lambda f, result: result.upper())

    def consume():
        return (yield from tokens(1))

    stream = consume()
    assert next(stream) == 0
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == "DONE"


def test_a_consumer_that_leaves_early_closes_the_method_and_finally_still_runs(bus, tokens, ran):
    bus.signal("post_tokens").connect(lambda f: ran.append("post"))
    bus.signal("finally_tokens").connect(lambda f, ctx: ran.append(ctx.outcome))
    stream = tokens(9)
    next(stream)
    stream.close()
    assert ran == ["closed", "cancelled"]


def test_send_and_throw_reach_the_method(bus, tokens, ran):
    bus.signal("item_tokens").connect(lambda f, item: None)
    stream = tokens(3)
    next(stream)
    stream.send("hello")
    with pytest.raises(KeyError):
        stream.throw(KeyError("thrown"))
    assert ran == [("sent", "hello"), "closed"]


def test_an_around_of_a_stream_is_a_generator_and_item_receivers_see_what_leaves_it(
    bus, tokens, ran
):
    def around(f, call_next):
        for item in call_next():
            yield item + 100
        yield "extra"

    bus.signal("around_tokens").connect(around)
    bus.signal("item_tokens").connect(lambda f, item: ran.append(item), role="observe")
    assert list(tokens(2)) == [100, 101, "extra"]
    assert ran == [100, "closed", 101, "extra"] or ran == [100, 101, "closed", "extra"]


def test_replace_and_a_rescue_of_a_stream_give_their_items(bus, ran):
    @hookable("tokens", bus=bus)
    def tokens():
        yield 1
        raise LookupError

    bus.signal("item_tokens").connect(lambda f, item: item * 10)
    bus.signal("error_tokens").connect(lambda f, error: Replace([2, 3]))
    assert list(tokens()) == [10, 20, 30]
    bus.signal("pre_tokens").connect(lambda f: Replace(iter([7])))
    assert list(tokens()) == [70]


async def test_an_async_stream_is_told_as_a_sync_one(bus, ran):
    class Agent:
        @hookable("tokens", bus=bus)
        async def tokens(self, n):
            try:
                for i in range(n):
                    yield i
            finally:
                ran.append("closed")

    async def around(a, call_next):
        async for item in call_next():
            yield item + 1

    async def double(a, item):
        return item * 2

    bus.signal("around_tokens").connect(around)
    bus.signal("item_tokens").connect(double)
    bus.signal("finally_tokens").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert [item async for item in Agent().tokens(3)] == [2, 4, 6]
    stream = Agent().tokens(9)
    assert await anext(stream) == 2
    await stream.aclose()
    assert ran == ["closed", "returned", "closed", "cancelled"]


async def test_a_coroutine_that_is_closed_half_way_still_ends_as_cancelled(bus, ran):
    class Pause:
        def __await__(self):
            yield

    @hookable("reply", bus=bus)
    async def reply():
        try:
            await Pause()
        finally:
            ran.append("closed")

    async def later(f):
        ran.append("never: nothing can be awaited any more")

    bus.events.connect(
        lambda bus, event: ran.append(event.outcome) if isinstance(event, events.Finished) else None
    )
    bus.signal("finally_reply").connect(lambda f, ctx: ran.append("observed"), name="sync")
    bus.signal("finally_reply").connect(later, name="async")
    call = reply()
    call.send(None)
    call.close()
    assert ran == ["closed", "observed", "cancelled"]


def test_an_abandoned_stream_in_a_circle_still_tells_its_end(bus, tokens, ran):
    import gc

    told = []
    bus.events.connect(lambda bus, event: told.append(event))
    bus.signal("finally_tokens").connect(lambda f, ctx: ran.append(ctx.outcome))
    stream = tokens(9)
    next(stream)
    circle = [stream]
    circle.append(circle)
    del stream, circle
    gc.collect()
    assert [event.outcome for event in told if isinstance(event, events.Finished)] == ["cancelled"]
    assert sorted(ran) == ["cancelled", "closed"]
