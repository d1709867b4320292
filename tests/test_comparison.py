"""What the table of `docs/explanation/comparison.md` says of a plain decorator, blinker, pluggy and
hookbus, tried.

What it says of agent frameworks is tried on the real packages, by the tests that the page names.
"""

import asyncio
import functools
import inspect
import re
from pathlib import Path

import blinker
import pluggy
import pytest

from hookbus import Bus, HookBlocked, events, explain, hookable
from hookbus.testing import record

ROOT = Path(__file__).parent.parent
SPEC, IMPL = pluggy.HookspecMarker("tried"), pluggy.HookimplMarker("tried")


class Paying:
    """One method, made by each means with these functions before it, connected in this order."""

    def __init__(self, means, *functions, roles=()):
        self.paid, self.bus = [], Bus()
        make = {"decorator": decorated, "blinker": sent, "pluggy": called, "hookbus": hooked}
        self.pay = make[means](self, functions, roles)


def decorated(owner, functions, roles):
    def before(function, method):
        @functools.wraps(method)
        def wrapper(order):
            function(order)
            return method(order)

        return wrapper

    return functools.reduce(lambda method, each: before(each, method), functions, owner.paid.append)


def sent(owner, functions, roles):
    signal = blinker.Signal()
    for each in functions:
        signal.connect(lambda sender, order, each=each: each(order), weak=False)

    def pay(order):
        signal.send(owner, order=order)
        owner.paid.append(order)

    return pay


def manager_of(*functions):
    class Asked:
        @SPEC
        def before(self, order): ...

    class Plugin:
        def __init__(self, function):
            self.function = function

        @IMPL
        def before(self, order):
            return self.function(order)

    manager = pluggy.PluginManager("tried")
    manager.add_hookspecs(Asked)
    for each in functions:
        manager.register(Plugin(each))
    return manager


def called(owner, functions, roles):
    manager = manager_of(*functions)

    def pay(order):
        manager.hook.before(order=order)
        owner.paid.append(order)

    return pay


def hooked(owner, functions, roles):
    @hookable("pay", bus=owner.bus)
    def pay(order):
        owner.paid.append(order)

    for each, role in zip(functions, roles or ["modify"] * len(functions)):
        owner.bus.signal("pre_pay").connect(
            lambda sender, order, each=each: each(order), role=role, weak=False
        )
    return pay


def breaks(order):
    raise OSError("gone")


ALL = pytest.mark.parametrize("means", ["decorator", "blinker", "pluggy", "hookbus"])


@ALL
@pytest.mark.parametrize("role", ["guard", "observe"])
def test_a_check_that_breaks_and_a_logger_that_breaks(means, role):
    paying = Paying(means, breaks, roles=[role])
    if (means, role) == ("hookbus", "observe"):
        paying.pay({})
    else:
        with pytest.raises(HookBlocked if means == "hookbus" else OSError):
            paying.pay({})
    assert bool(paying.paid) == (means == "hookbus" and role == "observe")


@ALL
def test_a_check_sees_the_arguments_that_run(means):
    def both(is_swapped):
        """Two functions, one of which checks and one of which edits, either way round."""
        seen = []

        def first(order):
            seen.append(order["to"]) if not is_swapped else order.update(to="eve")

        def second(order):
            order.update(to="eve") if not is_swapped else seen.append(order["to"])

        roles = ["guard", "modify"]
        Paying(means, first, second, roles=roles[::-1] if is_swapped else roles).pay({"to": "ann"})
        return seen

    # blinker has no order, but in one of two ways the check comes first
    assert (both(False), both(True)).count(["eve"]) == (2 if means == "hookbus" else 1)


def test_hookbus_asks_a_check_again_where_an_around_changes_what_runs():
    seen, paying = [], Paying("hookbus")
    signal = paying.bus.signal
    signal("pre_pay").connect(lambda sender, order: seen.append(order), role="guard", weak=False)
    signal("around_pay").connect(lambda sender, call_next: call_next(order="eve"), weak=False)
    paying.pay("ann")
    assert seen == ["ann", "eve"] and paying.paid == ["eve"]


