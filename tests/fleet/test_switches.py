"""Fleet.join: kills and switches hold in every member, and a member that hears nothing blocks."""

import os
import subprocess
import sys
import time

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, hookable
from hookbus.approvals import UnknownRequest
from hookbus.fleet import Fleet

ENOUGH = 60.0


def tools_of(bus):
    """Return a function that calls a tool on a bus."""

    @hookable("tool_call", bus=bus)
    def call(name, arguments):
        return f"ran {name}"

    return lambda name="pay_bill": call(name, {})


def until(condition):
    """Wait until a condition is true, and return the seconds that it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < ENOUGH, "it never became true"
        time.sleep(0.01)
    return time.monotonic() - began


def is_blocked(call, *args, code="killed"):
    try:
        call(*args)
    except HookBlocked as error:
        assert error.verdict.code == code, error
        return True
    return False


def test_a_kill_blocks_these_tools_in_every_member_until_it_is_revived(made):
    operator = made.open("operator")
    calls = []
    for _ in range(3):
        bus = Bus()
        calls.append(tools_of(bus))
        made.open("agent").join(bus)
    assert all(call() == "ran pay_bill" for call in calls)
    operator.kill("pay_*", by="ada", reason="a wrong amount")
    until(lambda: all(is_blocked(call) for call in calls))
    assert all(call("read") == "ran read" for call in calls)
    with pytest.raises(HookBlocked, match="pay_bill is stopped by ada: a wrong amount"):
        calls[0]()
    operator.revive("pay_*", by="ada")
    until(lambda: all(not is_blocked(call) for call in calls))
    assert operator.status().words == []


@pytest.mark.seconds
def test_a_kill_is_known_within_2_seconds(made):
    operator, bus = made.open("operator"), Bus()
    call = tools_of(bus)
    made.open("agent").join(bus)
    took = []
    for number in range(3):
        operator.kill(f"pay_{number}", by="ada")
        took.append(until(lambda: is_blocked(call, f"pay_{number}")))
    assert min(took) < 2.0


def test_who_joins_later_is_bound_from_its_first_call(made):
    operator = made.open("operator")
    operator.kill("*", by="ada")
    operator.switch("slow", "disable", by="ada")
    bus, seen = Bus(), []
    call = tools_of(bus)
    bus.signal("pre_tool_call").connect(lambda sender: seen.append(1), name="slow")
    made.open("agent").join(bus)
    assert is_blocked(call)
    operator.revive("*", by="ada")
    until(lambda: not is_blocked(call))
    assert seen == []


def test_a_kill_of_another_hook_holds_without_naming_it_in_join(made):
    operator, bus = made.open("operator"), Bus()

    @hookable("send_mail", bus=bus)
    def send(to):
        return "sent"

    made.open("agent").join(bus)
    operator.kill("*", hook="send_mail", by="ada")
    until(lambda: is_blocked(send, "bob"))


def test_a_kill_comes_before_other_guards_and_cannot_be_switched_off(made):
    operator, bus, asked = made.open("operator"), Bus(), []

    def guard(sender, name):
        asked.append(name)

    call = tools_of(bus)
    bus.signal("pre_tool_call").connect(guard, role="guard", priority=1e9)
    operator.kill("*", by="ada")
    made.open("agent").join(bus)
    assert is_blocked(call)
    assert asked == []
    with pytest.raises(HookError, match="locked"):
        bus.switch("fleet", "disable", by="eve")


def test_joining_a_fleet_replaces_no_guard_that_a_hook_requires(made, imported):
    bus = Bus()
    pay = hookable("tool_call", bus=bus, require_guard=True)(lambda name, arguments: "paid")
    made.open("agent").join(bus)
    with pytest.raises(HookBlocked, match="no guard covers this call"):
        pay("pay", {})
    with pytest.raises(HookError, match="fleet .* is not sufficient: it has a when= condition"):
        bus.require_guard("tool_call")


def test_a_switch_applies_to_receivers_of_all_members_also_to_later_ones(made):
    operator, bus, agent = made.open("operator"), Bus(), made.open("agent")
    call = tools_of(bus)

    def no_pay(sender, name):
        return Block("never") if name == "pay_bill" else None

    agent.join(bus)
    operator.switch("no_pay", "shadow", by="ada")
    operator.kill("marker", by="ada")
    until(lambda: is_blocked(call, "marker"))
    bus.signal("pre_tool_call").connect(no_pay, role="guard", name="no_pay")
    assert call() == "ran pay_bill"
    [_, word] = sorted(operator.status().words, key=lambda each: each["kind"])
    assert (word["name"], word["act"], word["by"]) == ("no_pay", "shadow", "ada")
    operator.switch("no_pay", "enable", by="ada")
    until(lambda: is_blocked(call, code=None))
    assert [each["kind"] for each in operator.status().words] == ["kill"]


def test_status_says_in_which_member_a_locked_guard_refused_a_switch(made):
    operator, bus = made.open("operator"), Bus()
    call = tools_of(bus)

    def no_pay(sender, name):
        return Block("never")

    bus.signal("pre_tool_call").connect(no_pay, role="guard", name="no_pay", locked=True)
    operator.switch("no_pay", "disable", by="ada")
    made.open("agent", member="worker 1").join(bus)
    made.open("agent", member="worker 2").join(Bus())
    until(lambda: len(operator.status().members) == 2)
    first, second = operator.status().members
    assert (first["member"], second["member"]) == ("worker 1", "worker 2")
    assert "locked=True" in first["refused"]["no_pay"] and second["refused"] == {}
    assert 0 <= first["age"] < ENOUGH and first["ships"] is None
    assert is_blocked(call, code=None)


def test_a_member_that_left_is_not_bound_and_is_not_listed(made):
    operator, bus = made.open("operator"), Bus()
    call = tools_of(bus)
    leave = made.open("agent").join(bus)
    operator.kill("*", by="ada")
    until(lambda: is_blocked(call))
    until(lambda: operator.status().members)
    leave()
    leave()
    assert call() == "ran pay_bill"
    assert operator.status().members == []


def test_what_was_heard_holds_while_the_server_is_away_then_calls_are_blocked(made, postgres):
    operator, bus = made.open("operator"), Bus()
    call = tools_of(bus)
    operator.kill("pay_*", by="ada")
    made.open("agent", blind=1).join(bus)
    seeing = Bus()
    call_of_seeing = tools_of(seeing)
    made.open("agent", blind=None).join(seeing)
    postgres.stop()
    try:
        assert is_blocked(call)
        until(lambda: is_blocked(call, "read", code="blind"))
        with pytest.raises(HookBlocked, match="the fleet has not been reached for"):
            call("read")
        assert call_of_seeing("read") == "ran read" and is_blocked(call_of_seeing)
    finally:
        postgres.start()
    until(lambda: not is_blocked(call, "read", code="blind"))
    assert is_blocked(call)


def test_a_forked_process_goes_on_as_a_member_of_its_own(made):
    operator, bus = made.open("operator"), Bus()
    call = tools_of(bus)
    made.open("agent", blind=None).join(bus)
    child = os.fork()
    if child == 0:
        try:
            until(lambda: is_blocked(call))
            until(lambda: any(str(os.getpid()) in each for each in names(operator)))
            os._exit(0)
        finally:
            os._exit(1)
    operator.kill("pay_*", by="ada")
    assert os.waitpid(child, 0)[1] == 0
    assert {str(os.getpid()), str(child)} <= {each.rpartition("/")[2] for each in names(operator)}


def names(operator):
    return [each["member"] for each in operator.status().members]


def test_join_raises_where_the_words_cannot_be_read(made, postgres):
    agent = made.open("agent")
    bus = Bus()
    call = tools_of(bus)
    postgres.stop()
    try:
        with pytest.raises(HookError, match="cannot be used"):
            agent.join(bus)
    finally:
        postgres.start()
    assert call() == "ran pay_bill"


@pytest.mark.parametrize("act", [
    lambda fleet: fleet.kill("", by="ada"), lambda fleet: fleet.kill("pay", by=""),
    lambda fleet: fleet.kill("pay", by=None), lambda fleet: fleet.kill("pay", by="ada", reason=3),
    lambda fleet: fleet.kill("pay\0", by="ada"), lambda fleet: fleet.kill("pay", by="a", hook="!"),
    lambda fleet: fleet.switch("guard", "off", by="ada"),
    lambda fleet: fleet.switch(None, "disable", by="ada"),
    lambda fleet: fleet.join(3), lambda fleet: fleet.join(Bus(), hooks=()),
    lambda fleet: fleet.join(Bus(), hooks=["a b"]),
], ids=[
    "no tool", "no operator", "none", "reason", "null", "hook", "act", "receiver", "bus",
    "no hooks", "hooks",
])  # fmt: skip
def test_bad_input_gets_one_clear_line(made, act):
    operator = made.open("operator")
    with pytest.raises(HookError) as found:
        act(operator)
    assert "=" in str(found.value) and "\n" not in str(found.value)
    assert operator.status().words == []


def test_what_was_not_killed_cannot_be_revived(made):
    operator = made.open("operator")
    operator.kill("pay_*", by="ada")
    with pytest.raises(UnknownRequest, match=r"did you mean 'pay_\*'"):
        operator.revive("pay_", by="ada")


def test_importing_hookbus_loads_no_library_of_a_fleet():
    code = "import sys, hookbus, hookbus.fleet; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert Fleet.__module__.startswith("hookbus.fleet")
