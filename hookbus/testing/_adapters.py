"""The contract of adapters for tool calls: what a guard must be able to rely on."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from .._bus import Bus
from .._connections.verdicts import Block, Replace
from ..events import Finished
from ..exceptions import HookError
from ._case import SECONDS, SECRET, Case, Install, MakeSample, expect
from ._recording import record


def adapter_contract(sample: MakeSample, install: Install) -> type:
    """Return the tests that an adapter must pass, as a class for pytest:

        TestAgentlib = adapter_contract(sample, agentlib.install)

    There is one test for each guarantee and each way to call the tool.

    Args:
        sample: a function that takes the body of a tool, with an amount and a name, and creates the
            framework's tool. The function returns a `Sample` with the ways to call the tool.
        install: installs the adapter on a bus, and returns the function that uninstalls it.
    """
    tests: dict[str, Any] = {"__doc__": "The contract of adapters.", "__module__": __name__}
    made = sample(lambda amount, to: "")
    for way, call in made.ways.items():
        is_awaited = made.awaits or inspect.iscoroutinefunction(call)
        checks = [each for each in _CHECKS if is_awaited or each is not an_async_guard_is_awaited]
        for check in checks:
            name = f"test_{check.__name__}__{re.sub(r'[^0-9a-zA-Z]+', '_', way).strip('_')}"
            tests[name] = _test_of(check, sample, install, way)
    return type("AdapterContract", (), tests)


def _test_of(
    check: Callable[[Case], None], make: MakeSample, install: Install, way: str
) -> Callable[[Any], None]:
    def test(self: Any) -> None:
        case = Case(make, install, way)
        try:
            check(case)
        finally:
            case.uninstall()

    test.__doc__ = f"{check.__doc__} Way: {way}."
    return test


# -- what a guard relies on ------------------------------------------------------------------------


def without_receivers_the_tool_runs_once(case: Case) -> None:
    """Nothing changes for a program without receivers."""
    [given] = case.call((1, "ann"))
    case.expect_paid((1, "ann"))
    case.expect_text(given, has=SECRET)


def a_guard_blocks_one_call_and_its_reason_is_told(case: Case) -> None:
    """A blocked call never enters the tool; other calls are not affected."""
    seen = case.connect_guard()
    [first], [second] = case.call((1, "ann")), case.call((2, "eve"))
    case.expect_paid((1, "ann"))
    case.expect_text(first, has=SECRET)
    case.expect_refusal(second, "not_to_eve")
    case.expect_refusal(second, "nothing goes to eve")
    expect(seen == ["another", "eve"], f"the guard was called for {seen}, not once for each call")


def a_block_may_have_a_result(case: Case) -> None:
    """The result of a `Block` replaces the tool's."""
    case.connect("pre", lambda sender: Block("no", result="try tomorrow"), role="guard")
    [given] = case.call((1, "ann"))
    case.expect_paid()
    case.expect_text(given, has="try tomorrow")


def an_async_guard_is_awaited(case: Case) -> None:
    """An async guard can block any call, even a sync call."""
    async def not_to_eve(sender: Any, ctx: Any) -> Block | None:
        await asyncio.sleep(0)
        return Block("nothing goes to eve") if case.is_for_eve(ctx) else None

    case.connect("pre", not_to_eve, role="guard", timeout=SECONDS)
    [given] = case.call((2, "eve"))
    case.expect_paid()
    case.expect_refusal(given, "nothing goes to eve")


def a_guard_that_raises_blocks_and_its_text_stays_inside(case: Case) -> None:
    """A guard that fails blocks the call."""

    def broken(sender: Any) -> None:
        raise LookupError("the policy is in /secret/file")

    case.connect("pre", broken, role="guard")
    [given] = case.call((1, "ann"))
    case.expect_paid()
    case.expect_refusal(given, "guard failed")
    case.expect_text(given, lacks="/secret/file")


def a_guard_that_is_late_blocks(case: Case) -> None:
    """A guard that exceeds its deadline blocks the call."""
    released = threading.Event()
    case.connect("pre", lambda sender: released.wait(5) and None, role="guard", timeout=0.05)
    [given] = case.call((1, "ann"))
    released.set()
    case.expect_paid()
    case.expect_refusal(given, "guard failed")


