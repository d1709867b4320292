"""`hookbus replay`: check the calls of a journal with the guards of a module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from .. import Bus, HookError
from .._program.preparing import prepare
from .._program.settings import find_settings
from .calls_of_policies import (
    PolicyOptions,
    calls_in,
    cannot_judge,
    in_shadow,
    print_shadow,
    schema_in_force,
)
from .reading import ANY_FILE, Read
from .screen import TABLES, Shown, print_json, print_rows, say, working
from .target import buses_of, module_of

if TYPE_CHECKING:
    from ..journal import Journal, NotJudged, VerdictChange

DEFAULTS = PolicyOptions()


def replay(
    module: str | None = None, /, *, policy: Path | None = None, read: Read = ANY_FILE,
    given: PolicyOptions = DEFAULTS, shown: Shown = TABLES,
) -> int:  # fmt: skip
    """Check the calls in a journal with the guards of a module, or with Cedar policies, and list
    the calls with a different verdict. The exit code is 1 if any verdict differs, and 2 if no call
    could be judged. The recorded methods do not run.

    Args:
        module: the module that connects guards: package.module, or the path of a file. It is
            imported.
        policy: a file or folder of policies to use instead. Without --schema, the types of
            arguments are derived from the journal.
    """
    from ..journal import replay as replayed

    if (module is None) == (policy is None):
        raise HookError("pass either a module with guards, or --policy FILE")
    journal = read.opened()
    calls, judged, differences, unjudged = 0, 0, list[Any](), list[Any]()
    buses, shadow = _of_policies(policy, given, journal) if policy else _of_module(module)
    for bus in buses:
        with working("running the guards"):
            found = replayed(journal, bus)
        calls, judged = max(calls, found.calls), max(judged, found.judged)
        differences += found.differences
        unjudged += found.not_judged
        shadow += [_change_in_shadow(each) for each in found.in_shadow] if policy is None else []
    if shown.json:
        print_json({
            "calls": calls, "judged": judged, "in_shadow": shadow,
            "differences": [attrs.asdict(each) for each in differences],
            "not_judged": [attrs.asdict(each) for each in unjudged],
        })  # fmt: skip
    else:
        rows = [{"call": each.call_id, **attrs.asdict(each)} for each in differences]
        for row in rows:
            del row["call_id"], row["run"]
        count = f"{calls} calls" if judged == calls else f"{judged} of {calls} calls judged"
        print_rows(rows, f"{count}, all with the same verdict" if judged else "", count)
        print_shadow(shadow, calls)
        if unjudged:
            say("guards that could not be called for some calls", "bold")
            print_rows([attrs.asdict(each) for each in unjudged], "")
    if not judged:
        raise HookError(_why_none(journal, calls, unjudged))
    return int(bool(differences))


def _why_none(journal: Journal, calls: int, unjudged: Sequence[NotJudged]) -> str:
    """Return why no call of a journal could be judged."""
    if not calls:
        return f"{journal.path} has no calls"
    if any("recorded" in each.why for each in unjudged):
        return f"{journal.path}: {cannot_judge(calls, calls)}"
    if unjudged:
        return f"{journal.path}: none of its {calls} calls could be judged"
    return f"{journal.path}: no guard applies to its {calls} calls, so none could be judged"


def _of_module(module: str | None) -> tuple[list[Bus], list[dict[str, Any]]]:
    """Return the buses of a module."""
    prepare(find_settings())
    return list(buses_of(module_of(str(module))).values()), []


def _of_policies(
    policy: Path, given: PolicyOptions, journal: Journal
) -> tuple[list[Bus], list[dict[str, Any]]]:
    """Return a bus that has only the guard with these policies, and what those in shadow would
    change.
    """
    from ..guards import policy as guard_of
    from ..guards._cedar.trial import schema_seen

    bus, hooks = Bus(), (given.hook, *given.own_hooks())
    recorded = calls_in(journal, *hooks)
    if given.schema is not None or given.module is not None:
        schema: Any = schema_in_force(given)
    else:
        schema = schema_seen((each.tool, each.arguments) for each in recorded.calls)
    bus.register(guard_of(
        str(policy), schema=schema, entities=given.entities, people=given.people, reload=False,
        hook=hooks,
    ))  # fmt: skip
    return [bus], in_shadow(recorded.calls, given.trial(policy, schema))


def _change_in_shadow(change: VerdictChange) -> dict[str, Any]:
    return {
        "call": f"{change.call_id} {change.hook}", "verdict": change.then, "would be": change.now,
        "policies": change.receiver, "reason": change.reason,
    }  # fmt: skip
