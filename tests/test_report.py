"""explain and report answer, in one line each: who runs, in what order, what broke, and what will
never fire.
"""

import asyncio
import os
import threading
from typing import Literal

import pytest

from hookbus import Block, Bus, HookError, explain, hookable, hookspec, modes, report
from hookbus._calls.writer import TOOLS

from .guarantees._colours import make_agent


@pytest.fixture
def bus():
    return Bus(timeout=5.0)


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, mode: Literal["fast", "slow"] = "fast"):
            return msg

    return Agent


def shout(agent, msg):
    return {"msg": msg.upper()}


def refuse(agent, msg):
    return Block("no <b>way</b>") if msg == "BAD" else None


def look(agent):
    return None


def connect_three(bus, Agent):
    bus.signal("pre_reply").connect(look, role="observe", priority=99)
    bus.signal("pre_reply").connect(refuse, sender=Agent, role="guard", timeout=2.0)
    bus.signal("pre_reply").connect(shout, sender=Agent)
    bus.signal("finally_reply").connect(look)


def test_explain_lists_who_runs_in_the_order_they_run(bus, Agent):
    agent, ran = Agent(), []
    connect_three(bus, Agent)
    rows = explain(agent.reply)
    assert [(row.phase, row.position, row.receiver, row.role) for row in rows] == [
        ("pre", 1, "shout", "modify"), ("pre", 2, "refuse", "guard"), ("pre", 3, "look", "observe"),
        ("finally", 1, "look", "observe"),
    ]  # fmt: skip
    assert [(row.scope, row.on_error, row.timeout) for row in rows[:3]] == [
        ("class Agent".replace("Agent", Agent.__qualname__), "isolate", 5.0),
        (f"class {Agent.__qualname__}", "block", 2.0), ("ANY", "isolate", 5.0),
    ]  # fmt: skip
    assert rows[0].where == f"{__file__}:{shout.__code__.co_firstlineno}"
    assert ran == []


def test_explain_reads_as_text_and_as_html(bus, Agent):
    assert (
        "no receivers are connected" in str(explain(Agent().reply))
        and "no receivers are connected" in explain(Agent().reply)._repr_html_()
    )
    connect_three(bus, Agent)
    text, page = str(explain(Agent().reply)), explain(Agent().reply)._repr_html_()
    for part in ("reply of", "shout", "guard", "timeout 2 s", os.path.relpath(__file__)):
        assert part in text and part in page
    assert page.count("<tr>") == 5 and "<script" not in page


def test_explain_of_a_method_seen_from_its_class_speaks_of_any_instance(bus, Agent):
    connect_three(bus, Agent)
    Agent().reply("a")
    assert [row.receiver for row in explain(Agent.reply)] == ["shout", "refuse", "look", "look"]


def test_explain_refuses_what_is_not_hookable(bus):
    with pytest.raises(HookError, match="is not hookable: decorate it"):
        explain(look)


def test_report_counts_what_fired_failed_and_failed_open(bus, Agent):
    def broken(agent):
        raise KeyError("SECRET")

    bus.signal("pre_reply").connect(broken)
    bus.signal("pre_reply").connect(look, role="observe")
    bus.signal("post_reply").connect(shout, sender=Agent)
    Agent().reply("a"), Agent().reply("b")
    rows = {row["receiver"].rpartition(".")[2]: row for row in report(bus).receivers}
    assert (rows["broken"]["failures"], rows["broken"]["failed open"], rows["look"]["state"]) == (
        2, 2, "fired",
    )  # fmt: skip
    here = f"{os.path.relpath(__file__)}:{broken.__code__.co_firstlineno + 1}"
    assert f"KeyError at {here}" in " ".join(str(report(bus)).split())
    assert "SECRET" not in str(report(bus)) + report(bus)._repr_html_()


