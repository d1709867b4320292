"""`hookbus replay`: check the calls of a journal with the guards of a module."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from .. import Bus, HookError
from .._program.preparing import prepare
from .._program.settings import find_settings
from .calls_of_policies import PolicyOptions, calls_in, schema_in_force
from .reading import ANY_FILE, Read
from .screen import TABLES, Shown, print_json, print_rows, say, working
from .target import buses_of, module_of

DEFAULTS = PolicyOptions()


def replay(
    module: str | None = None, /, *, policy: Path | None = None, read: Read = ANY_FILE,
    given: PolicyOptions = DEFAULTS, shown: Shown = TABLES,
) -> int:  # fmt: skip
    """Check the calls in a journal with the guards of a module, or with Cedar policies, and list
    the calls with a different verdict. The exit code is 1 if any verdict differs. The recorded
    methods do not run.

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
    calls, differences, unjudged = 0, list[Any](), list[Any]()
    for bus in _buses(module, policy, given, journal):
        with working("running the guards"):
            found = replayed(journal, bus)
        calls = max(calls, found.calls)
        differences += found.differences
        unjudged += found.not_judged
    if shown.json:
        print_json({
            "calls": calls, "differences": [attrs.asdict(each) for each in differences],
            "not_judged": [attrs.asdict(each) for each in unjudged],
        })  # fmt: skip
    else:
        rows = [{"call": each.call_id, **attrs.asdict(each)} for each in differences]
        for row in rows:
            del row["call_id"], row["run"]
        print_rows(rows, f"{calls} calls, all with the same verdict", f"{calls} calls")
        if unjudged:
            say("guards that could not be called for some calls", "bold")
            print_rows([attrs.asdict(each) for each in unjudged], "")
    return int(bool(differences))


def _buses(
    module: str | None, policy: Path | None, given: PolicyOptions, journal: Any
) -> Iterable[Bus]:
    """Return the buses of a module, or a new bus with a guard for these policies."""
    if module is not None:
        prepare(find_settings())
        return buses_of(module_of(module)).values()
    from ..guards import policy as guard_of
    from ..guards._cedar.trial import schema_seen

    bus = Bus()
    if given.schema is not None or given.module is not None:
        schema: Any = schema_in_force(given)
    else:
        schema = schema_seen((each.tool, each.arguments) for each in calls_in(journal, given.hook))
    bus.register(guard_of(
        str(policy), schema=schema, entities=given.entities, people=given.people, reload=False,
        hook=(given.hook, *given.own_hooks()),
    ))  # fmt: skip
    return [bus]
