"""What comes, goes, dies or is switched takes effect with the next call, also where generated code runs the calls (G26-G32)."""

from __future__ import annotations

import asyncio
import gc
import re
import traceback
import weakref

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, explain, hookable
from tests.properties.paths import is_compiled

HOT = 20


class Stage:
    """An agent whose calls carry a list, in which everybody who is asked leaves a note; its plan is hot."""

    def __init__(self):
        stage, self.bus = self, Bus()

        class Agent:
            @hookable("think", bus=self.bus)
            def think(self, notes):
                notes.append("body")
                return stage.body(notes)

            @hookable("reply", bus=self.bus)
            async def reply(self, notes):
                notes.append("body")
                return stage.body(notes)

        self.Agent, self.agent = Agent, Agent()
        self.body = lambda notes: notes

    def connect(self, name, /, phase="pre", hook="think", **options):
        def receiver(agent, notes):
            notes.append(name)

        return self.bus.signal(f"{phase}_{hook}").connect(receiver, **options)

    def heat(self, agent=None):
        agent = agent or self.agent
        for _ in range(HOT):
            agent.think([])
        assert is_compiled(agent.think)


@pytest.fixture
def stage():
    stage = Stage()
    stage.connect("first")
    stage.connect("guard", role="guard")
    stage.heat()
    return stage


def test_a_receiver_that_comes_or_goes_is_asked_or_not_from_the_next_call_on(stage):
    for priority in (1, -1):
        second = stage.connect("second", priority=priority)
        expected = ["second", "first"] if priority > 0 else ["first", "second"]
        assert stage.agent.think([]) == [*expected, "guard", "body"]
        stage.heat()
        assert stage.agent.think([]) == [*expected, "guard", "body"]
        stage.bus.signal("pre_think").disconnect(second)
        assert stage.agent.think([]) == ["first", "guard", "body"]
        stage.heat()


@pytest.mark.parametrize("sender", ["the agent", "its class", "anyone"])
def test_a_connection_that_is_switched_off_and_on_says_so_to_the_next_call(stage, sender):
    options = {"the agent": {"sender": stage.agent}, "its class": {"sender": stage.Agent}, "anyone": {}}[sender]
    with stage.bus.signal("pre_think").connected_to(lambda agent, notes: notes.append("switched"), **options) as connection:
        for _ in range(3):
            stage.heat()
            assert "switched" in stage.agent.think([])
            connection.disable()
            assert "switched" not in stage.agent.think([])
            stage.heat()
            assert "switched" not in stage.agent.think([])
            connection.enable()
            assert "switched" in stage.agent.think([])
    assert stage.agent.think([]) == ["first", "guard", "body"]


def test_muting_holds_from_the_next_call_on_and_only_inside_and_never_for_guards(stage):
    for _ in range(3):
        with stage.bus.signal("pre_think").muted():
            assert [stage.agent.think([]) for _ in range(HOT)] == [["guard", "body"]] * HOT
        assert [stage.agent.think([]) for _ in range(HOT)] == [["first", "guard", "body"]] * HOT
    assert is_compiled(stage.agent.think)


@pytest.mark.parametrize("calls_before", range(HOT))
def test_muting_holds_also_for_the_call_with_which_a_plan_would_become_hot(calls_before):
    stage = Stage()
    stage.connect("first")
    for _ in range(calls_before):
        stage.agent.think([])
    with stage.bus.signal("pre_think").muted():
        assert stage.agent.think([]) == ["body"]
    assert stage.agent.think([]) == ["first", "body"]


async def test_muting_in_one_task_leaves_the_hot_calls_of_another_alone(stage):
    stage.connect("first", hook="reply")
    for _ in range(HOT):
        await stage.agent.reply([])

    async def muted():
        with stage.bus.signal("pre_reply").muted():
            await asyncio.sleep(0)
            return [await stage.agent.reply([]) for _ in range(HOT)]

    async def heard():
        await asyncio.sleep(0)
        return [await stage.agent.reply([]) for _ in range(HOT)]

    assert await asyncio.gather(muted(), heard()) == [[["body"]] * HOT, [["first", "body"]] * HOT]


@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
def test_a_receiver_that_is_held_weakly_dies_under_a_hot_plan_and_the_calls_go_on(stage, phase):
    def receiver(agent, notes):
        notes.append("weak")

    stage.bus.signal(f"{phase}_think").connect(receiver, weak=True)
    stage.heat()
    assert "weak" in stage.agent.think([])
    gone = weakref.ref(receiver)
    del receiver
    gc.collect()
    assert gone() is None
    assert stage.agent.think([]) == ["first", "guard", "body"]
    stage.heat()
    assert stage.agent.think([]) == ["first", "guard", "body"]