def test_report_lists_hooks_and_says_what_nobody_emits_and_what_never_fired(bus, Agent):
    bus.signal("pre_replay").connect(look)
    bus.signal("per_reply").connect(look)
    bus.signal("pre_reply").connect(look)
    said = report(bus)
    assert [(row["hook"], row["kind"], row["receivers"]) for row in said.hooks] == [
        ("reply", "sync", 1)
    ]
    findings = "\n".join(said.findings)
    assert "nothing emits pre_replay" in findings and "did you mean 'pre_reply'" in findings
    assert "nothing emits per_reply" in findings
    assert "never fired: look" in findings


def test_report_says_which_modifier_should_be_a_guard(bus, Agent):
    bus.signal("pre_reply").connect(refuse)
    with pytest.raises(HookError):
        Agent().reply("BAD")
    assert any(
        "fails open: connect it with role" in finding for finding in report(bus).findings
    )


def test_report_says_which_guard_failed_and_what_of(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: 1 / 0, role="guard", name="broken", weak=False)
    with pytest.raises(HookError):
        Agent().reply("hi")
    (finding,) = report(bus).findings
    assert (
        "broken" in finding
        and "failed and stopped the call once: ZeroDivisionError at" in finding
    )


def test_report_says_which_matcher_can_never_match(bus, Agent):
    bus.signal("pre_reply").connect(look, when={"mode": "quick*"}, name="never")
    bus.signal("pre_reply").connect(shout, when={"mode": "f*"}, name="sometimes")
    bus.signal("pre_late").connect(look, when={"tool": "bash*"}, name="missing")

    @hookable("late", bus=bus)
    def late(tool_name):
        return tool_name

    never = [finding for finding in report(bus).findings if "can never match" in finding]
    assert len(never) == 2 and "never" in never[1] and "missing" in never[0]


def test_report_says_which_name_in_before_and_after_nobody_has(bus, Agent):
    bus.signal("pre_reply").connect(look, before="shuot")
    bus.signal("pre_reply").connect(shout)
    assert any(
        "names 'shuot'" in finding and "did you mean 'shout'" in finding
        for finding in report(bus).findings
    )


def test_report_says_which_optional_argument_is_probably_a_typo(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent, mgs=None: None, role="guard", name="typo")
    assert any(
        "always gets its default for 'mgs'; did you mean 'msg'" in finding
        for finding in report(bus).findings
    )


def test_an_empty_bus_reports_as_text_and_html(bus):
    assert (
        "no hooks are declared" in str(report(Bus()))
        and "no receivers are connected" in report(Bus())._repr_html_()
    )


def test_explain_prints_the_function_that_runs_the_calls_and_says_whose_turn_is_which():
    bus = Bus()

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    @bus.signal("pre_reply").connect_via(Agent)
    def shorten(agent, msg):
        return {"msg": msg[:3]}

    agent = Agent()
    text = str(explain(agent.reply, source=True))
    assert agent.reply("hello") == "hel"
    assert "# r0: " in text and "shorten" in text
    assert "# seat0: " in text and "shorten on pre_reply" in text
    assert "answer = r0(self, msg)" in text
    assert "answer =" not in str(explain(agent.reply))
    assert "<pre>" in explain(agent.reply, source=True)._repr_html_()


def test_the_function_of_a_guarded_call_mentions_approvals_only_if_there_is_an_approver():
    bus = Bus()

    @hookable("pay", bus=bus)
    def pay(amount):
        return amount

    bus.signal("pre_pay").connect(lambda _, amount: None, role="guard")
    assert "asking" not in str(explain(pay, source=True))
    bus.approver(lambda request: None)
    assert "asking.approve(" in str(explain(pay, source=True))


def test_receivers_that_are_called_in_a_loop_are_counted_in_the_source():
    bus = Bus()

    @hookable("pay", bus=bus)
    def pay(amount):
        return amount

    for number in range(14):
        bus.signal("pre_pay").connect(lambda pay, number=number: None, role="guard")
    pay(3)
    for _ in range(2):  # before and after the receivers were called
        text = str(explain(pay, source=True))
        assert "# many0: 14 similar receivers, called in a loop" in text
        assert "for seat, receiver in many0:" in text


