"""`hookbus approvals`: list the requests for approval, and answer them."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from cyclopts import App, Parameter

from .. import HookError
from .._external.platform import user_name
from .._ground.errors import did_you_mean
from .._program.settings import find_settings
from .at import At
from .reading import name_file_of_gate
from .screen import TABLES, Flag, Shown, clock, print_json, print_rows, say

if TYPE_CHECKING:
    from ..approvals import ApprovalRecord, Approved, Denied, Request, Rule, Store

approvals = App(
    name="approvals", help="List and answer requests for approval.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip


@Parameter(name="*")
@attrs.frozen
class Kept:
    """The store of requests and approvals."""

    approvals: Path | None = None
    """the file of approvals.Store. Default: the file in the settings."""

    people: Path | None = None
    """the people file. Default: the file in the settings."""

    fleet: Flag = False
    """use the approvals of a fleet, at the URL in HOOKBUS_FLEET."""

    schema: str = "hookbus"
    """the schema of the fleet."""

    def opened(self) -> Store:
        """Return the store.

        Raises:
            HookError: if no store is configured, or if the file does not exist.
        """
        if self.fleet:
            if self.approvals is not None or self.people is not None:
                raise HookError("--fleet cannot be combined with --approvals or --people")
            found: Any = At(schema=self.schema).opened().approvals()
            return found  # type: ignore[no-any-return]
        settings = find_settings()
        file = self.approvals or settings.approvals
        if file is None:
            raise HookError(
                "no store of approvals is configured: pass --approvals FILE, or set "
                f"approvals = \"FILE\" in [tool.hookbus]{name_file_of_gate('approvals')}"
            )
        if not file.is_file():
            raise HookError(
                f"the store {file} does not exist yet: a program creates it when a call first "
                "requires approval"
            )
        from ..approvals import Store

        return Store(file, people=self.people or settings.people)


@approvals.default
@approvals.command(name="list")
def list_(*, all: Flag = False, kept: Kept = Kept(), shown: Shown = TABLES) -> None:
    """List the pending requests, oldest first.

    Args:
        all: also list the requests that have an answer or have expired, with their outcomes.
    """
    history = kept.opened().history()
    cases = [case for case in history if all or case.state == "pending"]
    if shown.json:
        print_json([attrs.asdict(case) for case in cases])
        return
    rows = [
        {
            "id": case.request.id, "asked": clock(case.asked, is_long=True),
            "state": case.state if all else None, "hook": case.request.hook,
            "question": case.request.question.replace("\n", "; "),
            "session": case.request.baggage.get("session"),
        }
        for case in cases
    ]  # fmt: skip
    print_rows(rows, "no pending requests", is_whole=True)
    unanswered = sum(case.state == "expired" and case.answer is None for case in history)
    if unanswered:
        say(f"expired without an answer: {unanswered}", "dim")
    if rows and not all:
        place = f" --approvals {shlex.quote(str(kept.approvals))}" if kept.approvals else ""
        if kept.fleet:
            place = " --fleet" if kept.schema == "hookbus" else f" --fleet --schema {kept.schema}"
        rest = f"approve ID{place}; deny ID --reason WHY{place}"
        say(f"hookbus approvals show ID{place}; {rest}", "dim")


@approvals.command
def show(id: str, /, *, kept: Kept = Kept(), shown: Shown = TABLES) -> None:
    """Show one request in full, with its question, all arguments and its answer.

    Args:
        id: the id of the request; a unique prefix is enough.
    """
    _show(_case(kept.opened(), id), shown)


@approvals.command
def approve(
    id: str, /, *, by: str | None = None, remember: float | None = None,
    like: tuple[str, ...] = (), between: tuple[str, ...] = (), uses: int | None = None,
    seconds: float | None = None, kept: Kept = Kept(), shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Approve one attempt of a call, with the arguments in the request.

    Args:
        id: the id of the request; a unique prefix is enough.
        by: your name, recorded together with the user of this terminal.
        remember: the number of seconds for which the same call needs no further approval.
        like: a pattern for later calls, NAME=TEXT with * for any characters. All other arguments
            must be equal. This and the next three options create a standing approval.
        between: a range for later calls, NAME=LOW..HIGH.
        uses: the number of later calls that the rule approves.
        seconds: the number of seconds for which the rule is valid.
    """
    from ..approvals import Approved

    has_rule = bool(like or between or uses is not None or seconds is not None)
    store, rule = kept.opened(), None
    if has_rule:
        rule = _rule(_case(store, id).request, like, between, uses, seconds)
    _answer(store, id, Approved(_who(by), remember=remember, rule=rule), shown)


@approvals.command
def rules(*, kept: Kept = Kept(), shown: Shown = TABLES) -> None:
    """List the standing approvals, with the number of calls that each approved."""
    found = kept.opened().rules()
    if shown.json:
        print_json([attrs.asdict(each) for each in found])
        return
    rows = [
        {
            "id": each.id, "by": each.by, "request": each.request,
            "arguments": ", ".join(f"{k}={v!r}" for k, v in each.rule.arguments.items()),
            "used": f"{each.used} of {each.rule.uses or 'any number'}",
            "until": each.until and clock(each.until, is_long=True),
            "state": "valid" if each.is_valid else "revoked" if each.revoked else "ended",
        }
        for each in found
    ]  # fmt: skip
    print_rows(rows, "no rules", is_whole=True)


