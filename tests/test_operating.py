"""The operator's word while a program runs: receivers are switched, and a locked guard stays."""

import pytest

from hookbus import ANY, Block, Bus, HookBlocked, HookError, explain, hookable, report
from hookbus.events import Blocked, Started, Switched


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def heard(bus):
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=(Switched, Blocked))
    return told


@pytest.fixture
def pay(bus):
    @hookable(bus=bus)
    def pay(amount):
        return f"paid {amount}"

    return pay


def no(pay, amount):
    return Block("not today")


def double(pay, amount):
    return {"amount": amount * 2}


@pytest.mark.parametrize("sender", ["any", "own"])
def test_a_guard_is_switched_off_put_in_shadow_and_switched_on_again(bus, heard, pay, sender):
    bus.signal("pre_pay").connect(no, sender=ANY if sender == "any" else pay, role="guard")
    with pytest.raises(HookBlocked):
        pay(1)

    [switched] = bus.switch("no", "disable", by="ada")
    assert switched.endswith("on pre_pay")
    assert pay(1) == "paid 1"

    bus.switch("no", "shadow", by="ada")
    assert pay(1) == "paid 1"
    assert heard[-1].enforced is False

    bus.switch("no", "enable", by="ada")
    with pytest.raises(HookBlocked):
        pay(1)
    told = [(each.receiver, each.hook, each.act, each.by) for each in heard
            if isinstance(each, Switched)]  # fmt: skip
    assert told == [("no", "pay", act, "ada") for act in ("disable", "shadow", "enable")]


def test_a_method_of_one_object_is_switched_by_the_last_part_of_its_name(bus):
    class Agent:
        @hookable(bus=bus)
        def reply(self):
            return "fine"

    agent = Agent()
    bus.signal("pre_reply").connect(
        lambda agent: Block("no"), sender=agent, role="guard", name="Guards.no"
    )
    bus.switch("no", "disable", by="ada")
    assert agent.reply() == "fine"
    bus.switch("Guards.no", "enable", by="ada")
    with pytest.raises(HookBlocked):
        agent.reply()


@pytest.mark.parametrize("act", ["disable", "shadow"])
def test_a_locked_guard_stays_and_nothing_else_of_its_name_is_switched(bus, heard, pay, act):
    bus.signal("post_pay").connect(no, role="guard")
    bus.signal("pre_pay").connect(no, role="guard", locked=True)
    with pytest.raises(HookError, match=r"no \(.*\) on pre_pay has locked=True, so it cannot"):
        bus.switch("no", act, by="ada")
    assert heard == []
    with pytest.raises(HookBlocked):
        pay(1)
    assert report(bus).receivers[0]["state"] != "disabled"
    assert explain(pay)[0].locked is True


@pytest.mark.parametrize("name, act, problem", [
    ("dobule", "disable", "no receiver is connected as 'dobule'; did you mean 'double'"),
    ("double", "shadow", "is not a guard, and only guards can be in shadow mode"),
    ("double", "disabel", "act='disabel' is not valid; did you mean 'disable'"),
])  # fmt: skip
def test_what_cannot_be_switched_is_refused(bus, heard, pay, name, act, problem):
    bus.signal("pre_pay").connect(double)
    with pytest.raises(HookError, match=problem):
        bus.switch(name, act, by="ada")
    assert pay(1) == "paid 2"
    assert heard == []


@pytest.mark.parametrize("options", [{}, {"role": "observe"}, {"role": "guard", "shadow": True}])
def test_only_a_guard_that_is_enforced_can_be_locked(bus, options):
    with pytest.raises(HookError, match="locked=True prevents an operator from switching"):
        bus.signal("pre_pay").connect(no, locked=True, **options)


def test_a_disabled_guard_does_not_guard_what_is_guarded(bus):
    @hookable(bus=bus, require_guard=True)
    def pay():
        return "paid"

    bus.signal("pre_pay").connect(lambda pay: None, role="guard", name="yes")
    assert pay() == "paid"
    for act in ("disable", "shadow"):
        bus.switch("yes", act, by="ada")
        with pytest.raises(HookBlocked, match="no guard covers this call"):
            pay()


def test_guards_to_come_are_in_shadow_by_the_operators_word_but_for_locked_ones(bus, heard, pay):
    bus._operator.prepare(["no"], [])
    bus.signal("pre_pay").connect(no, role="guard")
    assert pay(1) == "paid 1"
    assert [each.enforced for each in heard] == [False]
    bus.signal("pre_pay").connect(no, role="guard", locked=True)
    with pytest.raises(HookBlocked):
        pay(1)