def test_explain_prints_the_function_that_asks_a_question():
    @hookspec(modes.firstresult, bus=Bus())
    def price(item: str) -> float: ...

    @price.connect
    def listed(item):
        return 2.0

    text = str(explain(price, source=True))
    assert price("tea") == 2.0
    assert "# r0: " in text and "listed" in text
    assert "answer = r0(item)" in text
    price.connect(lambda item: 3.0, priority=1)
    assert "answer = r1(item)" in str(explain(price, source=True))


def test_report_counts_the_overdue_workers_of_its_own_bus_only(bus, Agent):
    release = threading.Event()

    def hang(agent):
        release.wait(10)

    bus.signal("pre_reply").connect(hang, timeout=0.05)
    Agent().reply("a")
    try:
        assert any("past their receiver's deadline" in finding for finding in report(bus).findings)
        assert not any("deadline" in finding for finding in report(Bus()).findings)
    finally:
        release.set()


# -- what can never be meant so --------------------------------------------------------------------

COLOURS = ["sync", "async"]


def finding(bus, part):
    """Return the one finding that has this part."""
    found = [each for each in report(bus).findings if part in each]
    assert len(found) == 1, report(bus).findings
    return found[0]


def answer(agent, colour, msg="hi"):
    return agent.reply(msg) if colour == "sync" else asyncio.run(agent.reply(msg))


@pytest.fixture(params=COLOURS)
def colour(request):
    return request.param


@pytest.fixture
def agent(bus, colour):
    return make_agent(bus, colour)


def test_report_says_that_a_receiver_waits_for_a_class_without_the_hook(bus, agent, colour):
    class Other:
        pass

    class Base:
        pass

    class Child(Base, type(agent)):
        pass

    bus.signal("pre_reply").connect(look, sender=Other, role="guard", name="lost")
    bus.signal("pre_reply").connect(look, sender=Other(), name="gone with its sender")
    bus.signal("pre_reply").connect(look, sender=Base, name="of a mixin")
    bus.signal("pre_reply").connect(look, sender=type(agent), name="in place")
    bus.signal("pre_reply").connect(look, sender=agent, name="own")
    answer(Child(), colour), answer(agent, colour)
    said = finding(bus, "never fired: lost")
    assert "it is connected to class" in said and "Other, which has no hookable 'reply'; " in said
    assert said.endswith(f"{type(agent).__qualname__} has")
    assert not any("no hookable" in each and "lost" not in each for each in report(bus).findings)


def test_report_says_that_a_hook_lives_on_another_bus(bus, agent):
    other = Bus()
    other.signal("pre_reply").connect(look, role="guard")
    assert "a hook 'reply' is on another bus" in finding(other, "nothing emits pre_reply")
    assert not any("another bus" in each for each in report(bus).findings)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("prereply", "pre_reply"), ("before_reply", "pre_reply"), ("after_reply", "post_reply"),
        ("per_reply", "pre_reply"), ("pre_replay", "pre_reply"), ("on_reply", "pre_reply"),
    ],
)  # fmt: skip
def test_report_says_what_a_signal_that_nobody_emits_was_meant_to_be(bus, agent, name, meant):
    bus.signal(name).connect(look)
    said = finding(bus, f"nothing emits {name}")
    assert f"did you mean {meant!r}?" in said
    assert ("the phases are pre, around, item" in said) == (name != "pre_replay")


def test_report_names_arguments_that_are_called_like_what_a_phase_offers(bus):
    class Agent:
        @hookable("odd", bus=bus)
        async def odd(self, ctx, result=None, *, error=None, item=None, fine=None):
            return result

    found = [each for each in report(bus).findings if "has an argument named" in each]
    assert len(found) == 4
    assert all(f"ctx.kwargs[{name!r}]" in text for name, text in zip(
        ["ctx", "result", "error", "item"], found
    ))  # fmt: skip


