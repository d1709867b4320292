"""HookSignal: what a blinker user knows keeps working, and each hazard H1..H16 of blinker 1.9 is
closed.
"""

import asyncio
import functools
import gc
import inspect
import threading
import weakref

import blinker
import pytest

from hookbus import (
    ANY,
    Block,
    Bus,
    Connection,
    HookBlocked,
    HookError,
    HookSignal,
    Replace,
    events,
    explain,
    hookable,
    report,
)


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

        @hookable("think", bus=bus)
        async def think(self, msg):
            return msg

        def note(self, agent, msg):
            self.noted = msg

    return Agent


# -- as blinker users know it ----------------------------------------------------------------------


def test_a_signal_is_a_blinker_named_signal_made_once_per_name(bus):
    assert isinstance(bus.signal("pre_reply"), blinker.NamedSignal)
    assert isinstance(bus.signal("pre_reply"), HookSignal)
    assert bus.signal("pre_reply") is bus.signal("pre_reply")
    assert bus.signal("pre_reply").name == "pre_reply"
    assert ANY is blinker.ANY


def test_connect_returns_the_receiver_and_send_gives_pairs(bus):
    signal = bus.signal("greeting")

    def receiver(sender, **kwargs):
        return sender, kwargs

    assert signal.connect(receiver) is receiver
    assert signal.receivers
    assert signal.send("me", a=1) == [(receiver, ("me", {"a": 1}))]
    assert list(signal.receivers_for("me")) == [receiver]
    signal.disconnect(receiver)
    assert signal.send("me") == [] and not signal.receivers


def test_send_lets_an_exception_out_and_refuses_coroutines_as_blinker_does(bus):
    signal = bus.signal("greeting")

    async def later(sender):
        return 1

    signal.connect(later)
    with pytest.raises(RuntimeError, match="coroutine function"):
        signal.send("me")
    assert signal.send("me", _async_wrapper=lambda f: lambda s: asyncio.run(f(s))) == [(later, 1)]
    assert asyncio.run(signal.send_async("me")) == [(later, 1)]
    signal.connect(lambda sender: 2, name="plain")
    with pytest.raises(RuntimeError, match="non-coroutine"):
        asyncio.run(signal.send_async("me"))


def test_connect_via_decorates_for_one_sender(bus, Agent):
    agent, other = Agent(), Agent()

    @bus.signal("pre_reply").connect_via(agent)
    def loud(sender, msg):
        return {"msg": msg.upper()}

    assert (agent.reply("a"), other.reply("a")) == ("A", "a")


def test_receiver_connected_and_disconnected_are_told(bus):
    signal = bus.signal("greeting")
    told = []
    signal.receiver_connected.connect(
        lambda s, **kwargs: told.append(("connected", kwargs)), weak=False
    )
    signal.receiver_disconnected.connect(
        lambda s, **kwargs: told.append(("disconnected", kwargs)), weak=False
    )

    def receiver(sender):
        pass

    signal.connect(receiver)
    signal.disconnect(receiver)
    assert told == [
        ("connected", {"receiver": receiver, "sender": ANY, "weak": False}),
        ("disconnected", {"receiver": receiver, "sender": ANY}),
    ]


def test_plain_blinker_receivers_get_every_argument_by_name(bus, Agent):
    seen = []
    bus.signal("post_reply").connect(lambda sender, **kwargs: seen.append(kwargs))
    Agent().reply("a")
    assert seen == [{"msg": "a", "result": "a"}]


def test_has_receivers_for_and_clear_state(bus, Agent):
    signal = bus.signal("pre_reply")
    agent = Agent()
    signal.connect(lambda agent: None, sender=Agent)
    assert signal.has_receivers_for(agent) and not signal.has_receivers_for("other")
    signal._clear_state()
    assert not signal.has_receivers_for(agent) and not signal.receivers
    assert agent.reply("a") == "a"


# -- the hazards -----------------------------------------------------------------------------------


