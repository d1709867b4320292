"""Everything Agno's hooks can do, as a natural use of hookbus. No Agno is needed here."""

import asyncio
import json

import pytest

from hookbus import Block, Drop, HookBlocked, HookError, ReceiverError, explain, hookable
from hookbus.events import Failed
from hookbus.testing import record

from . import agno_native_parts as parts

Toolbox = parts.Toolbox


def noting(told, word):
    def around(toolbox, call_next):
        told.append(f"{word} before")
        result = call_next()
        told.append(f"{word} after")
        return result

    return around


def test_agno_T1_arounds_are_an_onion_and_the_first_connected_is_outermost(bus, Toolbox):
    told = []
    for word in "ab":
        bus.signal("around_tool").connect(noting(told, word), name=word)
    assert Toolbox().call("ls", {}) == "ls: {}" and told == [
        "a before", "b before", "b after", "a after",
    ]  # fmt: skip


def test_agno_T2_a_receiver_asks_by_name_for_what_it_needs_and_a_wrong_name_is_told_at_once(
    bus, Toolbox
):
    seen = []
    bus.signal("pre_tool").connect(
        lambda toolbox, args: seen.append(args), sender=Toolbox, name="args only"
    )
    bus.signal("pre_tool").connect(
        lambda toolbox, ctx, name: seen.append((ctx.hook, name)), sender=Toolbox, name="ctx too"
    )
    bus.signal("pre_tool").connect(
        lambda toolbox, **all_of_it: seen.append(sorted(all_of_it)), sender=Toolbox, name="all"
    )
    Toolbox().call("ls", {"x": 1})
    assert seen == [{"x": 1}, ("tool", "ls"), ["args", "name"]]
    with pytest.raises(HookError, match="'arguments'"):
        bus.signal("pre_tool").connect(lambda toolbox, arguments: None, sender=Toolbox)


def test_agno_T3_next_may_be_skipped_repeated_and_wrapped(bus, Toolbox):
    toolbox = Toolbox()
    with bus.signal("around_tool").connected_to(lambda toolbox, call_next: "cached"):
        assert toolbox.call("ls", {}) == "cached" and toolbox.ran == []
    with bus.signal("around_tool").connected_to(
        lambda toolbox, call_next: [call_next(), call_next()]
    ):
        assert toolbox.call("ls", {}) == ["ls: {}"] * 2

    def rescue(toolbox, call_next):
        try:
            return call_next()
        except KeyError as error:
            return f"rescued: {error}"

    class Broken(Toolbox):
        @hookable("tool", bus=bus)
        def call(self, name, args):
            return args["missing"]

    with bus.signal("around_tool").connected_to(rescue):
        assert Broken().call("ls", {}) == "rescued: 'missing'"


def test_agno_T4_what_call_next_is_given_is_what_the_body_gets(bus, Toolbox):
    bus.signal("around_tool").connect(
        lambda toolbox, args, call_next: call_next(args={**args, "x": 99}), name="change"
    )
    toolbox = Toolbox()
    toolbox.call("ls", {"x": 1})
    assert toolbox.ran == [("ls", {"x": 99})]


def test_agno_T5_before_and_after_a_failure_costs_what_its_role_says(bus, Toolbox):
    told = []

    def fails(toolbox):
        raise ValueError("a bug")

    bus.signal("pre_tool").connect(fails, role="observe", name="pre")
    bus.signal("finally_tool").connect(lambda toolbox, ctx: told.append(ctx.outcome), name="end")
    with record(bus) as fired:
        assert Toolbox().call("ls", {}) == "ls: {}"
    assert told == ["returned"] and [event.action for event in fired.of(Failed)] == ["isolated"]
    bus.signal("pre_tool").connect(fails, role="guard", name="guard")
    with pytest.raises(HookBlocked):
        Toolbox().call("ls", {})
    assert told == ["returned", "blocked"]


def test_agno_T6_an_async_receiver_of_a_plain_method_is_refused(bus):
    class Plain:
        @hookable("plain", bus=bus)
        def call(self):
            return "ran"

    async def guard(plain):
        pass

    with pytest.raises(HookError, match="is async"):
        bus.signal("pre_plain").connect(guard, sender=Plain, role="guard")


async def test_agno_T7_sync_and_async_receivers_mix_in_an_async_call(bus, Toolbox):
    async def patch(toolbox, args):
        await asyncio.sleep(0)
        return {"args": {**args, "a": 1}}

    async def around(toolbox, call_next):
        return f"<{await call_next()}>"

    bus.signal("pre_tool").connect(patch, name="async")
    bus.signal("pre_tool").connect(lambda toolbox, args: {"args": {**args, "b": 2}}, name="sync")
    bus.signal("around_tool").connect(around, name="around")
    assert await Toolbox().acall("ls", {}) == "<ls: {'a': 1, 'b': 2}>"


