"""guards.rate_limit and guards.budget with storage=fleet: counted once for all members."""

import asyncio
import subprocess
import sys
import threading

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.guards import budget, rate_limit

from .postgres import PASSWORDS

KINDS = ("sync", "async")


def tool_on(guard, kind="sync"):
    """Return a function that calls a tool under a guard, on a bus of its own."""
    bus = Bus()
    bus.register(guard)

    @hookable("tool_call", bus=bus)
    def call(name, arguments):
        return name

    @hookable("tool_call", bus=bus)
    async def call_async(name, arguments):
        return name

    if kind == "sync":
        return lambda name="pay": call(name, {})
    return lambda name="pay": asyncio.run(call_async(name, {}))


def model_on(guard, kind="sync", used=(0, 0)):
    """Return a function that calls a model under a guard, and says what it has used."""
    bus, use = Bus(), {"usage": {"input_tokens": used[0], "output_tokens": used[1]}}
    bus.register(guard)

    @hookable("model_call", bus=bus)
    def call(model, messages, options):
        return use

    @hookable("model_call", bus=bus)
    async def call_async(model, messages, options):
        return use

    call_async.bus = call.bus = bus
    if kind == "sync":
        return lambda tokens: call("gpt-4o", "", {"max_tokens": tokens})
    return lambda tokens: asyncio.run(call_async("gpt-4o", "", {"max_tokens": tokens}))


def passed(call, times, *args):
    """Return how many of so many calls were not blocked."""
    count = 0
    for _ in range(times):
        try:
            call(*args)
            count += 1
        except HookBlocked as error:
            assert error.verdict.code in ("limit", "budget"), error
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_counts_the_calls_of_all_members(made, kind):
    calls = [tool_on(rate_limit(5, storage=made.open("agent")), kind) for _ in range(2)]
    with baggage(session="one"):
        assert [passed(call, 4) for call in calls] == [4, 1]
    with baggage(session="t\0wo\ud800"):
        assert [passed(call, 4) for call in calls] == [4, 1]
    assert passed(tool_on(rate_limit(6, storage=made.open("agent"))), 9) == 6


def test_each_user_tool_and_window_has_its_own_count(made, postgres):
    storage = made.open("agent")
    call = tool_on(rate_limit(2, per="tool", storage=storage))
    assert [passed(call, 3, name) for name in ("pay", "read")] == [2, 2]
    call = tool_on(rate_limit(2, per=60, storage=storage))
    assert passed(call, 3) == 2
    past = "counted = counted - interval '61 s', until = until - interval '61 s'"
    postgres.run_sql(f"UPDATE {made.schema}.calls SET {past}")
    assert passed(call, 3) == 2


def test_retain_drops_calls_that_no_limit_counts_any_more(made, postgres):
    call = tool_on(rate_limit(2, per=60, storage=made.open("agent")))
    assert passed(call, 1) == 1
    past = "counted = counted - interval '61 s', until = until - interval '61 s'"
    postgres.run_sql(f"UPDATE {made.schema}.calls SET {past}")
    other = tool_on(rate_limit(3, storage=made.open("agent")))
    assert passed(other, 1) == 1
    made.open("operator").retain(30)
    assert postgres.run_sql(f"SELECT count(*) FROM {made.schema}.calls") == [(1,)]
    assert passed(other, 3) == 2


def test_parallel_calls_never_exceed_a_limit_or_a_budget(made):
    limited = [tool_on(rate_limit(7, storage=made.open("agent"))) for _ in range(4)]
    paid = [model_on(budget(tokens=70, storage=made.open("agent")), used=(1, 9)) for _ in range(4)]
    won = []

    def use(call, *args):
        won.append(passed(call, 5, *args))

    for calls, args in ((limited, ()), (paid, (9,))):
        won.clear()
        threads = [threading.Thread(target=use, args=(call, *args)) for call in calls]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sum(won) == 7


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_is_settled_by_what_was_used(made, kind):
    guards = [budget(tokens=100, storage=made.open("agent")) for _ in range(2)]
    first, second = (model_on(each, kind, used=(10, 10)) for each in guards)
    first(79)
    with pytest.raises(HookBlocked, match="limit of 100 tokens per session reached"):
        second(80)
    second(79)
    first(59)
    assert passed(second, 2, 39) == 1