def test_H1_lambdas_closures_partials_and_methods_of_temporaries_stay(bus, Agent):
    fired = []

    class Recorder:
        def on_reply(self, agent):
            fired.append("method")

    def make():
        def closure(agent):
            fired.append("closure")

        return closure

    partial = functools.partial(lambda tag, a: fired.append(tag), "partial")
    for receiver in (lambda a: fired.append("lambda"), make(), partial, Recorder().on_reply):
        bus.signal("pre_reply").connect(receiver, role="observe")
    del receiver, partial
    gc.collect()
    Agent().reply("a")
    assert fired == ["lambda", "closure", "partial", "method"]


def test_H3_a_raising_observer_never_keeps_the_audit_from_running(bus, Agent):
    audit = []
    for position in range(3):
        bus.signal("pre_reply").connect(lambda agent, n=position: 1 / 0, role="observe")
    bus.signal("pre_reply").connect(lambda agent: audit.append(1), role="observe")
    agent = Agent()
    for _ in range(200):
        assert agent.reply("a") == "a"
    assert len(audit) == 200


class AsyncCallable:
    async def __call__(self, agent):
        return None


def test_H4_an_async_callable_on_a_sync_method_is_refused_at_connect(bus, Agent):
    for receiver in (AsyncCallable(), functools.partial(AsyncCallable()), AsyncCallable().__call__):
        with pytest.raises(HookError, match="is async, but reply is a plain def"):
            bus.signal("pre_reply").connect(receiver, sender=Agent)
    assert not bus.signal("pre_reply").receivers


def test_H4_where_it_cannot_be_known_it_fails_by_its_role_and_no_coroutine_is_an_answer(bus, Agent):
    bus.signal("post_reply").connect(lambda agent: AsyncCallable()(agent))
    assert Agent().reply("a") == "a"
    bus.signal("pre_reply").connect(lambda agent: AsyncCallable()(agent), role="guard")
    with pytest.raises(HookBlocked):
        Agent().reply("a")


async def test_H5_muting_in_one_task_leaves_guards_and_other_tasks_alone(bus, Agent):
    fired, agent = [], Agent()
    bus.signal("pre_think").connect(lambda a, msg: fired.append(("guard", msg)), role="guard")
    bus.signal("pre_think").connect(lambda a, msg: fired.append(("observer", msg)), role="observe")
    inside, outside = asyncio.Event(), asyncio.Event()

    async def muter():
        with bus.signal("pre_think").muted():
            with bus.signal("pre_think").muted():
                pass
            inside.set()
            await outside.wait()
            await agent.think("muted")
            assert bus.signal("pre_think").is_muted
        assert not bus.signal("pre_think").is_muted

    task = asyncio.create_task(muter())
    await inside.wait()
    await agent.think("other task")
    outside.set()
    await task
    await agent.think("afterwards")
    assert fired == [
        ("guard", "other task"), ("observer", "other task"), ("guard", "muted"),
        ("guard", "afterwards"), ("observer", "afterwards"),
    ]  # fmt: skip


def test_H5_a_muted_signal_is_not_muted_for_tasks_started_inside_or_for_other_threads(bus, Agent):
    fired, agent = [], Agent()
    bus.signal("pre_reply").connect(lambda a, msg: fired.append(msg), role="observe")
    with bus.signal("pre_reply").muted():
        thread = threading.Thread(target=agent.reply, args=("thread",))
        thread.start()
        thread.join()
        agent.reply("muted")
        assert bus.signal("pre_reply").send(agent, msg="sent") == []

        async def main():
            await asyncio.create_task(asyncio.to_thread(agent.reply, "inner task"))

        asyncio.run(main())
    assert fired == ["thread", "inner task"]


def test_H5_a_shared_mute_flag_cannot_be_set(bus):
    with pytest.raises(HookError, match="in every task"):
        bus.signal("pre_reply").is_muted = True


