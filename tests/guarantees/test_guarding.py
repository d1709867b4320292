"""Guarded or not at all: what must never pass unwatched, and what counts as a watch."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from hookbus import ANY, Block, Bus, HookBlocked, HookError, explain, hookable, report
from hookbus.events import Blocked, Failed
from hookbus.exceptions import HookWarning

COLOURS = ("sync", "async", "generator", "async generator")


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture(params=COLOURS)
def colour(request):
    return request.param


def body_of(colour):
    def pay(self, amount=1):
        return [amount]

    async def pay_async(self, amount=1):
        return [amount]

    def pay_items(self, amount=1):
        yield amount

    async def pay_async_items(self, amount=1):
        yield amount

    found = dict(zip(COLOURS, (pay, pay_async, pay_items, pay_async_items)))[colour]
    found.__name__ = "pay"
    return found


def make(bus, colour, **given):
    """A class with a hookable `pay`, whose body is of this colour."""
    return type("Bank", (), {"pay": hookable("pay", bus=bus, **given)(body_of(colour))})


def call(colour, bank, amount=1):
    if colour == "sync":
        return bank.pay(amount)
    if colour == "async":
        return asyncio.run(bank.pay(amount))
    if colour == "generator":
        return list(bank.pay(amount))

    async def drain():
        return [item async for item in bank.pay(amount)]

    return asyncio.run(drain())


def is_blocked(colour, bank):
    try:
        call(colour, bank)
    except HookBlocked:
        return True
    return False


def agrees(bank, **kwargs):
    return None


def refuses(bank, **kwargs):
    return Block("no", code="limit", details={"limit": 100})


def breaks(bank, **kwargs):
    raise RuntimeError("secret")


# -- require_guard=True ----------------------------------------------------------------------------


def test_a_guarded_hook_that_nobody_watches_blocks_every_call(bus, colour):
    Bank, heard = make(bus, colour, require_guard=True), []
    assert is_blocked(colour, Bank())
    bus.events.connect(lambda bus, event: heard.append(event), kinds=Blocked)
    with pytest.raises(HookBlocked, match="require_guard=True: .*connect a guard to pre_"):
        call(colour, Bank())
    assert [event.receiver for event in heard] == ["require_guard=True"]
    assert [row.receiver for row in explain(Bank().pay)] == ["require_guard=True"]


def test_a_guard_opens_a_guarded_hook_and_its_going_closes_it(bus, colour):
    Bank = make(bus, colour, require_guard=True)
    for sender in (Bank, ANY, object):
        connection = bus.signal("pre_pay").connected_to(agrees, sender=sender, role="guard")
        assert call(colour, Bank()) == [1]
        connection.disable()
        assert is_blocked(colour, Bank())
        connection.enable()
        assert call(colour, Bank()) == [1]
        connection.disconnect()
        assert is_blocked(colour, Bank())


@pytest.mark.parametrize(
    "options",
    [
        {"role": "guard", "when": {"amount": "*"}},
        {"role": "guard", "shadow": True},
        {"role": "modify", "on_error": "block"},
        {"role": "observe"},
    ],
)
def test_what_does_not_watch_over_every_call_opens_nothing(bus, colour, options):
    Bank = make(bus, colour, require_guard=True)
    bus.signal("pre_pay").connect(agrees, sender=Bank, **options)
    assert is_blocked(colour, Bank())


def test_a_guard_of_one_object_opens_the_hook_for_that_object_only(bus, colour):
    Bank = make(bus, colour, require_guard=True)
    one, other = Bank(), Bank()
    bus.signal("pre_pay").connect(agrees, sender=one, role="guard")
    assert call(colour, one) == [1] and is_blocked(colour, other)


def test_a_guard_of_another_phase_or_of_an_unrelated_class_opens_nothing(bus):
    Bank, Other = make(bus, "sync", require_guard=True), type("Other", (), {})
    bus.signal("post_pay").connect(agrees, sender=Bank, role="guard")
    bus.signal("pre_pay").connect(agrees, sender=Other, role="guard")
    assert is_blocked("sync", Bank())


def test_a_replace_of_a_modifier_does_not_pass_a_guarded_hook(bus):
    from hookbus import Replace

    Bank = make(bus, "sync", require_guard=True)
    bus.signal("pre_pay").connect(lambda bank: Replace("paid"), sender=Bank)
    assert is_blocked("sync", Bank())


def test_guarded_is_inherited_until_an_override_says_otherwise(bus, colour):
    Bank = make(bus, colour, require_guard=True)
    Heir = type("Heir", (Bank,), {"pay": hookable("pay", bus=bus)(body_of(colour))})
    said = hookable("pay", bus=bus, require_guard=False)(body_of(colour))
    Free = type("Free", (Bank,), {"pay": said})
    assert is_blocked(colour, Heir()) and call(colour, Free()) == [1]


def test_a_guarded_function_and_a_guarded_staticmethod_are_closed_too(bus):
    @hookable("pay", bus=bus, require_guard=True)
    def pay():
        return 1

    class Bank:
        @staticmethod
        @hookable("pay", bus=bus, require_guard=True)
        def pay():
            return 1

        @classmethod
        @hookable("transfer", bus=bus, require_guard=True)
        def transfer(cls):
            return 1

    for closed in (pay, Bank.pay, Bank().pay, Bank.transfer):
        with pytest.raises(HookBlocked, match="require_guard=True"):
            closed()
    bus.signal("pre_pay").connect(agrees, sender=pay, role="guard")
    bus.signal("pre_transfer").connect(agrees, sender=Bank, role="guard")
    assert (pay(), Bank.transfer()) == (1, 1)
    with pytest.raises(HookBlocked):
        Bank.pay()


def test_an_attempt_that_repeats_does_not_pass_a_guarded_hook(bus):
    Bank = make(bus, "sync", require_guard=True)

    def twice(bank, call_next):
        for amount in (1, 2):
            with pytest.raises(HookBlocked):
                call_next(amount=amount)
        return "paid"

    bus.signal("around_pay").connect(twice, sender=Bank)
    assert is_blocked("sync", Bank())


def test_what_is_hookable_already_is_not_guarded_by_a_second_decorator_in_silence(bus):
    with pytest.raises(HookError, match="pass its options where"):
        hookable("pay", bus=bus, require_guard=True)(make(bus, "sync").pay)
    for wrong in ({"require_guard": 1}, {"on_block": "no"}, {"on_block": body_of("async")}):
        with pytest.raises(HookError, match="must be"):
            hookable("pay", bus=bus, **wrong)


# -- require ---------------------------------------------------------------------------------------


def test_require_names_what_is_bare_and_why_each_guard_does_not_count(bus):
    Bank = make(bus, "sync")
    Sub, Other, one = type("Sub", (Bank,), {}), type("Other", (), {}), Bank()
    pre, post = bus.signal("pre_pay"), bus.signal("post_pay")
    rows = [
        (pre, {"sender": Other}, "is connected to the class Other only"),
        (pre, {"sender": Sub}, "is connected to the class Sub only"),
        (pre, {"sender": one}, "is connected to Bank at .* only"),
        (pre, {"sender": Bank, "when": {"amount": "1"}}, "has a when= condition"),
        (pre, {"sender": Bank, "shadow": True}, "is in shadow mode"),
        (post, {"sender": Bank}, "is on post_pay"),
    ]
    for signal, options, why in rows:
        with signal.connected_to(agrees, role="guard", **options):
            said = f"no guard covers every 'pay' call of Bank: .*agrees .*not sufficient: it {why}"
            with pytest.raises(HookError, match=said):
                bus.require_guard("pay")
    with pre.connected_to(agrees, sender=Bank, role="guard") as connection:
        bus.require_guard("pay")
        connection.disable()
        with pytest.raises(HookError, match="is disabled"):
            bus.require_guard("pay")


def test_require_judges_the_sender_it_is_given_with_its_own_guards(bus):
    Bank = make(bus, "sync")
    Sub, one = type("Sub", (Bank,), {}), Bank()
    bus.signal("pre_pay").connect(agrees, sender=one, role="guard")
    bus.signal("pre_pay").connect(agrees, sender=Sub, role="guard")
    bus.require_guard("pay", sender=one)
    bus.require_guard("pay", sender=Sub)
    bus.require_guard("pay", sender=Sub())
    for bare in (Bank, Bank()):
        with pytest.raises(HookError, match="no guard"):
            bus.require_guard("pay", sender=bare)
    for stranger in (object(), int, len, ANY):
        with pytest.raises(HookError, match="has no hookable 'pay'"):
            bus.require_guard("pay", sender=stranger)


def test_require_asks_of_every_class_and_every_function_that_declares_the_hook(bus):
    Bank, Shop = make(bus, "sync"), make(bus, "async")

    @hookable("pay", bus=bus)
    def pay_all():
        return 1

    bus.signal("pre_pay").connect(agrees, sender=Bank, role="guard")
    bus.signal("pre_pay").connect(agrees, sender=Shop, role="guard")
    with pytest.raises(HookError, match="every 'pay' call of .*pay_all:"):
        bus.require_guard("pay")
    bus.signal("pre_pay").connect(agrees, sender=pay_all, role="guard")
    bus.require_guard("pay")
    with pytest.raises(HookError, match="post_pay"):
        bus.require_guard("pay", phase="post")
    with pytest.raises(HookError, match="phase='around' cannot have guards"):
        bus.require_guard("pay", phase="around")
    with pytest.raises(HookError, match="did you mean 'pay'"):
        bus.require_guard("apy")


def test_require_does_not_pass_an_override_that_nothing_sees(bus):
    Bank = make(bus, "sync")
    bus.signal("pre_pay").connect(agrees, sender=Bank, role="guard")
    Sly = type("Sly", (Bank,), {"pay": lambda self: 0})
    unseen = f"{Sly.__name__}.pay, which overrides a hookable: no receiver sees it"
    with pytest.raises(HookError, match=unseen):
        bus.require_guard("pay")


def test_a_guard_of_a_metaclass_watches_over_its_classes_and_not_over_their_objects(bus):
    Meta = type("Meta", (type,), {})
    pay, transfer = (hookable(name, bus=bus)(body_of("sync")) for name in ("pay", "transfer"))
    Bank = Meta("Bank", (), {"pay": pay, "transfer": classmethod(transfer)})
    bus.signal("pre_pay").connect(agrees, sender=Meta, role="guard")
    bus.signal("pre_transfer").connect(agrees, sender=Meta, role="guard")
    bus.require_guard("transfer", sender=Bank)
    for sender in (None, Bank, Bank()):
        with pytest.raises(HookError, match="no guard"):
            bus.require_guard("pay", sender=sender)


# -- what the caller of a blocked call gets --------------------------------------------------------


@pytest.mark.parametrize("guard", [refuses, breaks])
def test_blocked_says_what_the_caller_of_a_blocked_call_gets(bus, colour, guard):
    asked = []
    Bank = make(bus, colour, on_block=lambda blocked: asked.append(blocked) or str(blocked))
    bus.signal("pre_pay").connect(guard, sender=Bank, role="guard", name="limit")
    answer = call(colour, Bank())
    (said,) = asked
    assert isinstance(said, HookBlocked) and said.receiver == "limit"
    assert answer == (str(said) if colour in ("sync", "async") else [str(said)])
    assert "secret" not in str(answer)


def test_a_result_of_the_verdict_goes_before_what_the_host_says(bus, colour):
    Bank = make(bus, colour, on_block=lambda blocked: "host")
    bus.signal("pre_pay").connect(
        lambda bank: Block("no", result="verdict"), sender=Bank, role="guard"
    )
    assert call(colour, Bank()) in ("verdict", ["verdict"])


def test_blocked_serves_guards_of_post_and_modifiers_that_close(bus):
    for phase, options in (("post", {"role": "guard"}), ("pre", {"on_error": "block"})):
        Bank = make(bus, "sync", on_block=lambda blocked: blocked.reason)
        with bus.signal(f"{phase}_pay").connected_to(breaks, sender=Bank, **options):
            assert "failed: RuntimeError" in Bank().pay()


def test_blocked_that_fails_lets_the_block_out_and_says_so(bus, colour, caplog):
    async def late(blocked):
        return "never"

    for wrong in (lambda blocked: 1 / 0, lambda blocked: late(blocked)):
        Bank = make(bus, colour, on_block=wrong)
        bus.signal("pre_pay").connect(refuses, sender=Bank, role="guard")
        with pytest.raises(HookBlocked, match="no"):
            call(colour, Bank())
    said = [record.getMessage() for record in caplog.records]
    assert "on_block= function of pay raised ZeroDivisionError (" in said[0]
    assert "on_block= function of pay returned an awaitable (" in said[1]


def test_blocked_never_serves_the_block_of_a_nested_call(bus):
    Inner = make(bus, "sync")
    bus.signal("pre_pay").connect(refuses, sender=Inner, role="guard")

    class Outer:
        @hookable("shop", bus=bus, on_block=lambda blocked: "outer")
        def shop(self):
            return Inner().pay()

    bus.signal("pre_shop").connect(agrees, sender=Outer, role="guard")
    with pytest.raises(HookBlocked, match="pay was blocked"):
        Outer().shop()


def test_blocked_is_inherited_and_an_interrupt_in_it_goes_out(bus):
    def interrupted(blocked):
        raise KeyboardInterrupt

    Bank = make(bus, "sync", on_block=interrupted)
    Heir = type("Heir", (Bank,), {"pay": hookable("pay", bus=bus)(body_of("sync"))})
    bus.signal("pre_pay").connect(refuses, sender=Bank, role="guard")
    with pytest.raises(KeyboardInterrupt):
        Heir().pay()


# -- shadow ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_heard", [False, True])
@pytest.mark.parametrize("phase", ["pre", "after"])
def test_a_guard_in_shadow_is_told_of_and_stops_nothing(colour, phase, is_heard):
    bus, heard = Bus(), []
    Bank = make(bus, colour)
    if phase == "after":
        phase = "item" if "generator" in colour else "post"
    bus.signal("pre_pay").connect(lambda bank, amount: {"amount": amount + 1}, sender=Bank)
    signal = bus.signal(f"{phase}_pay")
    for guard in (breaks, refuses, breaks, lambda bank: "odd"):
        name = f"shadow {guard.__name__}"
        with signal.connected_to(guard, sender=Bank, role="guard", shadow=True, name=name):
            assert call(colour, Bank()) == [2]
    if is_heard:
        bus.events.connect(lambda bus, event: heard.append(event), kinds=(Blocked, Failed))
    for i, guard in enumerate((breaks, refuses, lambda bank: "odd", lambda bank: breaks(bank))):
        signal.connect(guard, sender=Bank, role="guard", shadow=True, name=f"shadow{i}")
    assert call(colour, Bank()) == [2]
    if is_heard:
        told = [(event.receiver, type(event).__name__, event.enforced) for event in heard]
        assert told == [
            ("shadow0", "Failed", False), ("shadow1", "Blocked", False),
            ("shadow2", "Failed", False), ("shadow3", "Failed", False),
        ]  # fmt: skip
        assert heard[1].code == "limit"
    signal.connect(refuses, sender=Bank, role="guard")
    assert is_blocked(colour, Bank())


def test_one_of_many_guards_is_in_shadow_and_every_block_of_the_others_is_told(colour):
    bus, heard = Bus(), []
    Bank = make(bus, colour)
    signal = bus.signal("pre_pay")
    for i in range(20):
        guard = (lambda bank: Block("no")) if i == 10 else lambda bank: None
        signal.connect(guard, sender=Bank, role="guard", shadow=i == 10, name=str(i))
    assert call(colour, Bank()) == [1]
    signal.connect(refuses, sender=Bank, role="guard", name="last")
    bus.events.connect(lambda bus, event: heard.append(event), kinds=(Blocked,))
    assert is_blocked(colour, Bank()) and is_blocked(colour, Bank())
    assert [event.receiver for event in heard] == ["10", "last"] * 2


def test_a_guard_in_shadow_is_said_to_be_one(bus):
    Bank = make(bus, "sync")
    bus.signal("pre_pay").connect(refuses, sender=Bank, role="guard", shadow=True)
    (row,) = explain(Bank().pay)
    assert row.shadow is True and "shadow" in str(explain(Bank().pay))
    found = report(bus).findings
    assert any("in shadow mode, so it blocks nothing: refuses" in each for each in found)


def test_only_guards_can_be_in_shadow(bus):
    for options in ({}, {"role": "observe"}, {"role": "modify", "on_error": "block"}):
        with pytest.raises(HookError, match="shadow=True puts a guard in shadow mode"):
            bus.signal("pre_pay").connect(refuses, shadow=True, **options)
    with pytest.raises(HookError, match="shadow='no' must be True or False"):
        bus.signal("pre_pay").connect(refuses, role="guard", shadow="no")


def test_the_deadline_of_a_guard_in_shadow_ends_only_the_guard(bus):
    async def slow(bank):
        await asyncio.sleep(60)

    Bank = make(bus, "async")
    bus.signal("pre_pay").connect(slow, sender=Bank, role="guard", shadow=True, timeout=0.01)
    assert call("async", Bank()) == [1]


# -- overrides -------------------------------------------------------------------------------------


def test_a_guard_warns_of_an_override_that_passes_on_and_report_says_what_is_seen(bus, colour):
    Bank = make(bus, colour)

    class Child(Bank):
        def pay(self, amount=1):
            return super().pay(amount)

    said = r"Child.pay, which overrides a hookable: receivers see only what it passes to super\(\)"
    for options in ({"role": "guard"}, {"role": "modify", "on_error": "block"}):
        with pytest.warns(HookWarning, match=said):
            bus.signal("post_pay" if "gen" not in colour else "item_pay").connect(
                lambda bank: None, sender=Child, **options
            )
    assert "receivers see only what it passes to super()" in " ".join(str(report(bus)).split())


def test_an_override_that_comes_after_the_guard_is_logged_once_when_it_passes_on(bus, caplog):
    Bank = make(bus, "sync")
    bus.signal("pre_pay").connect(agrees, role="guard")

    class Child(Bank):
        def pay(self, amount=1):
            return [*super().pay(amount), "bonus"]

    for _ in range(2):
        assert Child().pay() == [1, "bonus"] and Bank().pay() == [1]
        bus.signal("post_pay").connect(lambda bank: None, name="another plan")
    [said] = caplog.messages
    assert "agrees (" in said and "does not guard all of" in said and "Child.pay, " in said
    bus.require_guard("pay")
    bus.signal("post_pay").connect(agrees, role="guard")
    with pytest.raises(HookError, match="pay is guarded, but .*Child.pay, .*passes to super"):
        bus.require_guard("pay", phase="post")


def test_a_mixin_ahead_of_a_hookable_is_an_override(bus):
    Bank = make(bus, "sync")
    Mixin = type("Mixin", (), {"pay": lambda self, amount: 0})
    Mixed = type("Mixed", (Mixin, Bank), {})
    with pytest.warns(HookWarning, match=r"pay \(ahead of it in Mixed\), .*no receiver sees it"):
        bus.signal("pre_pay").connect(refuses, sender=Bank, role="guard")
    with pytest.raises(HookError, match="Mixin.pay"):
        bus.require_guard("pay")
    from hookbus import hook_overrides

    hook_overrides(Bank)
    assert is_blocked("sync", Mixed())
    bus.require_guard("pay")


def test_hook_overrides_makes_present_and_future_overrides_hookable(bus, colour, recwarn):
    from hookbus import hook_overrides

    Bank = make(bus, colour, require_guard=True, on_block=lambda blocked: "closed")
    Present = type("Present", (Bank,), {"pay": body_of(colour)})
    assert hook_overrides(Bank) is Bank
    Future = type("Future", (Present,), {"pay": body_of(colour)})
    for cls in (Bank, Present, Future):
        assert call(colour, cls()) in ("closed", ["closed"])
    bus.signal("pre_pay").connect(agrees, sender=Bank, role="guard")
    for cls in (Bank, Present, Future):
        assert call(colour, cls()) == [1]
    assert not recwarn.list and bus._checks.uncovered() == []
    bus.require_guard("pay")


def test_hook_overrides_needs_a_class_with_hookable_methods():
    from hookbus import hook_overrides

    for wrong in (3, type("Bare", (), {})):
        with pytest.raises(HookError, match="hook_overrides takes|has no hookable method"):
            hook_overrides(wrong)


def test_a_block_keeps_its_code_and_details_through_a_pickle(bus):
    Bank = make(bus, "sync")
    bus.signal("pre_pay").connect(refuses, sender=Bank, role="guard")
    with pytest.raises(HookBlocked) as caught:
        Bank().pay()
    verdict = pickle.loads(pickle.dumps(caught.value.verdict))
    assert (verdict.code, verdict.details) == ("limit", {"limit": 100})
    assert "100" not in str(caught.value) and "100" not in repr(verdict)


def test_what_is_abstract_needs_no_guard_as_nobody_can_call_it(bus, colour):
    abstract = body_of(colour)
    abstract.__isabstractmethod__ = True
    Account = type("Account", (), {"pay": hookable("pay", bus=bus)(abstract)})
    Bank = type("Bank", (Account,), {"pay": hookable("pay", bus=bus)(body_of(colour))})
    bus.signal("pre_pay").connect(agrees, sender=Bank, role="guard")
    bus.require_guard("pay")
