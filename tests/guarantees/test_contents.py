"""G46: what guards judged is what runs, down to the contents of plain containers."""

import copy
import json
import pickle
import threading

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, hookable, instrument, report
from hookbus.events import Blocked, Failed

from ._kinds import KINDS, agent_of, around_of, called


def fine(agent, arguments):
    return None


def guarded(kind, **options):
    bus, ran = Bus(), []
    agent = agent_of(kind, bus, lambda given: ran.append(given) or dict(given), **options)
    bus.signal("pre_pay").connect(fine, role="guard")
    return bus, agent, ran


WRITES = {
    "a key": lambda given: given.update(to="eve"),
    "a key of a dict inside": lambda given: given["who"].update(to="eve"),
    "a new key": lambda given: given.update(cc="eve"),
    "a key taken away": lambda given: given.pop("to"),
    "another order of keys": lambda given: given.update(to=given.pop("to")),
    "an element": lambda given: given["list"].append("eve"),
    "an element of a list in a tuple": lambda given: given["tuple"][0].append("eve"),
    "a set": lambda given: given["set"].add("eve"),
    "bytes": lambda given: given["bytes"].extend(b"eve"),
    "an equal number of another type": lambda given: given.update(n=True),
    "a negative zero": lambda given: given.update(zero=-0.0),
    "another container": lambda given: given.update(list=["ann"]),
    "an equal element of another type": lambda given: replace(given["set"], 2, 2.0),
    "an equal key of another type": lambda given: given["ids"].update({1.0: given["ids"].pop(1)}),
}


def replace(elements, old, new):
    elements.remove(old)
    elements.add(new)


def some():
    return {
        "to": "ann", "who": {"to": "ann"}, "list": ["ann"], "tuple": (["ann"],),
        "set": {"ann", 2}, "ids": {1: "ann"},
        "bytes": bytearray(b"ann"), "n": 1, "zero": 0.0,
    }  # fmt: skip


@KINDS
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("place", ["observer", "around", "guard"])
def test_what_is_written_in_place_after_the_verdict_blocks_the_call(kind, write, place):
    bus, agent, ran = guarded(kind)
    if place == "around":
        bus.signal("around_pay").connect(around_of(kind, write), name="writer")
    else:
        role = "guard" if place == "guard" else "observe"

        def writer(agent, arguments):
            write(arguments)

        bus.signal("pre_pay").connect(writer, role=role, priority=-1)
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=(Failed, Blocked))
    with pytest.raises(HookBlocked, match=r"arguments.* changed in place after the guards"):
        called(kind, agent, some())
    assert not ran
    failure, block = told
    assert failure.action == "blocked" and "writer" in failure.receiver == block.receiver
    assert block.code == "changed"
    if write is WRITES["a key"]:  # a report looks at every class of the program
        assert "ran after the guards in a call" in str(report(bus))


@pytest.mark.parametrize(
    ("write", "place"),
    [
        (lambda given: given["who"].update(to="eve"), "arguments['who']['to']"),
        (lambda given: given["tuple"][0].__setitem__(0, "eve"), "arguments['tuple'][0][0]"),
        (lambda given: given.update(cc="eve"), "arguments['cc']"),
        (lambda given: given["set"].add(1), "arguments['set']"),
    ],
)
def test_the_block_names_the_place_and_the_receivers_that_ran_since(write, place):
    bus, agent, _ = guarded("sync")
    bus.signal("pre_pay").connect(
        lambda agent, arguments: write(arguments), role="observe", name="audit"
    )
    with pytest.raises(HookBlocked) as blocked:
        agent.pay(some())
    said = f"{place} was changed in place after the guards checked it"
    assert blocked.value.reason.startswith(said)
    assert blocked.value.reason.endswith("since then: fine, audit")


@KINDS
def test_what_nobody_changes_or_only_an_equal_text_replaces_goes_through(kind):
    bus, agent, ran = guarded(kind)

    def same(agent, arguments):
        arguments["to"] = "".join(["a", "nn"])

    bus.signal("pre_pay").connect(same, role="observe")
    circle = some()
    circle["itself"] = circle
    assert called(kind, agent, circle) == circle and len(ran) == 1