def test_a_call_that_did_not_run_costs_nothing_and_one_that_failed_its_reservation(made):
    storage, bus = made.open("agent"), Bus()
    is_blocked, fails = [True], [False]
    bus.register(budget(tokens=100, storage=storage))
    bus.signal("around_model_call").connect(
        lambda sender, call_next: Block("no") if is_blocked[0] else call_next(), priority=-1e9
    )

    @hookable("model_call", bus=bus)
    def call(model, messages, options):
        if fails[0]:
            raise ValueError("broken")
        return {"usage": {"input_tokens": 0, "output_tokens": 0}}

    def ask(tokens):
        return call("gpt-4o", "", {"max_tokens": tokens})

    with pytest.raises(HookBlocked, match="no"):
        ask(99)
    is_blocked[0], fails[0] = False, True
    with pytest.raises(ValueError, match="broken"):
        ask(49)
    fails[0] = False
    with pytest.raises(HookBlocked, match="limit of 100 tokens"):
        ask(50)
    ask(49)


def test_money_is_a_limit_of_its_own(made):
    call = model_on(budget(money=0.01, storage=made.open("agent")), used=(0, 0))
    with pytest.raises(HookBlocked, match=r"limit of \$0.01 per session"):
        call(100_000)
    call(10)


KILLED = """
import os, signal, sys
from hookbus import Bus, hookable
from hookbus.fleet import Fleet
from hookbus.guards import budget

bus = Bus()
bus.register(budget(tokens=100, storage=Fleet(sys.argv[1], schema=sys.argv[2])))

@hookable("model_call", bus=bus)
def call(model, messages, options):
    os.kill(os.getpid(), signal.SIGKILL)

call("gpt-4o", "", {"max_tokens": 59})
"""


def test_what_a_killed_process_had_reserved_stays_reserved(made, postgres):
    words = [sys.executable, "-c", KILLED, postgres.url("agent"), made.schema]
    assert subprocess.run(words, check=False).returncode == -9
    call = model_on(budget(tokens=100, storage=made.open("agent")))
    assert passed(call, 1, 40) == 0
    assert passed(call, 1, 39) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_server_is_a_block_and_it_goes_on_after_a_restart(made, postgres, kind):
    call = tool_on(rate_limit(5, storage=made.open("agent")), kind)
    ask = model_on(budget(tokens=100, storage=made.open("agent")), kind)
    call()
    ask(9)
    postgres.stop()
    try:
        with pytest.raises(HookBlocked, match="the number of calls is not known: the fleet at"):
            call()
        with pytest.raises(HookBlocked, match="the budget is not known: the fleet at"):
            ask(9)
    finally:
        postgres.start()
    assert passed(call, 9) == 4
    assert passed(ask, 3, 9) == 3


def test_a_bare_client_cannot_lower_a_count_or_a_budget(made, postgres):
    call = tool_on(rate_limit(2, storage=made.open("agent")))
    ask = model_on(budget(tokens=100, storage=made.open("agent")), used=(0, 90))
    call()
    ask(90)
    [(name, key)] = postgres.run_sql(f"SELECT name, key FROM {made.schema}.calls")
    postgres.run_sql(
        f"SELECT {made.schema}.count_call(%s, %s, 0, 0)", role="agent", values=[name, key]
    )
    assert passed(call, 3) == 1
    [(name, key)] = postgres.run_sql(f"SELECT name, key FROM {made.schema}.accounts")
    with pytest.raises(Exception, match="violates check constraint"):
        postgres.run_sql(
            f"SELECT {made.schema}.reserve('mine', %s, %s, -50, 0, NULL, NULL)", role="agent",
            values=[name, key],
        )  # fmt: skip
    postgres.run_sql(f"SELECT {made.schema}.settle('mine', -50, -50)", role="agent")
    assert passed(ask, 1, 20) == 0


def test_a_storage_that_is_none_is_refused_without_its_password():
    url = f"postgresql://agent:{PASSWORDS['agent']}@127.0.0.1/fleet"
    for make in (lambda: rate_limit(3, storage=url), lambda: budget(3, storage=url)):
        with pytest.raises(HookError, match="storage=") as found:
            make()
        assert PASSWORDS["agent"] not in str(found.value)
