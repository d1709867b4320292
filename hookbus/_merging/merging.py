"""Helpers for the module `modes`: apply the rules of `merge`, and inspect modes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from .._ground.errors import did_you_mean
from .._ground.signatures import signature_of
from ..exceptions import HookError
from .rules import concat, first, intersect, last, update

Merged = dict[str, Any]

Function = Callable[[Any, Any], Any]

Rule = Function | Literal["last", "first", "concat", "update", "intersect"]

RULES: Final[dict[str, Function]] = {
    "last": last, "first": first, "concat": concat, "update": update, "intersect": intersect,
}  # fmt: skip

_KINDS: Final[dict[Any, tuple[type, ...]]] = {
    concat: (str, list, tuple),
    update: (Mapping,),
    intersect: (list, tuple, set, frozenset),
}
"""The types that a rule accepts. A rule without an entry accepts any type."""


def rule_of(key: str, rule: Any) -> Function:
    """Return a rule as a function.

    Raises:
        HookError: if no such rule exists.
    """
    found = RULES.get(rule) if isinstance(rule, str) else rule
    if not callable(found):
        hint = f"; available: {', '.join(RULES)}, or pass a function"
        hint = did_you_mean(rule, RULES) if isinstance(rule, str) else hint
        raise HookError(f"merge has no rule {rule!r:.60} for {key}{hint}")
    return found


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a rule or a mode."""
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def merged_with(
    merged: Merged, answer: object, of_key: Mapping[str, Function], of_rest: Function | None
) -> tuple[Merged, str | None]:
    """Return the merged values after one more answer. If the answer is invalid, return the values
    without this answer, but with `intersect` keys narrowed, and the reason.
    """
    if not isinstance(answer, Mapping):
        wanted = ", ".join(of_key) or "keys"
        kind = type(answer).__name__
        return merged, f"a {kind} cannot be merged: return a mapping of {wanted}"
    try:
        new_values = dict(answer)
    except Exception as error:
        return merged, f"the answer could not be read: {type(error).__name__}"
    draft, narrowed, reason = dict(merged), dict(merged), None
    for key, value in new_values.items():
        rule = of_key.get(key, of_rest)
        if value is None and rule is not None:
            continue
        refused = _added(draft, key, rule, value, of_key)
        reason = reason or refused
        if rule is intersect:
            narrowed[key] = draft[key] if refused is None else []
    return (draft, None) if reason is None else (narrowed, reason)


def _added(
    draft: Merged, key: str, rule: Function | None, value: Any, known: Mapping[str, Any]
) -> str | None:
    """Add one value to the draft. Return the reason if the value was rejected, else None."""
    if rule is None:
        return f"merge has no rule for {key!r}{did_you_mean(str(key), known)}"
    kinds = _KINDS.get(rule, (object,))
    if rule is concat and key in draft:
        kinds = tuple(kind for kind in kinds if isinstance(draft[key], kind))
    if not isinstance(value, kinds):
        takes = " or ".join(kind.__name__ for kind in kinds)
        return f"{rule.__name__} of {key!r} takes a {takes}, not a {type(value).__name__}"
    try:
        draft[key] = rule(draft[key], value) if key in draft else value
    except Exception as error:
        return f"the rule for {key!r} failed on the answer: {type(error).__name__}"
    return None


# -- inspecting modes -------------------------------------------------------------------


def steps_of(
    mode: Callable[..., Any], broadcast: Callable[[Any], Any]
) -> Callable[[Any, Mapping[str, Any]], Any]:
    """Return a mode as a generator function. If the mode is a plain function, the generator
    function passes it the list of all answers.
    """
    if not callable(mode):
        raise HookError(
            f"{mode!r:.60} is not a mode: "
            "pass void, broadcast, firstresult, merge(...) or a function of the answers"
        )
    takes_arguments = _takes_several(mode)

    def steps(receivers: Any, arguments: Mapping[str, Any]) -> Any:
        return mode(receivers, arguments) if takes_arguments else mode(receivers)

    def of_all(receivers: Any, arguments: Mapping[str, Any]) -> Any:
        return mode((yield from broadcast(receivers)))

    if is_async(mode) or _is_any(inspect.isgeneratorfunction, mode):
        return steps
    if takes_arguments:
        raise HookError(
            f"{name_of(mode)} is not a mode: a function of the answers takes one parameter; "
            "to get the arguments too, write a generator function"
        )
    return of_all


def is_async(mode: Callable[..., Any]) -> bool:
    """Return whether a mode is an async generator function."""
    return _is_any(inspect.isasyncgenfunction, mode)


def _is_any(test: Callable[[Any], bool], mode: Any) -> bool:
    called = getattr(type(mode), "__call__", None)  # noqa: B004 - the method itself is wanted
    return test(mode) or test(called)


def _takes_several(mode: Callable[..., Any]) -> bool:
    """Return whether a mode requires more than one argument."""
    try:
        parameters = signature_of(mode).parameters.values()
    except ValueError:  # some built-in functions have no signature
        return False
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in by_place and each.default is each.empty for each in parameters) > 1


def named_by(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """Return the names of a function's parameters, and the names of its required parameters."""
    parameters = signature_of(function).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return [p.name for p in named], [p.name for p in named if p.default is p.empty]
