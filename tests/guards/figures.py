"""Measure ready guards on texts of 10 kB, 100 kB and 1 MB: `python -m tests.guards.figures`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from hookbus import Bus, HookBlocked, guards, hookable

from .hostile import BENIGN, HOSTILE

SIZES = (10_000, 100_000, 1_000_000)


def _call(guard: Any, value: Any, *, is_result: bool) -> tuple[float, bool]:
    """Return the seconds that a call takes, and whether it was blocked."""
    bus = Bus()
    bus.register(guard)

    @hookable("tool_call", bus=bus)
    def tool_call(name: str, arguments: dict[str, Any]) -> Any:
        return value if is_result else None

    began = time.thread_time()
    try:
        tool_call("send", {} if is_result else {"to": value, "path": value, "url": value})
    except HookBlocked:
        return time.thread_time() - began, True
    return time.thread_time() - began, False


def _judges(make: Callable[[], Any]) -> Callable[[Any], tuple[float, bool]]:
    return lambda value: _call(make(), value, is_result=False)


def _cleans(make: Callable[[], Any]) -> Callable[[Any], tuple[float, bool]]:
    return lambda value: _call(make(), value, is_result=True)


def _told() -> Any:
    guard = guards.provenance({"send": "to"})
    guard.trust("to ada")
    return guard


GUARDS: dict[str, Callable[[Any], tuple[float, bool]]] = {
    "redact": _cleans(guards.redact),
    "quarantine": _cleans(guards.quarantine),
    "provenance": _judges(_told),
    "provenance, a result": _cleans(_told),
    "tool_policy": _judges(
        lambda: guards.tool_policy(allow={"send": {"to": "*a*b*c*d*"}}, default="block")
    ),
    "paths_within": _judges(lambda: guards.paths_within("/tmp")),
    "public_hosts": _judges(guards.public_hosts),
    "rate_limit": _judges(lambda: guards.rate_limit(10)),
}


def main(names: list[str]) -> None:
    for name in names or GUARDS:
        for kind, several in (("hostile", HOSTILE), ("benign", BENIGN)):
            for size in SIZES:
                rows = [(*GUARDS[name](make(size)), what) for what, make in several.items()]
                rows.sort(reverse=True)
                blocked = [what for _, is_blocked, what in rows if is_blocked]
                worst = ", ".join(f"{what} {took:.3f}" for took, _, what in rows[:4])
                share = f"blocked {len(blocked):2}/{len(rows)}"
                print(f"{name:22} {kind:8} {size:9,}  {share}  {worst}")
                if kind == "benign" and blocked and name in ("redact", "quarantine"):
                    print("    blocked:", ", ".join(blocked))
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