def test_a_hot_plan_keeps_no_agent_alive_whose_own_method_is_its_receiver():
    stage = Stage()

    class Careful(stage.Agent):
        def careful(self, agent, notes):
            notes.append("own")

    agent = Careful()
    stage.bus.signal("pre_think").connect(agent.careful, sender=agent, role="guard")
    stage.heat(agent)
    assert agent.think([]) == ["own", "body"]
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None
    assert not stage.bus.signal("pre_think").connections()


def test_the_receivers_of_one_agent_are_asked_about_no_other_also_while_they_are_being_connected(stage, monkeypatch):
    other, changed = stage.Agent(), stage.bus._changed

    def late(signal, sender):
        stage.connect_later = [stage.agent.think([]), other.think([])]  # another thread's, just now
        changed(signal, sender)

    stage.bus._muting(stage.bus.signal("pre_think"))  # so that everything has to be looked up
    monkeypatch.setattr(stage.bus, "_changed", late)
    stage.connect("own", sender=stage.agent)
    monkeypatch.undo()
    for _ in range(HOT):
        assert stage.agent.think([]) == ["own", "first", "guard", "body"]
        assert other.think([]) == ["first", "guard", "body"]


def test_a_listener_that_comes_under_a_hot_plan_is_told_of_the_next_call(stage):
    told = []
    listener = stage.bus.events.connect(lambda bus, event: told.append(type(event).__name__))
    stage.agent.think([])
    assert told == ["Started", "Finished"]
    stage.bus.events.disconnect(listener)
    stage.heat()
    assert told == ["Started", "Finished"]
    stage.bus.events.connect(listener)
    stage.agent.think([])
    assert told == ["Started", "Finished"] * 2


def test_who_is_asked_once_is_asked_once_and_the_plan_is_compiled_after(stage):
    stage.connect("once", once=True)
    told = [stage.agent.think([]) for _ in range(HOT)]
    assert told == [["first", "once", "guard", "body"], *[["first", "guard", "body"]] * (HOT - 1)]
    assert is_compiled(stage.agent.think)


def test_super_fires_nothing_again_in_hot_calls_of_either_class(stage):
    class Child(stage.Agent):
        @hookable("think", bus=stage.bus)
        def think(self, notes):
            notes.append("child")
            return super().think(notes)

    child = Child()
    stage.heat(child)
    stage.heat()
    assert child.think([]) == ["first", "guard", "child", "body"]
    assert stage.Agent.think(child, []) == ["first", "guard", "body"]
    stage.connect("of the child", sender=Child)
    for _ in range(HOT):
        assert child.think([]) == ["of the child", "first", "guard", "child", "body"]
        assert stage.agent.think([]) == ["first", "guard", "body"]


async def test_super_fires_nothing_again_in_hot_calls_that_are_awaited():
    stage = Stage()
    stage.connect("first", hook="reply")

    class Child(stage.Agent):
        @hookable("reply", bus=stage.bus)
        async def reply(self, notes):
            notes.append("child")
            return await super().reply(notes)

    child = Child()
    for _ in range(HOT):
        assert await child.reply([]) == ["first", "child", "body"]
    assert is_compiled(child.reply)
    assert await asyncio.create_task(stage.Agent.reply(child, [])) == ["first", "body"]


def test_a_class_is_collected_after_hot_calls_also_with_receivers_on_it(stage):
    class Child(stage.Agent):
        @hookable("think", bus=stage.bus)
        def think(self, notes):
            return super().think(notes)

    stage.connect("of the child", sender=Child)
    stage.heat(Child())
    gone = weakref.ref(Child)
    del Child
    gc.collect()
    assert gone() is None
    assert stage.agent.think([]) == ["first", "guard", "body"]


def test_a_class_made_after_its_parents_receivers_has_them_from_its_first_call_on(stage):
    stage.connect("of the parent", sender=stage.Agent)
    stage.heat()

    class Late(stage.Agent):
        pass

    class Overriding(stage.Agent):
        @hookable("think", bus=stage.bus)
        def think(self, notes):
            notes.append("override")
            return notes

    for _ in range(HOT):
        assert Late().think([]) == ["of the parent", "first", "guard", "body"]
        assert Overriding().think([]) == ["of the parent", "first", "guard", "override"]