def test_H6_leaving_connected_to_removes_only_its_own_connection(bus, Agent):
    signal, agent = bus.signal("pre_reply"), Agent()

    def tag(a, msg):
        return {"msg": msg + "!"}

    signal.connect(tag, sender=Agent, name="permanent", priority=3)
    with signal.connected_to(tag, sender=Agent, name="temporary", priority=9) as connection:
        assert isinstance(connection, Connection)
        rows = [(row.receiver, row.priority) for row in explain(agent.reply)]
        assert rows == [("temporary", 9), ("permanent", 3)] and agent.reply("a") == "a!!"
    assert [(row.receiver, row.priority) for row in explain(agent.reply)] == [("permanent", 3)]
    assert agent.reply("a") == "a!"


@pytest.mark.parametrize("more, times", [({}, 1), ({"priority": 1}, 2)])
def test_H6_a_receiver_with_equal_options_runs_once_and_with_others_again(bus, Agent, more, times):
    signal, agent, ran = bus.signal("pre_reply"), Agent(), []

    def look(sender):
        ran.append(sender)

    signal.connect(look, sender=Agent, role="observe")
    bus.events.connect(look_at := lambda bus, event: ran.append(event), kinds=events.Started)
    with (
        signal.connected_to(look, sender=Agent, role="observe", **more) as handle,
        bus.events.connected_to(look_at, kinds=events.Started, **more),
    ):
        agent.reply("a")
        assert len(ran) == 2 * times
        handle.disable()
        agent.reply("a")
        assert ran.count(agent) == times + 1
    with signal.connected_to(look, sender=Agent, role="observe", **more):
        signal.disconnect(look)
        assert not signal.receivers


def test_H6_a_guard_stays_enforced_when_it_is_connected_again_in_shadow(bus, Agent):
    signal = bus.signal("pre_reply")

    def no(agent):
        return Block("no")

    signal.connect(no, sender=Agent, role="guard")
    with (
        signal.connected_to(no, sender=Agent, role="guard", shadow=True),
        pytest.raises(HookBlocked),
    ):
        Agent().reply("a")


def test_H6_connections_that_end_out_of_order_restore_exactly_what_was_there(bus, Agent):
    signal, agent = bus.signal("pre_reply"), Agent()

    def receiver(a):
        return None

    outer = signal.connected_to(receiver, sender=agent, name="outer")
    inner = signal.connected_to(receiver, sender=agent, name="inner")
    outer.disconnect()
    assert [row.receiver for row in explain(agent.reply)] == ["inner"]
    inner.disconnect()
    inner.disconnect()
    assert not explain(agent.reply).rows and not signal.receivers


def test_H6_who_connects_again_in_an_open_block_changes_what_it_leaves_and_not_the_block(
    bus, Agent
):
    signal, agent = bus.signal("pre_reply"), Agent()

    def receiver(a):
        return Block("no")

    with signal.connected_to(receiver, role="guard"):
        signal.connect(receiver, role="observe", name="again")
        with pytest.raises(HookBlocked):
            agent.reply("a")
    assert [(row.receiver, row.role) for row in explain(agent.reply)] == [("again", "observe")]


def test_H6_an_order_that_could_not_be_once_a_block_has_ended_is_refused_inside_it(bus, Agent):
    signal, agent = bus.signal("pre_reply"), Agent()

    def receiver(a):
        return None

    signal.connect(receiver, name="receiver", before="other")
    with signal.connected_to(receiver, name="receiver"):
        with pytest.raises(HookError, match="form a cycle"):
            signal.connect(lambda a: None, name="other", before="receiver")
        assert agent.reply("a") == "a"
    assert agent.reply("a") == "a"


def test_H7_a_receiver_of_a_dead_agent_never_fires_for_its_successor(bus, Agent):
    fired = []
    for _ in range(200):
        agent = Agent()
        bus.signal("pre_reply").connect(lambda a: fired.append(a), sender=agent, role="observe")
        address = id(agent)
        del agent
        successor = Agent()
        successor.reply("a")
        del successor
    assert fired == [] and address


class Slotted:
    __slots__ = ("x",)