@approvals.command
def revoke(rule: str, /, *, kept: Kept = Kept()) -> None:
    """Revoke a standing approval.

    Args:
        rule: the id of the rule, as `hookbus approvals rules` lists it.
    """
    kept.opened().revoke(rule, by=user_name())
    say(f"revoked: rule {rule}")


@approvals.command
def deny(
    id: str, /, *, reason: str = "no reason given", by: str | None = None,
    kept: Kept = Kept(), shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Deny a request.

    Args:
        id: the id of the request; a unique prefix is enough.
        reason: the reason for the denial, shown to the agent.
        by: your name, recorded together with the user of this terminal.
    """
    from ..approvals import Denied

    _answer(kept.opened(), id, Denied(_who(by), reason), shown)


@approvals.command
def token() -> None:
    """Print a new token for the page, and the line with its hash for the people file.

    Give the token to one person only. The hash in the file does not reveal the token.
    """
    from ..approvals._people import new_token, token_hash

    made = new_token()
    print(f'token: {made}\nline for the people file: token = "{token_hash(made)}"')


def _who(by: str | None) -> str:
    """Return the name to record: the user of the terminal, and the name that was passed."""
    user = user_name()
    return user if by in (None, user) else f"{by} (typed by {user})"


def _rule(
    request: Request, like: tuple[str, ...], between: tuple[str, ...], uses: int | None,
    seconds: float | None,
) -> Rule:  # fmt: skip
    """Return a rule for later calls that may differ from a request only as the options allow.

    Raises:
        HookError: if an option names an unknown argument, or is not a valid range.
    """
    from ..approvals import Between, Rule
    from ..approvals._standing import literal_pattern, patterned

    given = patterned(request.hook, request.arguments)
    patterns = {name: literal_pattern(value) for name, value in given.items()}
    for option, words in (("--like", like), ("--between", between)):
        for word in words:
            name, _, text = word.partition("=")
            if name not in patterns:
                raise HookError(f"{option} {word} names no argument{did_you_mean(name, patterns)}")
            patterns[name] = text
            if option == "--between":
                low, _, high = text.partition("..")
                try:
                    patterns[name] = Between(float(low), float(high))
                except ValueError:
                    raise HookError(f"--between {word} must be NAME=LOW..HIGH") from None
    return Rule(patterns, uses=uses, seconds=seconds)


def _answer(store: Store, id: str, answer: Approved | Denied, shown: Shown) -> None:
    from ..approvals import Proof

    case = _case(store, id)
    is_proven = bool(case.request.required or getattr(answer, "rule", None))
    proof = {"proof": Proof.of_account()} if is_proven else {}
    if is_proven and (role := getattr(store, "person", None)) is not None:
        # In a fleet, the role of the connection is the name, not the account of this machine.
        proof, answer = {}, attrs.evolve(answer, by=role if answer.by == user_name() else answer.by)
    store.answer(case.request.id, answer, **proof)
    now = store.get(case.request.id)
    if shown.json:
        print_json(attrs.asdict(now))
        return
    if now.state == "pending":
        say(f"approved by {', '.join(now.approved_by)}; missing: {'; '.join(now.missing)}")
        return
    rest = max(0, (now.until or 0) - time.time())
    say(f"{now.state}: {now.request.question} The answer is valid for {rest / 60:.0f} minutes.")


def _case(store: Store, id: str) -> ApprovalRecord:
    """Return the request with this id, or the only request whose id has this prefix.

    Raises:
        HookError: if the request does not exist, or if several requests match.
    """
    alike = [case for case in store.history() if case.request.id.startswith(id)] if id else []
    if len(alike) == 1:
        return alike[0]
    exact = [case for case in alike if case.request.id == id]
    if alike and not exact:
        raise HookError(f"{len(alike)} ids begin with {id!r}: write more characters")
    return exact[0] if exact else store.get(id)


def _show(case: ApprovalRecord, shown: Shown) -> None:
    if shown.json:
        print_json(attrs.asdict(case))
        return
    from ..approvals._shown import lines_of, printable, written

    # Print every argument in full and without markup, so that the person sees exactly what would
    # run.
    for line in lines_of(case.request):
        print(line)
    print(f"  asked: {clock(case.asked, is_long=True)}")
    print(f"  state: {case.state}")
    for name, people in {"approved by": case.approved_by, "missing": case.missing}.items():
        if people:
            print(f"  {name}: {printable('; '.join(people))}")
    if case.answer is not None:
        for name, value in _of(case.answer).items():
            if value:
                print(f"  {name}: {written(value)}")


def _of(answer: Any) -> dict[str, Any]:
    return {"answer": type(answer).__name__.lower(), **attrs.asdict(answer)}