def a_guard_of_the_result_withholds_it(case: Case) -> None:
    """No part of a blocked result reaches the caller."""
    case.connect("post", lambda sender, result: Block("a pin stays here"), role="guard")
    [given] = case.call((1, "ann"))
    case.expect_paid((1, "ann"))
    case.expect_refusal(given, "a pin stays here")
    case.expect_text(given, lacks=SECRET)


# -- changes ---------------------------------------------------------------------------------------


def changed_arguments_reach_the_guards_and_the_tool(case: Case) -> None:
    """The tool gets the arguments that the guards checked."""
    argument = case.sample.argument
    case.connect("pre", lambda sender, ctx: {argument: _renamed(ctx.kwargs[argument])})
    seen = case.connect_guard()
    case.call((2, "eve"))
    case.expect_paid((2, "bob"))
    expect(seen == ["another"], "the guard did not see the changed arguments")


def _renamed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_renamed(each) for each in value]
    return "bob" if value == "eve" else value


def a_changed_result_leaves_no_copy_of_the_old_one(case: Case) -> None:
    """A changed result replaces every copy of the original."""
    case.connect(
        "post", lambda sender, result: str(result).replace(SECRET, "****"), on_error="block"
    )
    [given] = case.call((1, "ann"))
    case.expect_text(given, has="paid 1 to ann, ****", lacks=SECRET)


def a_replaced_call_does_not_run(case: Case) -> None:
    """A `Replace` is the result of the call."""
    case.connect("pre", lambda sender: Replace("from the cache"))
    [given] = case.call((1, "ann"))
    case.expect_paid()
    case.expect_text(given, has="from the cache")


# -- many calls, events, the end -------------------------------------------------------------------


def twenty_calls_at_once_are_each_judged(case: Case) -> None:
    """Concurrent calls do not affect each other."""
    seen = case.connect_guard()
    given = case.call(*((number, "eve" if number % 2 else "ann") for number in range(20)))
    case.expect_paid(*((number, "ann") for number in range(0, 20, 2)))
    expect(len(seen) == 20, f"the guard was called {len(seen)} times for 20 calls")
    for each in given[1::2]:
        case.expect_refusal(each, "nothing goes to eve")


def events_report_every_call_once(case: Case) -> None:
    """Each call emits one start event and one end event."""
    with record(case.bus) as calls:
        case.call((1, "ann"))
        case.call((2, "ann"))
    ended = [each.outcome for each in calls.of(Finished) if each.hook == case.sample.hook]
    expect(ended == ["returned", "returned"], f"the events of two calls report {ended}")


def it_installs_once_and_uninstalls_without_a_trace(case: Case) -> None:
    """Installing the adapter twice raises an exception. After uninstalling, no receiver is called.
    """
    seen = case.connect_guard()
    try:
        case.install(Bus())
    except HookError:
        pass
    else:
        raise AssertionError("a second install was not refused")
    case.call((2, "eve"))
    expect(seen == ["eve"], "the refused second install has removed the first")
    case.uninstall()
    case.uninstall()
    expect(case.bus.hook_names() == [], f"these hooks are left: {case.bus.hook_names()}")
    case.call((2, "eve"))
    case.expect_paid((2, "eve"))
    expect(seen == ["eve"], "a guard was called after uninstall")


_CHECKS: Final = (
    without_receivers_the_tool_runs_once, a_guard_blocks_one_call_and_its_reason_is_told,
    a_block_may_have_a_result, an_async_guard_is_awaited,
    a_guard_that_raises_blocks_and_its_text_stays_inside, a_guard_that_is_late_blocks,
    a_guard_of_the_result_withholds_it, changed_arguments_reach_the_guards_and_the_tool,
    a_changed_result_leaves_no_copy_of_the_old_one, a_replaced_call_does_not_run,
    twenty_calls_at_once_are_each_judged, events_report_every_call_once,
    it_installs_once_and_uninstalls_without_a_trace,
)  # fmt: skip