@pytest.mark.parametrize(
    "sender", [0, b"bytes", None, (), Slotted(), 1.5], ids=lambda sender: type(sender).__name__
)
def test_H8_a_sender_that_cannot_be_held_safely_is_refused_before_anything_changes(bus, sender):
    with pytest.raises(HookError, match="cannot be a sender"):
        bus.signal("pre_reply").connect(lambda a: None, sender=sender)
    assert not bus.signal("pre_reply").receivers


def test_H8_the_name_of_a_class_is_no_sender(bus, Agent):
    for connect in (
        lambda: bus.signal("pre_reply").connect(lambda a: None, sender="Agent", role="guard"),
        lambda: bus.signal("pre_reply").connect_via("Agent", role="guard")(lambda a: None),
    ):
        with pytest.raises(HookError, match="'Agent' is a string.*pass the class itself"):
            connect()
    assert not bus.signal("pre_reply").receivers


def test_H8_a_bound_method_is_no_sender(bus, Agent):
    with pytest.raises(HookError, match="a new object each time"):
        bus.signal("pre_reply").connect(lambda a: None, sender=Agent().reply)


def test_H9_a_receiver_that_disconnects_the_guard_does_not_stop_it_in_that_call(bus, Agent):
    signal = bus.signal("pre_reply")

    def guard(agent):
        return Block("closed")

    signal.connect(lambda agent: signal.disconnect(guard))
    for _ in range(200):
        signal.connect(guard, role="guard")
        with pytest.raises(HookBlocked):
            Agent().reply("a")
    assert Agent().reply("a") == "a"


def test_H10_rebinding_the_dict_it_was_given_changes_nothing(bus, Agent):
    seen = []

    def rebind(agent, **kwargs):
        kwargs["msg"] = "forged"

    bus.signal("pre_reply").connect(rebind, role="observe")
    bus.signal("pre_reply").connect(rebind, role="guard", name="rebinding guard")
    bus.signal("pre_reply").connect(lambda agent, msg: seen.append(msg), role="observe")
    assert Agent().reply("a") == "a" and seen == ["a"]


def test_H11_threads_that_connect_disconnect_and_call_raise_nothing_and_lose_nothing(bus, Agent):
    agent, signal, kept, errors = Agent(), bus.signal("pre_reply"), [], []
    signal.connect(lambda a: kept.append(1), role="observe")

    def storm():
        try:
            for _ in range(150):
                with signal.connected_to(lambda a: None, sender=agent):
                    agent.reply("a")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=storm) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert errors == [] and len(kept) == 8 * 150 and len(signal.receivers) == 1


async def test_H12_a_mixed_set_of_receivers_works_on_an_async_method(bus, Agent):
    async def upper(agent, msg):
        return {"msg": msg.upper()}

    bus.signal("pre_think").connect(upper)
    bus.signal("pre_think").connect(lambda agent, msg: {"msg": msg + "!"})
    assert await Agent().think("a") == "A!"


def test_H13_connecting_a_strong_receiver_again_never_makes_it_weak(bus, Agent):
    fired = []
    signal = bus.signal("pre_reply")

    def keep():
        def receiver(agent):
            fired.append(1)

        signal.connect(receiver, role="observe", weak=False)
        signal.connect(receiver, role="observe")

    keep()
    gc.collect()
    Agent().reply("a")
    assert fired == [1]


def test_H14_nothing_remains_of_connections_that_were_taken_back(bus, Agent):
    signal = bus.signal("pre_reply")
    for _ in range(100):
        agent = Agent()
        signal.connect(agent.note, sender=agent)
        agent.reply("a")
        signal.connect(print, sender=agent, role="observe")
        signal.disconnect(print, sender=agent)
        del agent
    gc.collect()
    assert not signal.receivers and not signal.connections() and not signal._registry._own
    assert len(Agent.reply.__hookbus__.table) <= 1 and not Agent.reply.__hookbus__.own_runs