@KINDS
def test_without_an_enforcing_guard_or_with_sealed_false_nothing_is_sealed(kind):
    def write(arguments):
        arguments["to"] = "eve"

    bus, agent, _ = guarded(kind, sealed=False)
    bus.signal("around_pay").connect(around_of(kind, write))
    assert called(kind, agent, {})["to"] == "eve"
    bus = Bus()
    agent = agent_of(kind, bus, dict)
    bus.signal("pre_pay").connect(fine, role="guard", shadow=True)
    bus.signal("around_pay").connect(around_of(kind, write))
    assert called(kind, agent, {})["to"] == "eve"


def test_each_attempt_is_judged_and_sealed_anew():
    judged = []
    bus = Bus()
    agent = agent_of("sync", bus, lambda arguments: arguments.pop("once", None))
    bus.signal("pre_pay").connect(
        lambda agent, arguments: judged.append(dict(arguments)), role="guard"
    )

    def twice(agent, call_next):
        return call_next(), call_next()

    def patch_and_write(agent, call_next):
        mine = {"to": "ann"}
        agent.late = lambda: mine.update(to="eve")
        return call_next(arguments=mine)

    with bus.signal("around_pay").connected_to(twice):
        assert agent.pay({"once": 1}) == (1, None)
    assert judged == [{"once": 1}, {}]

    def write_in_between(agent, arguments, call_next):
        agent.late()
        return call_next()

    bus.signal("around_pay").connect(patch_and_write, priority=1)
    bus.signal("around_pay").connect(write_in_between)
    assert agent.pay({"to": "bob"}) is None and judged[-1] == {"to": "eve"}  # written, then judged


def test_a_thread_that_writes_while_a_guard_thinks_blocks_the_call():
    bus, ran = Bus(), []
    agent = agent_of("sync", bus, ran.append)
    arguments = {"to": "ann"}

    @bus.signal("pre_pay").connect_via(role="guard")
    def slow(agent, arguments):
        writer = threading.Thread(target=lambda: arguments.update(to="eve"))
        writer.start()
        writer.join()

    with pytest.raises(HookBlocked, match="'to'"):
        agent.pay(arguments)
    assert not ran


def test_the_hosts_on_block_and_a_hookable_override_have_the_last_word_of_it():
    bus = Bus()

    class Agent:
        @hookable("pay", bus=bus, on_block=lambda blocked: f"no: {blocked.verdict.code}")
        def pay(self, arguments):
            return "paid"

    class Loose(Agent):
        @hookable("pay", bus=bus, sealed=False)
        def pay(self, arguments):
            return arguments["to"]

    class Child(Agent):
        @hookable("pay", bus=bus)
        def pay(self, arguments):
            return "paid"

    bus.signal("pre_pay").connect(fine, role="guard")
    bus.signal("pre_pay").connect(
        lambda agent, arguments: arguments.update(to="eve"), role="observe"
    )
    assert Agent().pay({}) == Child().pay({}) == "no: changed"
    assert Loose().pay({}) == "eve"


# -- results and items -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("phase", ["post", "finally"])
@pytest.mark.parametrize("is_heard", [False, True])
def test_a_result_that_is_changed_after_a_guard_of_post_judged_it_is_withheld(
    kind, phase, is_heard
):
    bus, told = Bus(), []
    agent = agent_of(kind, bus, lambda arguments: {"text": ["fine"]})
    if is_heard:
        bus.events.connect(lambda bus, event: told.append(event))
    bus.signal("post_pay").connect(lambda agent, result: None, role="guard")

    def add(agent, result):
        result["text"].append("a secret")

    bus.signal(f"{phase}_pay").connect(add, role="observe")
    with pytest.raises(HookBlocked, match=r"result\['text'\]"):
        called(kind, agent, {})
    assert not is_heard or (told[-1].outcome, told[-1].error) == ("blocked", None)
    hosted = agent_of(
        kind, bus, lambda arguments: {"text": []}, on_block=lambda blocked: "withheld"
    )
    assert called(kind, hosted, {}) == "withheld"