def test_guards_that_are_there_are_in_shadow_by_the_operators_word(bus, pay):
    bus.signal("pre_pay").connect(no, role="guard")
    with pytest.raises(HookBlocked):
        pay(1)
    bus._operator.prepare(["no"], [])
    assert pay(1) == "paid 1"


def test_a_required_hook_is_blocked_until_a_guard_watches_over_it(bus, pay):
    assert pay(1) == "paid 1"
    bus._operator.prepare([], ["pay", "refund"])
    with pytest.raises(HookBlocked, match="no guard covers this call"):
        pay(1)

    @hookable(bus=bus)
    def refund():
        return "back"

    with pytest.raises(HookBlocked, match="no guard covers this call"):
        refund()
    bus.signal("pre_pay").connect(lambda pay: None, role="guard")
    assert pay(1) == "paid 1"


def test_the_name_of_a_connection_that_was_refused_is_unknown(bus, pay):
    with pytest.raises(HookError, match="nope"):
        bus.signal("pre_pay").connect(lambda me, nope: None, name="refused", role="guard")
    with pytest.raises(HookError, match="no receiver is connected as 'refused'"):
        bus.switch("refused", "disable", by="ada")


def test_switching_alone_does_not_have_calls_told(bus, pay):
    bus.events.connect(lambda bus, event: None, kinds=Switched)
    assert not bus._switchboard.is_observed
    assert Started not in bus.events.listened_kinds


def connect_no(bus, **options):
    return bus.signal("pre_pay").connected_to(no, role="guard", **options)


@pytest.mark.parametrize("act, gets", [("disable", "paid 1"), ("shadow", "paid 1")])
def test_a_switch_holds_for_what_is_connected_under_the_name_later(bus, pay, act, gets):
    connect_no(bus).disconnect()
    for again in range(2):
        if not again:
            assert bus.switch("no", act, by="ada") == []  # in the middle of a reload
        connection = connect_no(bus)
        assert pay(1) == gets
        bus.signal("pre_pay").connect(no, role="guard", priority=again)
        assert pay(1) == gets
        connection.disconnect()
    bus.switch("no", "enable", by="ada")
    connect_no(bus)
    with pytest.raises(HookBlocked):
        pay(1)


@pytest.mark.parametrize("first", ["program", "operator"])
@pytest.mark.parametrize("lifts", ["program", "operator"])
def test_only_who_has_switched_a_receiver_off_switches_it_on(bus, pay, first, lifts):
    connection = connect_no(bus)
    off = {"program": connection.disable, "operator": lambda: bus.switch("no", "disable", by="a")}
    on = {"program": connection.enable, "operator": lambda: bus.switch("no", "enable", by="a")}
    off[first]()
    on["program" if first == "operator" else "operator"]()
    assert pay(1) == "paid 1"
    off["program" if first == "operator" else "operator"]()
    on[lifts]()
    assert pay(1) == "paid 1"
    on["program" if lifts == "operator" else "operator"]()
    with pytest.raises(HookBlocked):
        pay(1)


def test_an_operator_does_not_take_a_guard_out_of_the_programs_own_shadow(bus, pay):
    connect_no(bus, shadow=True)
    bus.switch("no", "disable", by="ada")
    bus.switch("no", "enable", by="ada")
    assert pay(1) == "paid 1"


def test_a_locked_guard_that_is_connected_later_is_in_force(bus, pay):
    connect_no(bus).disconnect()
    bus.switch("no", "disable", by="ada")
    connect_no(bus, locked=True)
    with pytest.raises(HookBlocked):
        pay(1)


def test_of_a_short_and_a_long_name_the_latest_word_holds(bus, pay):
    def connect():
        return bus.signal("pre_pay").connected_to(no, role="guard", name="Guards.no")

    connect().disconnect()
    bus.switch("no", "disable", by="ada")
    bus.switch("Guards.no", "enable", by="ada")
    with connect(), pytest.raises(HookBlocked):
        pay(1)
    bus.switch("no", "disable", by="ada")
    with connect():
        assert pay(1) == "paid 1"
    bus.switch("no", "enable", by="ada")
    with connect(), pytest.raises(HookBlocked):
        pay(1)


def test_a_guard_that_is_switched_off_satisfies_no_requirement_after_a_reconnect(bus):
    pay = hookable("pay", bus=bus, require_guard=True)(lambda: "paid")
    agrees = bus.signal("pre_pay").connected_to(lambda pay: None, role="guard", name="agrees")
    bus.switch("agrees", "disable", by="ada")
    agrees.disconnect()
    bus.signal("pre_pay").connect(lambda pay: None, role="guard", name="agrees")
    with pytest.raises(HookError, match="agrees .* is not sufficient: it is disabled"):
        bus.require_guard("pay")
    with pytest.raises(HookBlocked):
        pay()