def test_agno_T8_arguments_are_read_only_for_whoever_may_not_change_them(bus, Toolbox):
    def meddle(toolbox, ctx):
        ctx.kwargs["args"] = {"x": 99}

    def work_on_a_copy(toolbox, ctx):
        ctx.snapshot().kwargs["args"].clear()

    bus.signal("pre_tool").connect(meddle, role="observe", name="meddle")
    bus.signal("pre_tool").connect(work_on_a_copy, role="observe", name="copy")
    with record(bus) as fired:
        assert Toolbox().call("ls", {"x": 1}) == "ls: {'x': 1}"
    assert [event.receiver for event in fired.of(Failed)] == ["meddle"]


def test_agno_T9_a_cache_is_an_around_and_who_stands_outside_of_it_sees_hits_too(bus, Toolbox):
    stored, told = {}, []

    def cache(toolbox, name, args, call_next):
        key = (name, json.dumps(args, sort_keys=True))
        if key not in stored:
            stored[key] = call_next()
        return stored[key]

    bus.signal("around_tool").connect(noting(told, "audit"), priority=1, name="audit")
    bus.signal("around_tool").connect(cache, name="cache")
    toolbox = Toolbox()
    assert toolbox.call("ls", {"x": 1}) == toolbox.call("ls", {"x": 1})
    assert len(toolbox.ran) == 1 and told == ["audit before", "audit after"] * 2
    toolbox.call("ls", {"x": 2})
    assert len(toolbox.ran) == 2


def test_agno_T10_a_stream_stays_a_stream_and_its_items_are_hooked(bus, Toolbox):
    bus.signal("item_tool").connect(
        lambda toolbox, item: Drop() if item == 1 else item * 10, name="tenfold"
    )
    items = Toolbox().stream("count", {"n": 3})
    assert next(items) == 0 and list(items) == [20]


def test_agno_T11_identity_is_the_sender_and_not_an_argument(bus, Toolbox):
    seen = []
    bus.signal("pre_tool").connect(lambda toolbox: seen.append(toolbox.agent), name="who")
    Toolbox(agent="the real one").call("ls", {"agent": "an impostor"})
    assert seen == ["the real one"]


def test_agno_T12_a_pause_for_a_human_is_a_guard_and_the_call_can_be_made_again(bus, Toolbox):
    approved, asked = set(), []

    def confirm(toolbox, name, args):
        question = (name, json.dumps(args, sort_keys=True))
        if question not in approved:
            asked.append(question)
            return Block("waits for confirmation", result="paused")
        return None

    bus.signal("pre_tool").connect(confirm, role="guard", when={"name": "delete*"}, name="confirm")
    toolbox = Toolbox()
    assert toolbox.call("delete", {"path": "/a"}) == "paused" and toolbox.ran == []
    approved.update(asked)
    assert toolbox.call("delete", {"path": "/a"}) == "delete: {'path': '/a'}"
    assert toolbox.call("delete", {"path": "/b"}) == "paused" and toolbox.call("ls", {}) == "ls: {}"


def test_agno_T13_an_exception_that_steers_goes_out_where_it_was_asked_to(bus, Toolbox):
    class StopRun(Exception):
        pass

    def around(toolbox, call_next):
        raise StopRun

    def modifier(toolbox):
        raise StopRun

    with bus.signal("around_tool").connected_to(around), pytest.raises(StopRun):
        Toolbox().call("ls", {})
    with (
        bus.signal("pre_tool").connected_to(modifier, on_error="raise"),
        pytest.raises(ReceiverError) as raised,
    ):
        Toolbox().call("ls", {})
    assert isinstance(raised.value.__cause__, StopRun)


def test_agno_T14_a_receiver_may_be_for_one_object_a_class_or_all_or_one_tool(bus, Toolbox):
    told, one, other = [], Toolbox(), Toolbox()
    bus.signal("pre_tool").connect(lambda toolbox: told.append("one"), sender=one, name="one")
    bus.signal("pre_tool").connect(
        lambda toolbox: told.append("class"), sender=Toolbox, name="class"
    )
    bus.signal("pre_tool").connect(lambda toolbox: told.append("all"), name="all")
    bus.signal("pre_tool").connect(
        lambda toolbox: told.append("rm"), when={"name": "rm"}, name="rm"
    )
    one.call("ls", {})
    other.call("rm", {})
    assert told == ["one", "class", "all", "class", "all", "rm"]


def test_agno_T15_scopes_add_up_and_none_replaces_another(bus, Toolbox):
    toolbox = Toolbox()
    bus.signal("around_tool").connect(
        lambda toolbox, call_next: call_next(), sender=toolbox, name="the tool's"
    )
    bus.signal("around_tool").connect(
        lambda toolbox, call_next: call_next(), sender=Toolbox, name="the agent's"
    )
    assert [row.receiver for row in explain(toolbox.call)] == ["the tool's", "the agent's"]


async def test_agno_T16_the_colour_of_a_call_is_that_of_its_method_whatever_its_receivers_are(
    bus, Toolbox
):
    bus.signal("pre_tool").connect(lambda toolbox: None, name="sync")
    assert Toolbox().call("ls", {}) == "ls: {}" and await Toolbox().acall("ls", {}) == "ls: {}"
