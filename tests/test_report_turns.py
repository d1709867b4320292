"""`report` says who was called: a receiver has fired once it was, however its calls end."""

import asyncio
import inspect

import pytest

from hookbus import Block, Bus, HookBlocked, Replace, hookable, report


@pytest.fixture
def bus():
    return Bus()


def fired(bus):
    return {row["receiver"] for row in report(bus).receivers if row["state"] == "fired"}


def never_fired(bus):
    return {row["receiver"] for row in report(bus).receivers if row["state"] == "never fired"}


def connect(bus, signal, name, function=lambda sender: None, **options):
    bus.signal(signal).connect(function, name=name, **options)


def test_guards_of_a_method_that_always_raises_have_fired(bus):
    @hookable(bus=bus)
    def pay():
        raise LookupError

    connect(bus, "pre_pay", "guard", role="guard")
    connect(bus, "pre_pay", "observer", lambda sender: None, role="observe")
    connect(bus, "post_pay", "after", lambda sender: None)
    for _ in range(2):
        with pytest.raises(LookupError):
            pay()
    assert fired(bus) == {"guard", "observer"} and never_fired(bus) == {"after"}


def test_who_was_called_before_a_block_of_another_hooks_guard_has_fired(bus):
    """The guard that blocks has blocked somewhere else before."""
    first = hookable("pay", bus=bus)(lambda: None)
    second = hookable("pay", bus=bus)(lambda: None)
    connect(bus, "pre_pay", "blocks", lambda sender: Block("no"), role="guard")
    with pytest.raises(HookBlocked):
        first()
    options = {"sender": second, "role": "guard", "priority": 1}
    connect(bus, "pre_pay", "of second", lambda sender: None, **options)
    with pytest.raises(HookBlocked):
        second()
    assert fired(bus) == {"blocks", "of second"}


def test_whom_a_replacement_or_an_around_passes_over_has_not_fired(bus):
    @hookable(bus=bus)
    def pay():
        return "paid"

    connect(bus, "pre_pay", "replaces", lambda sender: Replace("kept"), priority=1)
    connect(bus, "pre_pay", "later modifier", lambda sender: None)
    connect(bus, "around_pay", "around", lambda sender, call_next: call_next())
    connect(bus, "post_pay", "post", lambda sender: None)
    assert pay() == "kept"
    assert never_fired(bus) == {"later modifier", "around"}

    other = Bus()
    buy = hookable("buy", bus=other)(lambda: "bought")
    connect(other, "around_buy", "outer", lambda sender, call_next: "cached", priority=1)
    connect(other, "around_buy", "inner", lambda sender, call_next: call_next())
    assert buy() == "cached"
    assert never_fired(other) == {"inner"}


def test_a_receiver_that_cannot_serve_the_hook_was_never_called(bus):
    """It is connected before the hook is there, and asks for what that does not have."""
    connect(bus, "pre_pay", "misfit", lambda sender, amont: None, role="guard")
    pay = hookable("pay", bus=bus)(lambda amount: None)
    with pytest.raises(HookBlocked):
        pay(1)
    assert never_fired(bus) == {"misfit"}
    assert "misfit" in "\n".join(report(bus).findings)


@pytest.mark.parametrize("options", [{}, {"timeout": 5.0}, {"when": lambda: True}])
@pytest.mark.parametrize("count", [1, 20])
def test_one_of_few_or_many_that_fails_has_fired_and_who_came_after_has_not(bus, count, options):
    async def pay():
        return "paid"

    def fails(sender):
        raise ValueError

    pay = hookable("pay", bus=bus)(pay)
    for number in range(count):
        connect(bus, "pre_pay", f"agrees {number}", lambda sender, n=number: None, role="guard",
                priority=1, **options)  # fmt: skip
    connect(bus, "pre_pay", "fails", fails, role="guard", **options)
    connect(bus, "pre_pay", "after", lambda sender, n=-1: None, role="guard", **options)
    for _ in range(2):
        with pytest.raises(HookBlocked):
            asyncio.run(pay())
    assert never_fired(bus) == {"after"}


def test_who_is_called_in_an_attempt_that_repeats_has_fired(bus):
    @hookable(bus=bus)
    def pay(amount):
        return amount

    def twice(sender, call_next):
        call_next()
        return call_next(amount=2)

    connect(bus, "around_pay", "twice", twice, priority=1)
    connect(bus, "around_pay", "inner", lambda sender, amount, call_next: (
        call_next() if amount == 2 else None
    ))  # fmt: skip
    assert pay(1) == 2
    assert never_fired(bus) == set()


def test_an_observer_in_the_background_has_fired_once_it_runs(bus):
    pay = hookable("pay", bus=bus)(lambda: "paid")
    connect(bus, "post_pay", "log", lambda sender: None, role="observe", background=True)
    pay()
    bus.drain_sync(5)
    assert fired(bus) == {"log"}


def test_a_receiver_that_is_held_weakly_has_fired_once_it_is_called(bus):
    pay = hookable("pay", bus=bus)(lambda: "paid")

    class Log:
        def note(self, sender):
            raise ValueError

    log = Log()
    bus.signal("pre_pay").connect(log.note, role="observe", weak=True)
    connect(bus, "around_pay", "around", lambda sender, call_next: call_next())
    assert len(never_fired(bus)) == 2
    pay()
    assert never_fired(bus) == set()


@pytest.mark.parametrize("count", [1, 20])
def test_only_the_first_call_of_a_receiver_goes_by_what_notes_it(bus, count):
    depths = []

    def deep(sender, number):
        depths.append(len(inspect.stack()))

    pay = hookable("pay", bus=bus)(lambda number: number)
    for number in range(count):
        connect(bus, "pre_pay", f"deep {number}", lambda sender, number: deep(sender, number))
    for number in range(3):
        pay(number)
    first, second, third = depths[:count], depths[count : 2 * count], depths[2 * count :]
    assert second == third == [depth - 1 for depth in first]
