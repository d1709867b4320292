"""guards.rate_limit: so many calls, and not one more."""

import asyncio
import math
import os
import threading
import time
import traceback

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.guards import _rate_limit, rate_limit, tool_policy


def allowed(call, count, name="read"):
    """Return how many of so many calls went through."""
    before = len(call.made)
    for _ in range(count):
        try:
            call(name)
        except HookBlocked as blocked:
            assert blocked.verdict.code == "limit"
    return len(call.made) - before


def test_a_session_has_so_many_calls_and_those_without_one_share_theirs(call, bus):
    bus.register(rate_limit(3))
    for session in ("a", "b", 7, "7"):
        with baggage(session=session):
            assert allowed(call, 5) == 3
    assert allowed(call, 5) == 3 and allowed(call, 5) == 0


def test_users_and_tools_have_theirs(call, bus):
    unregister = bus.register(rate_limit(2, per="user"))
    for user in ("ada", "bob"):
        with baggage(user=user, session=user * 2):
            assert allowed(call, 3) == 2
    unregister()
    bus.register(rate_limit(2, per="tool"))
    assert allowed(call, 3, "read") == 2 and allowed(call, 3, "write") == 2
    with pytest.raises(HookBlocked, match="limit of 2 calls per tool reached"):
        call("read")


def test_so_many_in_so_many_seconds_and_then_again(call, bus):
    bus.register(rate_limit(2, per=1))
    with pytest.raises(HookBlocked, match="limit of 2 calls per 1 seconds reached"):
        for _ in range(5):
            call("read")
    time.sleep(1.1)
    assert allowed(call, 1) == 1


def test_calls_that_another_guard_blocks_are_counted(call, bus):
    bus.register(rate_limit(3))
    no = bus.signal("pre_tool_call").connected_to(lambda sender: Block("no"), role="guard")
    for _ in range(2):
        with pytest.raises(HookBlocked, match="no"):
            call("read")
    no.disconnect()
    assert allowed(call, 5) == 1


def test_it_is_never_over_in_threads_side_by_side_and_in_tasks():
    count = 100_000 if os.environ.get("HOOKBUS_LONG") else 4_000
    bus, made = Bus(), []
    bus.register(rate_limit(100))

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        made.append(name)

    def many():
        for _ in range(count // 8):
            try:
                tool_call("read", {})
            except HookBlocked:
                continue

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 100

    bus.register(rate_limit(50, per="tool", hook="other_call"))

    @hookable("other_call", bus=bus)
    async def other_call(name, arguments):
        await asyncio.sleep(0)
        made.append(name)

    async def main():
        calls = (other_call("read", {}) for _ in range(count))
        return await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(main())
    assert len(made) == 150


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "3", None])
def test_a_number_of_calls_that_is_none_is_refused(wrong):
    with pytest.raises(HookError, match="calls must be a whole number"):
        rate_limit(wrong)


@pytest.mark.parametrize("wrong", ["sesion", 0, 0.5, -1, True, None, 1.5, math.nan, math.inf])
def test_a_span_that_is_none_is_refused(wrong):
    with pytest.raises(HookError, match="per="):
        rate_limit(3, per=wrong)


@pytest.mark.parametrize(
    "storage",
    ["redsi://ada:hunter2@x", "redis+cluster://:hunter2@", "hunter2", "redis://x:hunter2@h:port",
     b"redis://:hunter2@x"],
)  # fmt: skip
def test_a_storage_that_cannot_be_used_is_refused_without_its_password(storage):
    with pytest.raises(HookError, match="storage= .* cannot be used") as error:
        rate_limit(3, storage=storage)
    assert "hunter2" not in "".join(traceback.format_exception(error.value))


def test_a_storage_that_fails_blocks(call, bus, monkeypatch):
    monkeypatch.setattr("limits.storage.MemcachedStorage.__init__", lambda *a, **k: None)
    monkeypatch.setattr("limits.strategies.MovingWindowRateLimiter.__init__", lambda *a: None)
    monkeypatch.setattr("limits.strategies.MovingWindowRateLimiter.hit", lambda *a, **k: 1 / 0)
    bus.register(rate_limit(3, storage="memcached://localhost"))
    with pytest.raises(HookBlocked, match="guard failed: ZeroDivisionError"):
        call("read")
    assert call.made == []


def test_what_counts_no_more_is_forgotten(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("hookbus.guards._rate_limit.time.monotonic", lambda: now[0])
    window = _rate_limit._Window(2, 60)
    for i in range(5_000):
        now[0] += 1
        assert window.hit(f"session {i}")
    assert len(window._times) <= 1_100
    assert window.hit("session 4999") and not window.hit("session 4999")


ADDRESS = "redis://ada:hunter2@localhost:6379"


@pytest.mark.parametrize("make", [
    lambda: rate_limit(3, ADDRESS), lambda: rate_limit(ADDRESS),
    lambda: rate_limit(3, hook=ADDRESS),
    lambda: rate_limit(3, storge=ADDRESS), lambda: rate_limit(3, "tool", ADDRESS, 1),
    lambda: rate_limit(3, storage=[ADDRESS]), lambda: tool_policy(allow=[{}, ADDRESS, ADDRESS, 3]),
])  # fmt: skip
def test_an_address_given_for_another_setting_is_not_shown(make):
    with pytest.raises(HookError) as error:
        make()
    assert "hunter2" not in str(error.value)