@pytest.mark.parametrize("kind", ["generator", "async generator"])
def test_an_item_that_is_changed_after_its_guard_judged_it_does_not_leave(kind):
    bus = Bus()
    agent = agent_of(kind, bus, lambda arguments: ["fine"])
    bus.signal("item_pay").connect(lambda agent, item: None, role="guard")
    assert called(kind, agent, {}) == ["fine"]
    bus.signal("item_pay").connect(lambda agent, item: item.append("a secret"), role="observe")
    with pytest.raises(HookBlocked, match="item was changed in place"):
        called(kind, agent, {})


def test_what_a_modifier_replaces_a_result_with_is_judged_and_sealed_likewise():
    bus = Bus()
    agent = agent_of("sync", bus, lambda arguments: {"text": "a secret"})
    kept = {"text": "fine"}
    bus.signal("post_pay").connect(lambda agent, result: Replace(kept))
    seen = []
    bus.signal("post_pay").connect(lambda agent, result: seen.append(dict(result)), role="guard")
    assert agent.pay({}) is kept and seen == [{"text": "fine"}]


def test_a_block_that_names_a_change_is_no_answer_of_the_guards_and_a_later_call_is_judged_anew():
    bus, agent, ran = guarded("sync")
    with bus.signal("pre_pay").connected_to(
        lambda agent, arguments: arguments.update(to="eve"), role="observe"
    ):
        with pytest.raises(HookBlocked):
            agent.pay({})
    assert agent.pay({"to": "ann"}) == {"to": "ann"}
    bus.signal("pre_pay").connect(lambda agent: Block("closed"), role="guard")
    with pytest.raises(HookBlocked, match="closed"):
        agent.pay({})


# -- read-only arguments, as adapters have them ----------------------------------------------------

READ_ONLY_WRITES = {
    "set": lambda given: given.__setitem__("to", "eve"),
    "delete": lambda given: given.__delitem__("to"),
    "update": lambda given: given.update(to="eve"),
    "or": lambda given: given.__ior__({"to": "eve"}),
    "setdefault": lambda given: given.setdefault("cc", "eve"),
    "pop": lambda given: given.pop("to"),
    "popitem": lambda given: given.popitem(),
    "clear": lambda given: given.clear(),
    "inside": lambda given: given["who"].update(to="eve"),
    "append": lambda given: given["list"].append("eve"),
    "extend": lambda given: given["list"].extend(["eve"]),
    "plus": lambda given: given["list"].__iadd__(["eve"]),
    "times": lambda given: given["list"].__imul__(2),
    "element": lambda given: given["list"].__setitem__(0, "eve"),
    "slice": lambda given: given["list"].__delitem__(slice(None)),
    "insert": lambda given: given["list"].insert(0, "eve"),
    "remove": lambda given: given["list"].remove("ann"),
    "sort": lambda given: given["list"].sort(),
    "reverse": lambda given: given["list"].reverse(),
    "in a tuple": lambda given: given["tuple"][0].append("eve"),
}


def shown_read_only(kind="sync", **options):
    bus, ran = Bus(), []
    agent = agent_of(kind, bus, lambda arguments: ran.append(arguments) or "ran")

    class Plain:
        pay = type(agent).pay.__wrapped__

    instrument(Plain, "pay", bus=bus, read_only=("arguments",), **options)
    return bus, Plain(), ran