def test_explain_names_who_is_asked_in_the_order_they_are_asked():
    stage = Stage()
    for number in range(15):
        stage.connect(f"m{number}", name=f"m{number}", priority=number * 7 % 4, sender=(stage.agent, stage.Agent)[number % 2])
    for number in range(3):
        stage.connect(f"g{number}", name=f"g{number}", role="guard", priority=number)
        stage.connect(f"o{number}", name=f"o{number}", role="observe", after="o2" if number == 0 else ())
        stage.connect(f"p{number}", name=f"p{number}", phase="post", before="p0" if number == 2 else ())
    stage.heat()
    asked = [note for note in stage.agent.think([]) if note != "body"]
    assert [row.receiver for row in explain(stage.agent.think)] == asked
    assert len(asked) == 24


class Broken(Exception):
    pass


def raises(*given, **named):
    raise Broken("on purpose")


def outcome_of(agent):
    """Make a call in which someone raises; return all that its caller can see of it."""
    notes = []
    try:
        return "returned", agent.think(notes), notes
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", []), type(error.__cause__), type(error.__context__), notes


@pytest.mark.parametrize("on_error", ["isolate", "block", "raise"])
@pytest.mark.parametrize("phase", ["pre", "post", "finally", "around", "the body", "the body and finally"])
def test_exceptions_and_notes_are_the_same_in_hot_and_in_cold_calls(phase, on_error):
    def prepared():
        stage = Stage()
        stage.connect("before", priority=1)
        options = {"on_error": on_error} if phase in ("pre", "post") else {}
        for each in ("pre", "around", "post", "finally"):
            if each in phase:
                bad = lambda agent, notes: raises() if stage.is_bad else None  # noqa: E731
                if each == "around":
                    bad = lambda agent, call_next: raises() if stage.is_bad else call_next()  # noqa: E731
                stage.bus.signal(f"{each}_think").connect(bad, name="bad", **options)
        stage.body = lambda notes: raises() if stage.is_bad and "body" in phase else notes
        stage.connect("after", phase="finally")
        stage.is_bad = False
        return stage

    cold, hot = prepared(), prepared()
    hot.heat()
    cold.is_bad = hot.is_bad = True
    by_walk = outcome_of(cold.agent)
    by_code = outcome_of(hot.agent)
    assert by_code == by_walk
    assert by_code[-1][-1:] == ["after"]
    if phase == "the body and finally":
        assert re.fullmatch(r"hookbus: bad \(.*\) failed in finally_think: Broken", *by_code[2])


