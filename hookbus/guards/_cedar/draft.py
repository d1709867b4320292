"""Generates a first policy from recorded calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from .library import quoted

MOST_VALUES: Final = 5
"""The maximum number of different strings to list for an argument. An argument with more strings is
not limited."""


def draft_of(calls: Sequence[tuple[str, Mapping[str, Any]]], hook: str) -> str:
    """Return policies that permit these calls, with limits derived from the values of arguments.

    Args:
        calls: the tool and the arguments of each call.
        hook: the hook of the calls.
    """
    by_tool: dict[str, list[Mapping[str, Any]]] = {}
    for tool, arguments in calls:
        by_tool.setdefault(tool, []).append(arguments)
    parts = [
        f"// A first policy from {_times(len(calls), 'call')} of {len(by_tool)} tools. Read each "
        "condition,\n// and remove those that only fit the recorded calls by chance.\n"
    ]
    for tool, several in sorted(by_tool.items(), key=lambda each: -len(each[1])):
        parts.append("\n".join(_policy(tool, several, hook)))
    return "\n".join(parts)


def _policy(tool: str, calls: list[Mapping[str, Any]], hook: str) -> Iterator[str]:
    yield f"// {quoted(tool)}: {_times(len(calls), 'call')}"
    yield f"@id({quoted(tool)})"
    kind = "Hook" if tool == hook else "Tool"
    action, resource = f"Action::{quoted(hook)}", f"{kind}::{quoted(tool)}"
    yield f"permit(principal, action == {action}, resource == {resource})"
    tests = list(_tests(calls))
    if tests:
        yield "when {"
        for number, (test, note) in enumerate(tests):
            joined = " &&" if number < len(tests) - 1 else ""
            yield f"    {test}{joined}  // {note}"
        yield "};\n"
    else:
        yield ";\n"


def _tests(calls: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(name for each in calls for name in each):
        values = [each[name] for each in calls if each.get(name) is not None]
        test = _test(f"context.arguments[{quoted(name)}]", values)
        if test is None:
            continue
        has = f"context.arguments has {quoted(name)}"
        seen = f"{len(values)} of {_times(len(calls), 'call')}"
        if len(values) == len(calls):
            yield f"({has} && {test})", seen
        else:
            yield f"(!({has}) || {test})", seen


def _test(place: str, values: list[Any]) -> str | None:
    kinds = {type(each) for each in values}
    if kinds == {int}:
        low, high = min(values), max(values)
        return f"{place} == {low}" if low == high else f"{place} >= {low} && {place} <= {high}"
    counts = Counter(values) if kinds == {str} else Counter[str]()
    if counts and len(counts) <= MOST_VALUES and len(counts) < max(2, len(values)):
        return _any(f"{place} == {quoted(each)}" for each, _ in counts.most_common())
    return None


def _any(tests: Iterable[str]) -> str:
    several = list(tests)
    return several[0] if len(several) == 1 else f"({' || '.join(several)})"


def _times(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