@ALL
def test_who_goes_first(means):
    def order_of(number):
        called = []
        each = [functools.partial(lambda i, order: called.append(i), i) for i in range(number)]
        Paying(means, *each).pay({})
        return called

    orders = {tuple(order_of(8)) for _ in range(50)}
    first_to_last = tuple(range(8))
    assert (len(orders) == 1) == (means != "blinker")
    if means != "blinker":
        is_reversed = means in ("decorator", "pluggy")  # the outermost, the last registered
        assert orders == {first_to_last[::-1] if is_reversed else first_to_last}


@ALL
def test_who_may_rewrite_an_argument_and_what_if_that_fails(means):
    def rewrites(order):
        return {"order": "****"}

    paying = Paying(means, rewrites)
    paying.pay("4711")
    assert paying.paid == (["****"] if means == "hookbus" else ["4711"])
    if means != "hookbus":  # a decorator that hands on what it likes stops the call alike
        paying = Paying(means, breaks)
        with pytest.raises(OSError):
            paying.pay("4711")
        assert paying.paid == []


def test_a_rewrite_of_hookbus_that_fails_is_dropped_or_blocks():
    paying = Paying("hookbus")

    def assigns(sender, ctx):
        ctx.kwargs["order"] = "****"
        raise OSError("gone")

    paying.bus.signal("pre_pay").connect(assigns)
    paying.pay("4711")
    assert paying.paid == ["4711"]
    paying.bus.signal("pre_pay").connect(assigns, on_error="block")
    with pytest.raises(HookBlocked):
        paying.pay("4711")


def test_async_and_streams():
    async def receiver(*sender, **named):
        return 1

    # blinker: a plain sending takes no async receiver, and an awaited one no plain receiver.
    signal = blinker.Signal()
    signal.connect(receiver)
    with pytest.raises(RuntimeError, match="coroutine"):
        signal.send()
    assert asyncio.run(signal.send_async()) == [(receiver, 1)]
    plain = blinker.Signal()
    plain.connect(len)
    with pytest.raises(RuntimeError, match="non-coroutine"):
        asyncio.run(plain.send_async("sender"))

    # pluggy: what an async implementation gives is a coroutine that pluggy never awaits.
    async def implementation(order):
        return 1

    [given] = manager_of(implementation).hook.before(order={})
    assert inspect.iscoroutine(given)
    given.close()

    bus = Bus()

    class Agent:
        @hookable("tell", bus=bus)
        async def tell(self):
            yield "a"

    bus.signal("item_tell").connect(lambda agent, item: item.upper(), weak=False)

    async def items():
        return [item async for item in Agent().tell()]

    assert asyncio.run(items()) == ["A"]


def test_who_runs_and_who_changed_what():
    def upper(sender, order):
        return {"order": order.upper()}

    signal = blinker.Signal()
    signal.connect(upper)
    assert list(signal.receivers_for(None)) == [upper]
    manager = manager_of(str.upper)
    assert len(manager.hook.before.get_hookimpls()) == 1
    paying = Paying("hookbus")
    paying.bus.signal("pre_pay").connect(upper)
    assert [row.receiver.rpartition(".")[2] for row in explain(paying.pay).rows] == ["upper"]
    with record(paying.bus) as happened:
        paying.pay("ann")
    assert [event.name for event in happened.of(events.Mutated)] == ["order"]


def test_the_page_has_one_table_of_six_questions_which_are_tried_above():
    page = (ROOT / "docs/explanation/comparison.md").read_text()
    [table] = re.findall(r"^\| \| a plain decorator .*?\n\n", page, re.M | re.DOTALL)
    head, line, *questions = table.strip().splitlines()
    assert head.count("|") == 7 and line.count("-|") == 6
    assert len(questions) == 6
    assert all(row.count("|") == 7 and "?" in row for row in questions)
