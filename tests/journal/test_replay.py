"""Today's guards are asked about yesterday's calls, and no body runs."""

import asyncio

import pytest

from hookbus import Ask, Block, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.approvals import Approved
from hookbus.journal import Journal, replay

from .conftest import Bank


class Treasurer:
    """A sender that is known where it is replayed."""

    limit = 7

    def __init__(self):
        self.name = "ada's"


class Deputy(Treasurer):
    pass


@pytest.fixture
def night(path):
    """A journal of payments of 0 to 9, of which a guard of that time blocked those above 5."""
    bank = Bank(values=True)

    @bank.bus.signal("pre_pay").connect_via(role="guard", name="modest")
    def modest(teller, amount):
        return Block(f"{amount} is much") if amount > 5 else None

    with Journal(path) as journal, baggage(user="ada"):
        journal.attach(bank.bus)
        for amount in range(10):
            try:
                bank.pay("ada", amount)
            except HookBlocked:
                continue
        yield journal


def guarded(guard, signal="pre_pay", **options):
    bus = Bus()
    bus.signal(signal).connect(guard, role="guard", **options)
    return bus


def seen(found):
    return [(each.arguments.get("amount"), each.then, each.now, each.receiver)
            for each in found.differences]  # fmt: skip


def test_the_same_guard_sees_no_difference_and_a_changed_one_sees_exactly_it(night):
    def modest(teller, amount):
        return Block("much") if amount > 5 else None

    found = replay(night, guarded(modest, name="modest"))
    assert found.calls == 10 and found.differences == () and found.not_judged == ()
    assert str(found) == "10 calls: no difference"

    def changed(teller, amount, baggage):
        assert baggage["user"] == "ada"
        return Block(f"{amount} is little") if amount < 2 or amount == 9 else None

    found = replay(night, guarded(changed, name="changed"))
    assert seen(found) == [
        (0, "allowed", "blocked", "changed"), (1, "allowed", "blocked", "changed"),
        (6, "blocked", "allowed", "modest"), (7, "blocked", "allowed", "modest"),
        (8, "blocked", "allowed", "modest"),
    ]  # fmt: skip
    assert found.differences[0].reason == "0 is little" and found.differences[0].hook == "pay"
    text = str(found)
    assert text.startswith("10 calls: 3 blocked then, allowed now; 2 allowed then, blocked now")
    assert "0 is little" in text and "<table>" in found._repr_html_()


def test_no_body_runs_and_nobody_but_guards_is_asked(night):
    ran = []
    bus = guarded(lambda teller, amount: None)
    bus.signal("pre_pay").connect(lambda teller: ran.append("modify"))
    bus.signal("pre_pay").connect(lambda teller: ran.append("observe"), role="observe")
    bus.signal("around_pay").connect(lambda teller, call_next: ran.append("around"))
    hookable("pay", bus=bus)(lambda to, amount: ran.append("body"))
    replay(night, bus)
    assert ran == []


def test_guards_in_shadow_async_late_conditional_and_failing_ones_are_judged_as_they_would_be(
    night,
):
    async def slow(teller, amount):
        await asyncio.sleep(0)
        return Block("async") if amount == 3 else None

    def fails(teller, amount):
        return 1 / (amount - 4)

    bus = Bus()
    connect = bus.signal("pre_pay").connect
    connect(slow, role="guard", name="slow", shadow=True)
    connect(fails, role="guard", name="fails", when={"amount": "4"})
    connect(lambda teller: Block("never"), role="guard", when=lambda amount: amount < 0)
    hung = connect(lambda teller, amount: amount == 2 and asyncio.run(asyncio.sleep(0.2)) or None,
                   role="guard", name="hung", timeout=0.05)  # fmt: skip
    found = replay(night, bus)
    assert [each for each in seen(found) if each[2] != "allowed"] == [
        (2, "allowed", "blocked", "hung"), (3, "allowed", "blocked", "slow"),
        (4, "allowed", "blocked", "fails"),
    ]  # fmt: skip
    assert "guard failed" in found.differences[2].reason and hung is not None


def test_guards_see_what_the_method_got_in_the_end(path):
    bank = Bank(values=True)
    bank.bus.signal("pre_pay").connect(lambda teller, amount: {"amount": amount * 10})
    with Journal(path) as journal:
        journal.attach(bank.bus)
        bank.pay("ada", 4)
        found = replay(journal, guarded(lambda teller, amount: Block("x") if amount > 39 else None))
    assert seen(found)[0][:3] == (40, "allowed", "blocked")


def test_a_guard_that_asks_and_one_that_asked_are_told_from_a_block(path):
    bank = Bank(values=True)
    bank.bus.approver(lambda request: Approved("grace"))
    bank.bus.signal("pre_pay").connect(
        lambda teller, amount: Ask("sure?") if amount > 5 else None, role="guard", name="asks"
    )
    with Journal(path) as journal:
        journal.attach(bank.bus)
        bank.pay("ada", 4)
        bank.pay("ada", 8)

        def asks(teller, amount):
            return Ask("sure?") if amount > limit else None

        for limit, expected in (
            (5, []), (9, [(8, "asked", "allowed", "asks")]),
            (3, [(4, "allowed", "asked", "asks")]),
        ):  # fmt: skip
            found = replay(journal, guarded(asks, name="asks"))
            assert seen(found) == expected


