"""guards.no_loops: the same calls over and over are stopped."""

import pytest

from hookbus import Block, HookBlocked, HookError, baggage
from hookbus.guards import no_loops, retry


def made(call, *names, **arguments):
    """Make calls; return which of them ran."""
    ran = []
    for name in names:
        try:
            call(name, **arguments)
            ran.append(True)
        except HookBlocked as blocked:
            assert blocked.verdict.code == "loop"
            ran.append(False)
    return ran


def test_the_same_call_runs_three_times_in_a_row_and_then_the_model_is_told(call, bus):
    bus.register(no_loops())
    assert made(call, *["read"] * 6, path="a", n={"x": 1, "y": 2}) == [True] * 3 + [False] * 3
    with pytest.raises(HookBlocked, match="3 times in a row.*try something else"):
        call("read", n={"y": 2, "x": 1}, path="a")
    assert made(call, "read", path="b") == [True]
    assert made(call, *["read"] * 4, path="a") == [True] * 3 + [False]


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_cycle_of_up_to_four_calls_is_one(call, bus, length):
    bus.register(no_loops(2))
    cycle = [f"tool_{number}" for number in range(length)]
    assert made(call, *cycle * 3) == [True] * (3 * length - 1) + [False]
    assert made(call, "other", *cycle) == [True] * (length + 1)


def test_a_longer_cycle_and_other_arguments_are_none(call, bus):
    bus.register(no_loops(1))
    assert all(made(call, *[f"tool_{number}" for number in range(5)] * 4))
    for number in range(9):
        call("read", page=number)
    for number in (1, True, "1", 1.5, None, [1]):
        call("read", page=number)
    for _ in range(9):
        call("read", page=object())  # what has no JSON is like no other


def test_calls_that_are_blocked_count_and_so_do_tools_that_do_not_exist(call, bus):
    bus.register(no_loops(2))
    no = lambda sender: Block("there is no such tool", code="unknown")  # noqa: E731
    bus.signal("pre_tool_call").connect(no, role="guard")
    codes = []
    for _ in range(4):
        with pytest.raises(HookBlocked) as error:
            call("raed", path="a")
        codes.append(error.value.verdict.code)
    assert codes == ["unknown", "unknown", "loop", "loop"]


def test_sessions_and_users_have_loops_of_their_own(call, bus):
    off = bus.register(no_loops(1))
    for session in (1, "1", 2, None):
        with baggage(session=session):
            assert made(call, "read", "read") == [True, False]
    off()
    bus.register(no_loops(1, per="user"))
    for user in ("ada", "bob"):
        with baggage(user=user, session="s"):
            assert made(call, "read", "read") == [True, False]


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "3", None, 10**9])
def test_a_number_that_is_none_is_refused(wrong):
    with pytest.raises(HookError, match="repeats="):
        no_loops(wrong)


def test_a_span_that_is_none_is_refused():
    with pytest.raises(HookError, match="per='tool' must be 'session' or 'user'"):
        no_loops(per="tool")


def test_a_retry_of_a_call_is_that_call(call, bus):
    bus.register(no_loops(1))
    bus.register(retry(ValueError, attempts=4, wait_initial=0.001, wait_max=0.001))
    call.result = ValueError("down")
    with pytest.raises(ValueError, match="down"):
        call("read")
    assert len(call.made) == 4
