"""`hookbus policy`: check, explain, test, compare and draft Cedar policies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from .. import HookError
from .calls_of_policies import (
    PolicyOptions,
    Recorded,
    Seen,
    calls_in,
    in_shadow,
    print_shadow,
    say_left_out,
    schema_in_force,
)
from .reading import ANY_FILE, Read
from .screen import TABLES, Several, Shown, print_items, print_json, print_rows, say

if TYPE_CHECKING:
    from ..guards._cedar.trial import TestTable
    from ..guards._cedar.view import Decision

policy = App(
    name="policy", help="Check, test and compare policies in Cedar.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip
DEFAULTS = PolicyOptions()
User = Annotated[str | None, Parameter(name="--user")]


@policy.command
def check(
    file: Path, /, *, tool: Several = (), given: PolicyOptions = DEFAULTS, shown: Shown = TABLES
) -> int:  # fmt: skip
    """Find mistakes in a file or folder of policies, or in a TOML file for guards.tool_policy. The
    exit code is 1 if it finds any.

    It reports syntax errors, unknown hooks, tools, arguments and roles, comparisons of the wrong
    types, policies that can never match, permits that a forbid overrules, and policies that appear
    twice.

    Args:
        file: the policies.
        tool: for guards.tool_policy, the name of a tool, optionally with its parameters, such as
            bash:command,timeout; can be repeated.
    """
    if file.suffix == ".toml":
        found, notes = _check_lists(file, tool, given), list[str]()
    else:
        found, notes = _check_policies(file, given)
    if shown.json:
        print_json({"file": str(file), "findings": found, "notes": notes})
    else:
        say(f"{file}: {_count(found)}" if found else f"{file}: no problems found",
            "bold red" if found else "green")  # fmt: skip
        for items, style in ((found, ""), (notes, "dim")):
            if items:
                print_items(items, style)
    return int(bool(found))


def _count(found: Sequence[str]) -> str:
    return "1 finding" if len(found) == 1 else f"{len(found)} findings"


def _check_policies(file: Path, given: PolicyOptions) -> tuple[list[str], list[str]]:
    from ..guards._cedar.checks import findings_of, notes_of

    schema = schema_in_force(given)  # an error in it is not a finding about the policies
    try:
        policies = given.trial(file, schema).policies
    except HookError as error:
        return [str(error)], []
    return list(findings_of(policies, given.known_hooks())), list(notes_of(policies))


def _check_lists(file: Path, tools: Sequence[str], given: PolicyOptions) -> list[str]:
    from ..guards import tool_policy

    try:
        rules = tool_policy.load(file)
    except HookError as error:
        return [str(error)]
    known: dict[str, list[str]] = {}
    for each in tools:
        name, _, parameters = each.partition(":")
        known[name] = [part for part in parameters.split(",") if part]
    if given.module is not None or given.schema is not None:
        fields = schema_in_force(given).fields or {}
        known |= {name: list(each) for name, each in fields.items()}
    if not known:
        raise HookError("the tools are not known: pass --tool NAME:PARAMETERS, or --module")
    return [f"{file}: {each}" for each in rules.unused_rules(known)]


@policy.command
def explain(
    tool: str, /, *arguments: str, policies: Path, user: User = None, session: str | None = None,
    given: PolicyOptions = DEFAULTS, shown: Shown = TABLES,
) -> int:  # fmt: skip
    """Show which policies would decide a call, and which others nearly matched, with the conditions
    that were not met. The exit code is 1 if the call would be blocked.

    Args:
        tool: the name of the tool.
        arguments: the arguments of the tool, as name=value. A value that is not JSON is a string.
        policies: the policies.
        user: the user.
        session: the session.
    """
    trial = given.trial(policies, schema_in_force(given))
    values = dict(map(_argument, arguments))
    around = {n: v for n, v in (("user", user), ("session", session)) if v is not None}
    decision = trial.decide(tool, values, around)
    near = []
    if decision.policies or decision.reason.startswith("no policy permits"):
        near = [
            {"policy": each.policy.id, "effect": each.policy.effect,
             "not met": "; ".join(each.not_met), "not evaluated": "; ".join(each.not_evaluated)}
            for each in trial.near(tool, values, around)
        ]  # fmt: skip
    shadow = in_shadow([Seen(tool, values, around)], trial)
    if shown.json:
        print_json({**_row(decision), "near": near, "in_shadow": shadow})
        return int(decision.effect == "block")
    style = {"allow": "green", "ask": "bold yellow", "block": "bold red"}[decision.effect]
    say(f"{decision.effect}: {decision.reason}" if decision.reason else decision.effect, style)
    rows = [{"policy": each.id, "effect": each.effect, "where": each.place}
            for each in decision.policies]  # fmt: skip
    if rows:
        print_rows(rows, "", "decided by")
    if near:
        print_rows(near, "", "did not match")
    print_shadow(shadow, 1)
    return int(decision.effect == "block")


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise HookError(f"{text!r:.60} is not an argument: write name=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _row(decision: Decision) -> dict[str, Any]:
    return {"verdict": decision.effect, "reason": decision.reason, "policies": decision.ids}


@policy.command
def test(
    file: Path, /, *, policies: Path | None = None, given: PolicyOptions = DEFAULTS,
    shown: Shown = TABLES,
) -> int:  # fmt: skip
    """Compare the verdicts of policies with a table of calls. The exit code is 1 if any verdict
    differs.

    Args:
        file: the table, a TOML file with a [[case]] for each call.
        policies: the policies. Default: the policies that the table names.
    """
    from ..guards._cedar.trial import read_table

    table = read_table(file)
    trial = table.trial(policies, **given.overrides())
    wrong = []
    for case in table.cases:
        problem = case.problem(trial.decide(case.tool, case.arguments, case.baggage))
        if problem is not None:
            wrong.append({"case": case.number, "call": case.title, "problem": problem})
    if shown.json:
        print_json({"cases": len(table.cases), "problems": wrong})
    else:
        many = len(table.cases)
        print_rows(wrong, f"{many} cases, all as expected", f"{len(wrong)} of {many} cases differ",
                   is_whole=True)  # fmt: skip
    return int(bool(wrong))


@policy.command
def diff(
    old: Path, new: Path, /, *, table: Path | None = None, read: Read = ANY_FILE,
    given: PolicyOptions = DEFAULTS, shown: Shown = TABLES,
) -> int:  # fmt: skip
    """List the calls whose verdict differs between two versions of policies. The exit code is 1 if
    there are any.

    Args:
        old: the policies before.
        new: the policies after.
        table: take the calls from this table instead of a journal.
    """
    recorded, settings = _calls(table, read, given)
    calls, options = recorded.calls, given.overrides()
    before, after = (settings.trial(each, **options) for each in (old, new))
    changed = []
    for call in calls:
        then, now = (each.decide(call.tool, call.arguments, call.baggage)
                     for each in (before, after))  # fmt: skip
        if then.effect != now.effect:
            changed.append({
                "call": call.title, "then": then.effect, "now": now.effect,
                "policies": ", ".join(now.ids), "reason": now.reason,
            })  # fmt: skip
    shadow = in_shadow(calls, after)
    if shown.json:
        print_json({"calls": len(calls), "changes": changed, "in_shadow": shadow,
                    "left_out": recorded.left_out})  # fmt: skip
    else:
        print_rows(changed, f"{len(calls)} calls, all with the same verdict",
                   f"{len(changed)} of {len(calls)} calls change", is_whole=True)  # fmt: skip
        print_shadow(shadow, len(calls))
        say_left_out(recorded)
    return int(bool(changed))


@policy.command
def coverage(
    file: Path, /, *, table: Path | None = None, read: Read = ANY_FILE,
    given: PolicyOptions = DEFAULTS, shown: Shown = TABLES,
) -> int:  # fmt: skip
    """Show how often each policy decides the calls of a journal or table. The exit code is 1 if a
    policy decides no call.

    Args:
        file: the policies.
        table: take the calls from this table instead of a journal.
    """
    recorded, settings = _calls(table, read, given)
    calls, trial = recorded.calls, settings.trial(file, **given.overrides())
    shadow = in_shadow(calls, trial)  # it decides each call, with and without these policies
    rows = [{"policy": each.id, "effect": each.effect, "shadow": each.is_shadow,
             "decided": each.decided, "where": each.place}
            for each in trial.policies.all]  # fmt: skip
    if shown.json:
        print_json({"calls": len(calls), "policies": rows, "in_shadow": shadow,
                    "left_out": recorded.left_out})  # fmt: skip
    else:
        print_rows(rows, "", f"{len(calls)} calls")
        print_shadow(shadow, len(calls))
        say_left_out(recorded)
    return int(any(not each.decided for each in trial.policies.all))


def _calls(
    table: Path | None, read: Read, given: PolicyOptions
) -> tuple[Recorded, TestTable]:
    """Return the calls of a table or journal, and the table with its settings."""
    from ..guards._cedar.trial import TestTable, read_table, schema_seen

    if table is not None:
        found = read_table(table)
        cases = [Seen(each.tool, each.arguments, each.baggage) for each in found.cases]
        return Recorded(cases, 0), found
    recorded = calls_in(read.opened(), given.hook, *given.own_hooks())
    if given.schema is not None or given.module is not None:
        return recorded, TestTable((), {})
    seen = schema_seen((each.tool, each.arguments) for each in recorded.calls)
    return recorded, TestTable((), {"schema": seen})


@policy.command
def new(
    *, from_journal: Path, output: Path | None = None, hook: str = "tool_call",
) -> None:  # fmt: skip
    """Write a first policy from the calls in a journal that its guards allowed. A comment on each
    condition states the number of calls that it is based on.

    Args:
        from_journal: the journal. It must contain values: hookbus run --values records them.
        output: the file to write; an existing file is not replaced. Default: print it.
        hook: the hook of the calls.
    """
    from ..guards._cedar.draft import draft_of

    recorded = calls_in(Read(from_journal).opened(), hook)
    calls = recorded.calls
    allowed = [each for each in calls if each.is_allowed]
    if not allowed:
        raise HookError(
            f"guards blocked all calls of {hook} in {from_journal}, or required approvals for them"
        )
    text = draft_of([(each.tool, each.arguments) for each in allowed], hook)
    if left_out := len(calls) - len(allowed):
        of_all = f"{left_out} of {len(calls)}"
        text = f"// {of_all} calls are left out: guards did not allow them.\n{text}"
    if recorded.note:
        text = f"// {recorded.note}.\n{text}"
    if output is None:
        print(text, end="")
        return
    try:
        with output.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise HookError(f"{output} already exists: choose another file") from None
    say(f"{output}: written from {len(allowed)} calls", "green")