def test_without_values_the_guards_that_need_them_are_not_judged_and_others_are(path, bank):
    with Journal(path) as journal:
        journal.attach(bank.bus)
        with baggage(user="eve"):
            bank.pay("ada")
        bank.pay("ada")

        def by_value(teller, amount):
            raise AssertionError("it is not asked")

        def by_all(teller, **arguments):
            raise AssertionError("it is not asked")

        def by_context(teller, ctx):
            raise AssertionError("it is not asked")

        def by_condition(teller):
            raise AssertionError("it is not asked")

        def by_user(teller, baggage):
            return Block("eve") if baggage.get("user") == "eve" else None

        bus = Bus()
        for guard in (by_value, by_all, by_context, by_user):
            bus.signal("pre_pay").connect(guard, role="guard", name=guard.__name__)
        bus.signal("pre_pay").connect(
            by_condition, role="guard", name="by_condition", when=lambda amount: True
        )
        found = replay(journal, bus)
    assert [(each.receiver, each.now) for each in found.differences] == [("by_user", "blocked")]
    assert {each.receiver: each.calls for each in found.not_judged} == {
        "by_value": 2, "by_all": 2, "by_context": 2, "by_condition": 1
    }  # fmt: skip
    assert "values of its arguments were not recorded" in str(found)


def test_a_value_that_was_redacted_or_recorded_as_a_word_is_not_judged(path):
    bank = Bank(values=True)
    with Journal(path) as journal:
        journal.attach(bank.bus)
        bank.bus.redact(patterns="4711")
        bank.pay("ada", [object()])
        bank.pay("ada", "my pin is 4711")
        found = replay(journal, guarded(lambda teller, amount: Block("x"), name="guard"))
        (unjudged,) = found.not_judged
        assert "the recorded value of amount is redacted" in unjudged.why and unjudged.calls == 2
        other = replay(journal, guarded(lambda teller, to: Block("x"), name="guard"))
        assert len(other.differences) == 2


@pytest.fixture
def agents(path):
    bus = Bus(values=True)
    act = hookable("act", bus=bus)(lambda self, what: what)
    Treasurer.act = act
    with Journal(path) as journal:
        journal.attach(bus)
        Treasurer().act("a")
        Deputy().act("b")

        gone = type("Gone", (), {"act": act})
        gone().act("c")
        gone.__qualname__ = "Other"
        yield journal


def test_guards_of_a_class_are_asked_about_its_calls_with_a_stand_in_for_the_sender(agents):
    def limited(agent, what):
        assert isinstance(agent, Treasurer)
        return Block(what) if agent.limit == 7 else None

    bus = Bus()
    bus.signal("pre_act").connect(limited, Deputy, role="guard", name="limited")
    found = replay(agents, bus)
    assert [each.reason for each in found.differences] == ["b"]
    assert [(each.receiver, each.calls) for each in found.not_judged] == [("limited", 1)]
    assert "the sender is unknown here" in found.not_judged[0].why


def test_a_guard_that_looks_at_what_is_gone_of_the_sender_is_not_judged(agents):
    def by_name(agent):
        return Block("ada") if agent.name.startswith("ada") else None

    found = replay(agents, guarded(by_name, "pre_act", name="by_name"))
    assert found.differences == ()
    assert {each.why: each.calls for each in found.not_judged} == {
        "it reads 'name' of the sender, which no longer exists": 2,
        "it reads the sender, which is unknown here": 1,
    }
    agent = Treasurer()
    bus = Bus()
    bus.signal("pre_act").connect(by_name, agent, role="guard", name="own")
    found = replay(agents, bus)
    assert sum(each.calls for each in found.not_judged) == 3


class Alike(type):
    """Of its classes each says that it is equal to all others, and that all objects are its own."""

    __hash__ = None

    def __eq__(cls, other):
        return True

    def __instancecheck__(cls, other):
        return True


def test_classes_are_told_apart_by_what_they_are_and_not_by_what_their_metaclass_says(path):
    bus = Bus(values=True)

    class Teller(metaclass=Alike):
        @hookable("act", bus=bus)
        def act(self, what):
            return what

    class Guarded(metaclass=Alike):
        pass

    class Heir(Teller):
        pass

    def guard(agent, what):
        return Block(what)

    with Journal(path) as journal:
        journal.attach(bus)
        Teller().act("a")
        Heir().act("b")
        scopes = (Guarded, []), (Guarded(), []), (Teller, ["a", "b"]), (Heir, ["b"])
        for scope, expected in scopes:
            today = Bus()
            today.signal("pre_act").connect(guard, scope, role="guard", name="guard")
            found = replay(journal, today)
            assert [each.reason for each in found.differences] == expected
            assert found.not_judged == ()


def test_what_a_guard_asks_for_and_the_call_did_not_have_is_not_judged(path):
    bank = Bank(values=True)
    with Journal(path) as journal:
        journal.attach(bank.bus)
        bank.pay("ada", 1)
        bank.pay("ada", ["x" * 90_000] * 12)

        def newer(teller, amount, currency):
            raise AssertionError("it is not asked")

        found = replay(journal, guarded(newer, name="newer"))
        assert {each.why for each in found.not_judged} == {
            "it needs currency, which the call did not have"
        }
        large = replay(journal, guarded(lambda teller, amount: Block("x"), name="guard"))
    assert [each.arguments["amount"] for each in large.differences] == [1]
    assert sum(each.calls for each in large.not_judged) == 1


def test_what_is_no_journal_or_no_bus_is_refused(night):
    for odd in ((night, None), (None, Bus()), (str(night.path), Bus())):
        with pytest.raises(HookError, match="needs a Journal and a Bus"):
            replay(*odd)
