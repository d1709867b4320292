"""How a service of a guard or approver failed is in the details of the block."""

import time

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, hookable
from hookbus.events import Blocked


class Down(Exception):
    failure = "late"  # of the class: only an exception itself says how a service failed

    def __getattribute__(self, name):
        raise RuntimeError("its code must not run")


def raising(error, failure):
    vars(BaseException)["__dict__"].__get__(error)["failure"] = failure

    def fail(sender, *_):
        raise error

    return fail


def slow(sender, *_):
    time.sleep(0.05)


def blocked(connect):
    """Return the details of a block, which are those of its event."""
    bus, emitted = Bus(), []
    bus.events.connect(lambda bus, event: emitted.append(event), kinds=[Blocked])
    pay = hookable("pay", bus=bus, identity=lambda sender: "the bank")(lambda: "paid")
    connect(bus)
    with pytest.raises(HookBlocked) as error:
        pay()
    assert [each.details for each in emitted] == [error.value.verdict.details]
    return error.value.verdict.details


@pytest.mark.parametrize("failure", ["absent", "late", "refused", "malformed", "unsent"])
@pytest.mark.parametrize("kind", [HookError, ValueError, Down], ids=lambda kind: kind.__name__)
def test_a_guard_or_an_approver_that_raises_says_how_its_service_failed(kind, failure):
    def as_guard(bus):
        bus.signal("pre_pay").connect(raising(kind(), failure), role="guard", weak=False)

    def as_approver(bus):
        bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
        bus.approver(raising(kind(), failure))

    assert blocked(as_guard) == blocked(as_approver) == {"failure": failure}


@pytest.mark.parametrize("failure", [None, "", "away", b"late", 5, ["late"]], ids=repr)
def test_any_other_value_is_in_no_details(failure):
    def connect(bus):
        bus.signal("pre_pay").connect(raising(Down(), failure), role="guard", weak=False)

    assert blocked(connect) is None


def test_a_guard_or_an_approver_that_exceeds_its_deadline_is_late():
    def as_guard(bus):
        bus.signal("pre_pay").connect(slow, role="guard", weak=False, timeout=0.001)

    def as_approver(bus):
        bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
        bus.approver(slow, timeout=0.001)

    assert blocked(as_guard) == blocked(as_approver) == {"failure": "late"}
