"""An approver with standing approvals: each approval adds a rule for later calls of the same kind,
except for tools that remove something.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from hookbus.approvals import Approved, Denied, Parked, Proof, Request, Rule, Store

from .policies import Person

WORDS: Final = ("body", "content", "description", "subject", "title")
"""Arguments that are text for readers. A rule leaves them open; all other arguments must be equal.
"""

DAY: Final = 86_400.0
"""The number of seconds for which a rule is valid."""


class StandingApprover:
    """An approver that asks a person only if no rule in the store approves the call.

    Args:
        store: the store with the rules of this person.
        person: answers the questions. Each approval adds a rule.
        once: globs of tools whose approvals are valid for one call only.
    """

    name = "user"
    people = None

    def __init__(self, store: Store, person: Person, once: Sequence[str] = ()) -> None:
        self.store, self.person, self.key, self._once = store, person, store.key, once

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer of a rule, or else of the person."""
        known = self.store.ask(request)
        if not isinstance(known, Parked):
            return known
        answer = self.person(request)
        if isinstance(answer, Denied):
            return answer  # the store does not keep it: a later task may need this call
        is_once = any(fnmatchcase(request.arguments["name"], glob) for glob in self._once)
        approval = answer if is_once else Approved(answer.by, rule=rule_for(request))
        self.store.answer(known.id or request.id, approval, proof=Proof(answer.by, "the demo"))
        return self.store.ask(request)

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Call `ask`, because the tools of the demo are not async."""
        return self.ask(request)


def rule_for(request: Request) -> Rule:
    """Return a rule that approves calls of the same tool with the same destination and any text."""
    arguments: dict[str, Any] = request.arguments["arguments"]
    exact = {name: _exactly(value) for name, value in arguments.items()}
    opened = {name: "*" for name in arguments if name in WORDS}
    is_limited = exact.keys() != opened.keys()
    return Rule(exact | opened if is_limited else exact, seconds=DAY)


def _exactly(value: Any) -> Any:
    return value.replace("*", "[*]") if isinstance(value, str) else value