@KINDS
@pytest.mark.parametrize("write", READ_ONLY_WRITES.values(), ids=READ_ONLY_WRITES)
def test_a_write_to_read_only_arguments_fails_as_its_role_says(kind, write):
    bus, agent, ran = shown_read_only(kind)
    given, failures = some(), []
    bus.events.connect(lambda bus, event: failures.append(event), kinds=Failed)

    def writer(agent, arguments):
        write(arguments)

    for role in ("observe", "modify"):
        with bus.signal("pre_pay").connected_to(writer, role=role):
            assert called(kind, agent, given) == "ran"
        assert ran.pop() == given == some() and failures.pop().action == "isolated"
    with bus.signal("pre_pay").connected_to(writer, role="guard"):
        with pytest.raises(HookBlocked, match="in place: the contents of arguments are read"):
            called(kind, agent, given)
    bus.signal("around_pay").connect(around_of(kind, write))
    with pytest.raises(HookError, match=r"return {'arguments': {\*\*arguments, ...}} instead"):
        called(kind, agent, given)
    assert not ran and given == some()


def test_the_method_gets_plain_containers_of_its_own_from_what_was_judged():
    bus, agent, ran = shown_read_only()
    given = some()
    bus.signal("pre_pay").connect(lambda agent, arguments: given.update(to="eve"), role="guard")
    assert agent.pay(given) == "ran"
    assert ran == [some()] and [type(each) for each in (ran[0], ran[0]["who"])] == [dict, dict]


def test_read_only_arguments_read_like_plain_data_and_a_changed_copy_is_read_only_again():
    bus, agent, ran = shown_read_only()

    @bus.signal("pre_pay").connect_via()
    def change(agent, arguments):
        assert isinstance(arguments, dict) and isinstance(arguments["list"], list)
        assert json.loads(json.dumps({"a": arguments["list"]})) == {"a": ["ann"]}
        for copied in (copy.deepcopy(arguments), pickle.loads(pickle.dumps(arguments))):
            copied["who"]["to"] = "bob"
            copied["list"].append("bob")
        assert type(arguments.copy()) is type({**arguments}) is type(copy.copy(arguments)) is dict
        return {"arguments": {**arguments, "to": "bob", "list": ["bob"]}}

    @bus.signal("pre_pay").connect_via(role="observe")
    def write(agent, arguments):
        arguments["list"].append("eve")

    assert agent.pay(some()) == "ran"
    assert ran == [some() | {"to": "bob", "list": ["bob"]}]
    assert write.__name__ in str(report(bus))


def test_what_goes_around_the_writers_of_a_read_only_dict_is_sealed_like_any_other():
    bus, agent, ran = shown_read_only()
    bus.signal("pre_pay").connect(fine, role="guard")
    bus.signal("pre_pay").connect(
        lambda agent, arguments: dict.update(arguments, to="eve"), role="observe"
    )
    with pytest.raises(HookBlocked, match="changed in place"):
        agent.pay(some())
    assert not ran


def test_arguments_that_hold_themselves_are_refused_before_anybody_is_asked():
    bus, agent, ran = shown_read_only()
    bus.signal("pre_pay").connect(fine, role="guard")
    circle = {}
    circle["itself"] = circle
    with pytest.raises(HookError, match="arguments contains itself"):
        agent.pay(circle)
    assert not ran


@pytest.mark.parametrize("way", ["patch", "patch that is heard", "draft", "around"])
def test_what_is_put_in_place_of_read_only_arguments_is_read_only_too(way):
    bus, agent, ran = shown_read_only()
    if way == "around":
        bus.signal("around_pay").connect(
            lambda agent, call_next: call_next(arguments={"to": "bob"})
        )
    elif way == "draft":

        @bus.signal("pre_pay").connect_via()
        def change(agent, ctx):
            ctx.kwargs["arguments"] = {"to": "bob"}

    else:
        bus.signal("pre_pay").connect(lambda agent: {"arguments": {"to": "bob"}})
    if way == "patch that is heard":
        bus.events.connect(lambda bus, event: None)

    @bus.signal("pre_pay").connect_via(role="guard")
    def write(agent, arguments):
        if arguments["to"] == "bob":
            arguments["to"] = "eve"

    with pytest.raises(HookBlocked, match="changed an argument in place"):
        agent.pay({"to": "ann"})
    assert not ran
