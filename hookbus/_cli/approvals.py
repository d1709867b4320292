"""`hookbus approvals`: what waits for somebody's yes, and the yes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from cyclopts import App, Parameter

from .. import HookError
from .._platform import user_name
from .screen import (
    TABLES,
    Flag,
    Shown,
    clock,
    print_json,
    print_rows,
    say,
)
from .settings import find_settings

if TYPE_CHECKING:
    from ..approvals import ApprovalRecord, Approved, Denied, Store

approvals = App(
    name="approvals", help="See what waits for a yes, and answer it.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip


@Parameter(name="*")
@attrs.frozen
class Kept:
    """Where the approvals are."""

    store: Path | None = None
    """The file of approvals.Store; else the one that the settings name."""

    def opened(self) -> Store:
        """Return the store.

        Raises:
            HookError: if none is named, or there is no such file: reading makes none.
        """
        file = self.store or find_settings().approvals
        if file is None:
            raise HookError(
                "no store is named: give --store FILE, or approvals = \"FILE\" in [tool.hookbus]"
            )
        if not file.is_file():
            raise HookError(f"there is no store {file}: it is made when a program asks for a yes")
        from ..approvals import Store

        return Store(file)


@approvals.default
@approvals.command(name="list")
def list_(*, all: Flag = False, kept: Kept = Kept(), shown: Shown = TABLES) -> None:
    """List what waits for an answer, the oldest first.

    Args:
        all: also what has been answered, and what became of it.
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
    print_rows(rows, "nothing waits for a yes", is_whole=True)
    unanswered = sum(case.state == "expired" and case.answer is None for case in history)
    if unanswered:
        say(f"expired before anybody answered: {unanswered}", "dim")
    if rows and not all:
        say("hookbus approvals show ID; approve ID; deny ID --reason WHY", "dim")


@approvals.command
def show(id: str, /, *, kept: Kept = Kept(), shown: Shown = TABLES) -> None:
    """Show all that one request would do: its question, its arguments in full, its answer.

    Args:
        id: of the request; its beginning is enough where only one begins so.
    """
    _show(_case(kept.opened(), id), shown)


@approvals.command
def approve(
    id: str, /, *, by: str | None = None, remember: float | None = None,
    kept: Kept = Kept(), shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Say yes, for one attempt with these very arguments.

    Args:
        id: of the request; its beginning is enough where only one begins so.
        by: a name to stand beside that of the user of this terminal.
        remember: for how many seconds the same call needs no further yes.
    """
    from ..approvals import Approved

    _answer(kept.opened(), id, Approved(_who(by), remember=remember), shown)


@approvals.command
def deny(
    id: str, /, *, reason: str = "somebody said no", by: str | None = None,
    kept: Kept = Kept(), shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Say no.

    Args:
        id: of the request; its beginning is enough where only one begins so.
        reason: why; the agent reads it.
        by: a name to stand beside that of the user of this terminal.
    """
    from ..approvals import Denied

    _answer(kept.opened(), id, Denied(_who(by), reason), shown)


def _who(by: str | None) -> str:
    """Return who says so: the user of the terminal, and beside that the name that was given."""
    user = user_name()
    return user if by in (None, user) else f"{by} (typed by {user})"


def _answer(store: Store, id: str, answer: Approved | Denied, shown: Shown) -> None:
    case = _case(store, id)
    store.answer(case.request.id, answer)
    now = store.get(case.request.id)
    if shown.json:
        print_json(attrs.asdict(now))
        return
    left = max(0, (now.until or 0) - time.time())
    say(f"{now.state}: {now.request.question} It holds for {left / 60:.0f} minutes.")


def _case(store: Store, id: str) -> ApprovalRecord:
    """Return the request of an id, or the only one whose id begins so.

    Raises:
        HookError: if there is none, or there are several.
    """
    alike = [case for case in store.history() if case.request.id.startswith(id)] if id else []
    if len(alike) == 1:
        return alike[0]
    exact = [case for case in alike if case.request.id == id]
    if alike and not exact:
        raise HookError(f"{len(alike)} requests begin with {id!r}: write more of the id")
    return exact[0] if exact else store.get(id)


def _show(case: ApprovalRecord, shown: Shown) -> None:
    if shown.json:
        print_json(attrs.asdict(case))
        return
    from ..approvals._shown import lines_of, written

    # As it is: what would run is neither shortened nor coloured, and no text of it is markup.
    for line in lines_of(case.request):
        print(line)
    print(f"  asked: {clock(case.asked, is_long=True)}")
    print(f"  state: {case.state}")
    if case.answer is not None:
        for name, value in _of(case.answer).items():
            if value:
                print(f"  {name}: {written(value)}")


def _of(answer: Any) -> dict[str, Any]:
    return {"answer": type(answer).__name__.lower(), **attrs.asdict(answer)}