def test_H15_a_method_connected_on_its_own_agent_does_not_keep_it_alive(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

        def check(self, agent, msg):
            return Block("no") if msg == "bad" else None

    agent = Agent()
    bus.signal("pre_reply").connect(agent.check, sender=agent, role="guard")
    gc.collect()
    with pytest.raises(HookBlocked):
        agent.reply("bad")
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None and not bus.signal("pre_reply").receivers


async def test_H16_no_call_reaches_send(bus, Agent, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("send was used for a decision")

    for name in ("send", "send_async"):
        monkeypatch.setattr(HookSignal, name, never)
        monkeypatch.setattr(blinker.Signal, name, never)
    bus.signal("pre_reply").connect(lambda agent: Block("no"), role="guard")
    bus.signal("post_think").connect(lambda agent, result: Replace("yes"))
    with pytest.raises(HookBlocked):
        Agent().reply("a")
    assert await Agent().think("a") == "yes"


# -- handles, options, lifetimes -------------------------------------------------------------------


def test_connecting_again_replaces_the_options_and_keeps_the_place(bus, Agent):
    signal, ran = bus.signal("pre_reply"), []

    def first(agent):
        ran.append("first")

    signal.connect(first, role="observe")
    signal.connect(lambda agent: ran.append("second"), role="observe")
    signal.connect(first, role="observe", name="renamed")
    Agent().reply("a")
    assert ran == ["first", "second"]
    assert [row.receiver for row in explain(Agent().reply)][0] == "renamed"


def test_a_connection_disables_and_enables_exactly_its_own(bus, Agent):
    agent, ran = Agent(), []
    one = bus.signal("pre_reply").connected_to(lambda a: ran.append("one"), role="observe")
    bus.signal("pre_reply").connected_to(lambda a: ran.append("two"), role="observe")
    one.disable()
    agent.reply("a")
    one.enable()
    agent.reply("a")
    assert ran == ["two", "one", "two"]
    assert "lambda" in repr(one)


def test_once_runs_one_time_also_when_many_calls_overlap(bus, Agent):
    ran = []
    bus.signal("pre_reply").connect(lambda a: ran.append(1), role="observe", once=True)
    agent = Agent()
    threads = [threading.Thread(target=agent.reply, args=("a",)) for _ in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    agent.reply("a")
    assert ran == [1] and not bus.signal("pre_reply").receivers


def test_once_runs_one_time_also_in_a_call_that_was_planned_before(bus, Agent):
    agent, ran = Agent(), []
    bus.signal("pre_reply").connect(
        lambda a, msg: a.reply("inner") and None if msg == "outer" else None, priority=1
    )
    bus.signal("pre_reply").connect(lambda a, msg: ran.append(msg), once=True)
    agent.reply("outer")
    assert ran == ["inner"]


def test_a_weakly_held_receiver_that_dies_is_lost_once_and_the_call_goes_on(bus, Agent):
    told = []
    bus.events.connect(lambda bus, event: told.append(event))

    def receiver(agent):
        raise AssertionError

    bus.signal("pre_reply").connect(receiver, weak=True, name="the weak one")
    del receiver
    gc.collect()
    assert Agent().reply("a") == "a"
    lost = [event for event in told if isinstance(event, events.Lost)]
    assert [event.receiver for event in lost] == ["the weak one"]


def test_a_receiver_that_dies_with_its_own_sender_is_not_lost(bus, Agent):
    told = []
    bus.events.connect(lambda bus, event: told.append(event))
    agent = Agent()
    bus.signal("pre_reply").connect(agent.note, sender=agent)
    del agent
    gc.collect()
    assert told == []


def test_receivers_hold_for_the_nearest_scope_first(bus, Agent):
    class Child(Agent):
        pass

    ran, child = [], Child()
    for scope in (ANY, Agent, Child, child):
        label = "ANY" if scope is ANY else getattr(scope, "__name__", "instance")
        bus.signal("pre_reply").connect(
            lambda a, tag=label: ran.append(tag), sender=scope, role="observe"
        )
    child.reply("a")
    assert ran == ["instance", "Child", "Agent", "ANY"]
    ran.clear()
    Agent().reply("a")
    assert ran == ["Agent", "ANY"]


def test_equal_unhashable_and_falsy_agents_are_told_apart_by_identity(bus):
    class Same:
        __hash__ = None

        def __eq__(self, other):
            return True

        def __bool__(self):
            return False

        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    fired, one, two = [], Same(), Same()
    bus.signal("pre_reply").connect(lambda a: fired.append(a), sender=one, role="observe")
    two.reply()
    assert fired == []
    one.reply()
    assert len(fired) == 1 and fired[0] is one


def test_a_receiver_of_the_class_is_heard_by_an_object_with_its_own_that_was_called_already(
    bus, Agent
):
    agent, heard = Agent(), []
    signal = bus.signal("pre_reply")
    signal.connect(lambda agent: heard.append("own"), sender=agent)
    for connected in range(3):
        agent.reply("a")
        signal.connect(lambda agent, number=connected: heard.append(number), sender=Agent)
        signal.connect(lambda agent: None, sender=Agent, role="observe")
    agent.reply("a")
    assert heard == ["own", "own", 0, "own", 0, 1, "own", 0, 1, 2]


def test_who_matches_in_several_scopes_runs_once_and_with_other_options_besides(bus, Agent):
    def look(agent):
        ran.append(agent)

    ran, agent, pre = [], Agent(), bus.signal("pre_reply")
    pre.connect(look)
    pre.connect(look, sender=Agent)
    agent.reply("a")
    assert len(ran) == 1
    pre.connect(look, sender=agent, when={"msg": "b"})
    agent.reply("a")
    agent.reply("b")
    assert len(ran) == 4


def test_receivers_for_names_the_guards_that_muting_does_not_silence(bus, Agent):
    def guard(agent):
        return None

    pre = bus.signal("pre_reply")
    pre.connect(lambda agent: None)
    pre.connect(guard, role="guard")
    with pre.muted():
        assert list(pre.receivers_for(Agent())) == [guard]


@pytest.mark.parametrize("is_async", [False, True])
def test_send_heeds_once_and_when_and_report_knows_who_was_called(bus, is_async):
    signal, ran = bus.signal("greeting"), []

    def send(**sent):
        if is_async:
            return asyncio.run(signal.send_async("me", _sync_wrapper=as_async, **sent))
        return signal.send("me", **sent)

    def as_async(function):
        async def call(*args, **kwargs):
            return function(*args, **kwargs)

        return call

    signal.connect(lambda sender, **sent: ran.append("once"), name="once", once=True,
                   when=lambda name: name == "ada")  # fmt: skip
    signal.connect(lambda sender, name: ran.append("glob"), when={"name": "a*"})
    signal.connect(lambda sender, name: ran.append("never"), name="never", when={"name": "x"})
    send(name="eve")
    assert ran == []
    assert [len(send(name="ada")) for _ in range(2)] == [2, 1]
    assert ran == ["once", "glob", "glob"]
    states = {row["receiver"]: row["state"] for row in report(bus).receivers}
    assert sorted(states.values()) == ["fired", "never fired"]
    with pytest.raises(HookError, match=r"needs 'name', but greeting was sent without it"):
        send(nam="ada")


def test_a_guard_is_sent_to_in_a_muted_block_as_it_is_asked_in_a_call(bus):
    signal = bus.signal("greeting")
    signal.connect(lambda sender: "guard", role="guard")
    signal.connect(lambda sender: "modifier")
    with signal.muted():
        assert [answer for _, answer in signal.send("me")] == ["guard"]


def test_every_method_of_blinker_that_reads_its_registry_is_replaced(bus):
    theirs, ours = vars(blinker.Signal), bus.signal("pre_reply")
    state = vars(blinker.Signal()).keys() - {"is_muted"}
    read = {
        name for name, method in theirs.items()
        if inspect.isfunction(method) and not state.isdisjoint(method.__code__.co_names)
    }  # fmt: skip
    public = {name for name in read if not name.startswith("_")}
    assert {"connect", "disconnect", "receivers_for", "has_receivers_for"} <= public
    assert {name for name in public if getattr(HookSignal, name) is theirs[name]} == set()
    assert not state & vars(ours).keys()