def lines_of(error):
    return [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def test_the_traceback_of_a_body_that_raises_in_a_hot_call_shows_its_own_lines(stage):
    stage.body = raises
    with pytest.raises(Broken) as caught:
        stage.agent.think([])
    shown = lines_of(caught.value)
    assert shown[-1] == ("raises", 'raise Broken("on purpose")')
    assert ("think", "return stage.body(notes)") in shown
    assert ("think", "_result = _body(self, notes)") in shown


def test_the_traceback_of_a_receiver_that_raises_in_a_hot_call_shows_the_generated_line():
    stage, is_bad = Stage(), []
    stage.bus.signal("pre_think").connect(lambda agent: raises() if is_bad else None, on_error="raise")
    stage.heat()
    is_bad.append(True)
    with pytest.raises(Exception) as caught:
        stage.agent.think([])
    shown = lines_of(caught.value.__cause__)
    assert shown[-1] == ("raises", 'raise Broken("on purpose")')
    assert ("think", "_answer = _r0(self)") in shown


def test_verdicts_of_hot_calls_are_those_of_cold_ones(stage):
    answers = iter([Block("no"), Replace("instead"), Block("no", result="as text"), {"notes": ["patched"]}, None])
    stage.bus.signal("pre_think").connect(lambda agent, notes: next(answers) if "ask" in notes else None)
    stage.heat()
    with pytest.raises(HookBlocked, match="no"):
        stage.agent.think(["ask"])
    assert stage.agent.think(["ask"]) == "instead"
    assert stage.agent.think(["ask"]) == "as text"
    assert stage.agent.think(["ask"]) == ["patched", "guard", "body"]
    assert stage.agent.think(["ask"]) == ["ask", "first", "guard", "body"]
    assert is_compiled(stage.agent.think)


@pytest.mark.parametrize("count", [11, 12, 40], ids=["written out", "just a loop", "a loop"])
@pytest.mark.parametrize("phase", ["pre", "post"])
def test_among_many_alike_each_is_asked_once_and_only_who_failed_has_failed(count, phase):
    stage, bad = Stage(), set()

    def receiver(number):
        def runs(agent, notes):
            notes.append(number)
            if number in bad:
                raise Broken

        return runs

    signal = stage.bus.signal(f"{phase}_think")
    for number in range(count):
        signal.connect(receiver(number))
    stage.heat()
    for number in range(count):
        bad = {number}
        assert [note for note in stage.agent.think([]) if note != "body"] == [*range(count)]
    bad = set()
    stage.body = raises
    with pytest.raises(Broken):
        stage.agent.think([])
    assert is_compiled(stage.agent.think)
    assert [receiver.failures for receiver in signal.connections()] == [1] * count


def test_call_next_is_refused_once_its_around_has_ended_also_for_the_inner_one():
    stage, kept = Stage(), []

    def keeps(agent, call_next):
        kept.append(call_next)
        return call_next()

    for around in (keeps, lambda agent, call_next: keeps(agent, call_next)):
        stage.bus.signal("around_think").connect(around)
    stage.heat()
    kept.clear()
    assert stage.agent.think([]) == ["body"]
    for call_next in kept:
        with pytest.raises(HookError, match="after its around had ended"):
            call_next()
    assert len(kept) == 2


async def test_call_next_is_refused_once_its_around_has_ended_also_where_it_is_awaited():
    stage, kept = Stage(), []

    async def keeps(agent, call_next):
        kept.append(call_next)
        return await call_next()

    async def keeps_too(agent, call_next):
        return await keeps(agent, call_next)

    for each in (keeps, keeps_too):
        stage.bus.signal("around_reply").connect(each)
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    for call_next in kept[-2:]:
        with pytest.raises(HookError, match="after its around had ended"):
            await call_next()


def test_an_around_that_fails_inside_another_is_counted_also_where_the_outer_one_catches_it():
    stage, bad = Stage(), []

    def catches(agent, call_next):
        try:
            return call_next()
        except Broken:
            return "caught"

    def breaks(agent, call_next):
        return raises() if bad else call_next()

    outer = stage.bus.signal("around_think").connect(catches)
    inner = stage.bus.signal("around_think").connect(breaks)
    stage.heat()
    bad.append(True)
    assert stage.agent.think([]) == "caught"
    failures = {receiver.function: receiver.failures for receiver in stage.bus.signal("around_think").connections()}
    assert failures == {outer: 0, inner: 1}


async def test_an_observer_that_fails_beside_others_is_counted_and_harms_none():
    stage, bad, ran = Stage(), [], []

    def observer(number):
        async def looks(agent):
            await asyncio.sleep(0)
            if number in bad:
                raise Broken
            ran.append(number)

        return looks

    for number in range(3):
        stage.bus.signal("pre_reply").connect(observer(number), role="observe")
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    ran.clear()
    bad.append(1)
    assert await stage.agent.reply([]) == ["body"]
    assert ran == [0, 2]
    assert [receiver.failures for receiver in stage.bus.signal("pre_reply").connections()] == [0, 1, 0]


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
def test_what_the_method_raises_is_no_failure_of_the_arounds_it_passes_and_the_context_of_what_they_raise(is_hot):
    stage = Stage()

    def passes(agent, call_next):
        return call_next()

    def swallows(agent, call_next):
        try:
            return call_next()
        except Broken:
            pass
        raise LookupError("the around's own")

    signal = stage.bus.signal("around_think")
    for around in (passes, swallows, lambda agent, call_next: call_next()):
        signal.connect(around)
    if is_hot:
        stage.heat()
    stage.body = raises
    with pytest.raises(LookupError) as caught:
        stage.agent.think([])
    assert isinstance(caught.value.__context__, Broken)
    assert [receiver.failures for receiver in signal.connections()] == [0, 1, 0]
    signal.disconnect(swallows)
    if is_hot:
        stage.body = lambda notes: notes
        stage.heat()
        stage.body = raises
    with pytest.raises(Broken):
        stage.agent.think([])
    assert [receiver.failures for receiver in signal.connections()] == [0, 0]


@pytest.mark.parametrize("phase", ["pre", "around", "an inner around", "post"])
async def test_a_cancellation_that_a_receiver_swallows_goes_through_in_hot_calls(phase):
    stage, is_patient = Stage(), False

    async def waits():
        if is_patient:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass

    async def swallows(agent):
        await waits()

    async def swallows_around(agent, call_next):
        result = await call_next()
        await waits()
        return result

    async def outer(agent, call_next):
        return await call_next()

    if "inner" in phase:
        stage.bus.signal("around_reply").connect(outer)
    if "around" in phase:
        stage.bus.signal("around_reply").connect(swallows_around)
    else:
        stage.bus.signal(f"{phase}_reply").connect(swallows)
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    is_patient = True
    task = asyncio.create_task(stage.agent.reply([]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