def test_report_names_what_one_line_connected_several_times(bus, agent):
    def again():
        bus.signal("pre_reply").connect(lambda agent: None, name="again")

    class Plugin:
        def look(self, agent):
            return None

    for _ in range(3):
        again()
        bus.signal("pre_reply").connect(Plugin().look)
        bus.signal("post_reply").connect(look)
    assert "is connected 3 times to pre_reply: connect it once" in finding(bus, "times to")


def test_report_names_what_was_held_weakly_and_died_before_its_first_turn(bus, agent, colour):
    signal = bus.signal("pre_reply")
    for _ in range(2):
        signal.connect(lambda agent: None, weak=True, name="lost")
    assert "lost" in finding(bus, "garbage collected before any call, and 1 more: keep")

    def kept(agent):
        return None

    signal = bus.signal("post_reply")
    signal.connect(kept, weak=True)
    answer(agent, colour)
    del kept
    assert not any("kept" in each for each in report(bus).findings)


class Clock:
    """A clock that a receiver moves on."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    moved = Clock()
    monkeypatch.setattr("time.perf_counter", moved)
    monkeypatch.setitem(TOOLS, "clock", moved)
    return moved


@pytest.mark.seconds
@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
@pytest.mark.parametrize("is_async", [False, True])
def test_report_names_an_observer_without_a_deadline_that_holds_calls_up(
    clock, colour, others, phase, is_async
):
    if is_async and colour == "sync":
        pytest.skip("such a receiver is refused")

    def slow(agent):
        clock.now += 0.3

    async def slow_async(agent):
        clock.now += 0.3

    bus = Bus()
    agent = make_agent(bus, colour)
    bus.signal(f"{phase}_reply").connect(slow_async if is_async else slow, role="observe")
    for i in range(others):
        bus.signal(f"{phase}_reply").connect(look, role="observe", name=f"fast {i}", priority=i)
        bus.signal(f"{phase}_reply").connect(lambda a: None, role="observe", timeout=9, name=f"{i}")
    for _ in range(12):
        answer(agent, colour)
    assert "delayed a call, 8 times, for 0.3 s: give it a timeout=" in finding(bus, "delayed a")


@pytest.mark.seconds
def test_an_awaited_observer_is_not_named_for_what_one_beside_it_does(clock):
    async def blocks(agent):
        clock.now += 0.3

    async def quick(agent):
        return None

    bus = Bus()
    agent = make_agent(bus, "async")
    for receiver in (blocks, quick):
        bus.signal("pre_reply").connect(receiver, role="observe", name=receiver.__name__)
    asyncio.run(agent.reply("hi"))
    assert finding(bus, "delayed a call").startswith("blocks (")


def make_arounds():
    def forgets_return(agent, call_next):
        call_next()

    async def forgets_return_async(agent, call_next):
        await call_next()

    async def forgets_await(agent, call_next):
        return call_next()

    async def forgets_both(agent, call_next):
        call_next()

    def right(agent, call_next):
        return call_next()

    def chooses(agent, call_next):
        return call_next() if agent is not None else None

    async def right_async(agent, call_next):
        if agent is None:
            return None
        return await call_next()

    return locals()


@pytest.mark.parametrize(
    ("colour", "name", "says"),
    [
        ("sync", "forgets_return", "never returns the result of call_next: write return call_next"),
        ("async", "forgets_return_async", "never returns the result of call_next: write return a"),
        ("async", "forgets_await", "never awaits what call_next returns: write return await"),
        ("async", "forgets_both", "never awaits what call_next returns: write return await"),
        ("sync", "right", None), ("sync", "chooses", None), ("async", "right", None),
        ("async", "right_async", None),
    ],
)  # fmt: skip
def test_report_names_an_around_that_loses_what_call_next_gives(bus, colour, name, says):
    agent = make_agent(bus, colour)
    bus.signal("around_reply").connect(make_arounds()[name])
    found = [each for each in report(bus).findings if "never returns" in each or "awaits" in each]
    del agent  # a class that is gone by now has no hook to lose anything
    assert len(found) == (says is not None) and (says is None or says in found[0])


def test_an_around_may_return_nothing_where_the_method_does(bus):
    class Agent:
        @hookable("note", bus=bus)
        def note(self, msg):
            print(msg)

    bus.signal("around_note").connect(make_arounds()["forgets_return"])
    assert not any("never returns" in each for each in report(bus).findings)


def test_an_around_that_returns_call_next_without_awaiting_it_fails_in_words(bus):
    agent = make_agent(bus, "async")
    bus.signal("around_reply").connect(make_arounds()["forgets_await"])
    with pytest.raises(HookError, match="without await; write return await call_next"):
        asyncio.run(agent.reply("hi"))


def test_an_around_that_sometimes_loses_the_result_is_counted_where_changes_are_heard(
    bus, agent, colour
):
    def sometimes(agent, msg, call_next):
        result = call_next()
        return result if msg == "keep" else None

    async def sometimes_async(agent, msg, call_next):
        result = await call_next()
        return result if msg == "keep" else None

    bus.signal("around_reply").connect(sometimes if colour == "sync" else sometimes_async, name="s")
    bus.events.connect(lambda bus, event: None)
    assert answer(agent, colour, "keep") == "keep"
    assert answer(agent, colour) is answer(agent, colour) is None
    assert "returned None, but call_next returned a result, 2 times" in finding(bus, "a result, 2")


def test_who_was_asked_has_fired_and_who_came_after_a_block_has_not(bus, Agent):
    pre = bus.signal("pre_reply")
    pre.connect(lambda agent: None, name="asked", when={"msg": "B*"})
    pre.connect(lambda agent: None, name="passed over", when={"msg": "x"})
    pre.connect(refuse, role="guard", name="blocks")
    pre.connect(lambda agent: None, role="observe", name="came after")
    with pytest.raises(HookError):
        Agent().reply("BAD")
    findings = "\n".join(report(bus).findings)
    assert "never fired: passed over" in findings and "never fired: came after" in findings
    assert "never fired: asked" not in findings and "never fired: blocks" not in findings


def test_who_was_asked_around_for_an_item_or_of_a_failure_has_fired(bus):
    class Streams:
        @hookable("tokens", bus=bus)
        def tokens(self, msg):
            yield msg
            raise LookupError

    def around(agent, call_next):
        yield from call_next()

    bus.signal("around_tokens").connect(around, when={"msg": "a"})
    bus.signal("item_tokens").connect(lambda agent, item: None, name="item")
    bus.signal("error_tokens").connect(lambda agent: None, name="error")
    with pytest.raises(LookupError):
        list(Streams().tokens("a"))
    assert "never fired" not in "\n".join(report(bus).findings)


def test_a_receiver_may_say_what_it_has_found_out_itself(bus):
    def watch(sender):
        return None

    def broken(sender):
        return None

    watch.findings = lambda: ["two accounts have the same name"]
    broken.findings = lambda: 1 / 0
    for receiver in (watch, broken):
        bus.signal("pre_reply").connect(receiver)
    told = "\n".join(report(bus).findings)
    assert "on pre_reply: two accounts have the same name" in told
    assert "on pre_reply has an attribute findings that failed: ZeroDivisionError" in told


def test_a_hook_of_a_class_that_was_made_again_is_one_row(bus):
    def cell():
        class Agent:
            @hookable("reply", bus=bus)
            def reply(self, msg): ...

        return Agent

    kept = [cell(), cell()]
    assert [row["function"] for row in report(bus).hooks] == [kept[0].reply.__qualname__]
