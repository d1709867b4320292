"""Random edits of policies: each is refused, or the table shows every verdict that it changes."""

import os
import random
import re
from pathlib import Path

import pytest

from hookbus import Bus, HookBlocked, HookError, baggage, hookable
from hookbus.guards import policy
from hookbus.guards._cedar.trial import Case, Trial

EDITS = 60 if os.environ.get("HOOKBUS_LONG") else 12
"""The number of edits of each policy."""

FOLDER = Path(__file__).parent / "policies"
WORDS = {
    "permit": "forbid", "forbid": "permit", "when": "unless", "unless": "when", "&&": "||",
    "||": "&&", "<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "!=", "like": "==",
    "containsAny": "containsAll", "contains": "containsAny", "!": "",
}  # fmt: skip
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|&&|\|\||[<>=!]=|[<>!]')

# The tools of each policy, who is in which role, and calls: user, tool, arguments, baggage.
TOOLS = {
    "payments": {"pay": {"to": str, "amount": int}, "balance": {"account": str}},
    "files": {"read": {"path": str}, "write": {"path": str, "overwrite": bool}},
    "mail": {"send": {"to": list[str], "attachments": int}, "search": {"limit": int}},
    "deploy": {"deploy": {"target": str, "version": int, "ticket": str | None},
               "status": {"target": str}},
    "support": {"orders": {"customer": str},
                "refund": {"order": int, "cents": int, "method": str}},
}  # fmt: skip
ROLES = {
    "ada": ["finance", "staff", "editors", "support", "developers", "operators"],
    "bob": ["staff", "developers"], "eve": [],
}  # fmt: skip
VALUES = {
    "to": ["a@example.com", "b@evil.test"], "amount": [-1, 0, 1, 100, 101, 5000, 5001],
    "account": ["x"], "overwrite": [True, False], "attachments": [0, 1, 3, 4],
    "path": ["/srv/project/a", "/srv/project/notes/a", "/srv/project/notes/../a", "/etc/passwd",
             "/srv/project/notes/a.pem", "/srv/project/.env"],
    "limit": [0, 50, 51], "target": ["staging", "production", "other"], "version": [99, 100, 101],
    "ticket": ["T-1", None], "customer": ["ada", "bob"], "order": [1],
    "cents": [0, 1, 2000, 2001, 50000, 50001], "method": ["card", "gift card"],
}  # fmt: skip
LISTS = [["team@example.com"], ["x@out.test"], ["team@example.com", "press@news.test"],
         ["tips@news.test"], ["team@example.com", "press@news.test", "tips@news.test"]]  # fmt: skip
AROUND = {"deploy": [{}, {"freeze": "on"}, {"freeze": "off"}],
          "support": [{}, {"customer": "ada"}]}  # fmt: skip


def calls_of(name):
    """Yield a call for each combination of values."""
    for tool, fields in TOOLS[name].items():
        several = [{}]
        for field, kind in fields.items():
            values = LISTS if kind == list[str] else VALUES[field]
            several = [{**each, field: value} for each in several for value in values]
        for arguments in several:
            given = {key: value for key, value in arguments.items() if value is not None}
            for user in ROLES:
                for around in AROUND.get(name, [{}]):
                    yield tool, given, {"user": user, **around}


def edited(text, chosen):
    """Return the text after one random edit."""
    kind = chosen.random()
    parts = re.split(r"(?<=;)\n\n", text)
    if kind < 0.15:
        parts.pop(chosen.randrange(len(parts)))
        return "\n\n".join(parts)
    found = [each for each in TOKEN.finditer(text) if not each[0].startswith('"') or kind > 0.6]
    while True:
        token = chosen.choice(found)
        word = token[0]
        if word in WORDS:
            new = WORDS[word]
        elif word.isdigit():
            new = str(int(word) + chosen.choice([-1, 1, 100]))
        elif len(word) > 4 and kind > 0.3:  # a misspelt name
            at = chosen.randrange(1, len(word) - 2)
            new = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        else:
            continue
        if new != word:
            return text[: token.start()] + new + text[token.end() :]


def real_verdicts(source, name, calls):
    """Make each call under the guard, and return the verdicts."""
    bus, found = Bus(), []
    bus.register(policy(source, schema=TOOLS[name], entities=ROLES))

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        return "done"

    for tool, arguments, around in calls:
        with baggage(**around):
            try:
                tool_call(tool, arguments)
            except HookBlocked as blocked:
                is_asked = "no approver is configured" in blocked.reason
                found.append("ask" if is_asked else "block")
            else:
                found.append("allow")
    return found


@pytest.mark.parametrize("name", TOOLS)
def test_check_or_the_table_finds_each_edit_that_changes_a_verdict(name):
    text = (FOLDER / f"{name}.cedar").read_text()
    calls = list(calls_of(name))
    before = real_verdicts(text, name, calls)
    assert {*before} == {"allow", "ask", "block"}
    table = [
        Case(number=number, tool=tool, arguments=arguments, baggage=around, expect=expect)
        for number, ((tool, arguments, around), expect) in enumerate(zip(calls, before), 1)
    ]
    chosen, counts = random.Random(name), {"refused": 0, "table": 0, "same": 0}
    for _ in range(EDITS):
        mutant = edited(text, chosen)
        try:
            trial = Trial(mutant, TOOLS[name], ROLES)
        except HookError:
            with pytest.raises(HookError):
                policy(mutant, schema=TOOLS[name], entities=ROLES)
            counts["refused"] += 1
            continue
        now = real_verdicts(mutant, name, calls)
        changed = [case.number for case, verdict in zip(table, now) if verdict != case.expect]
        found = [
            case.number for case in table
            if case.problem(trial.decide(case.tool, case.arguments, case.baggage))
        ]  # fmt: skip
        assert found == changed, mutant
        counts["table" if changed else "same"] += 1
    print(name, counts)
    # An edit may change only a text, such as a reason, or a value between two values of the table.
    assert counts["refused"] and counts["table"] and counts["same"] <= EDITS / 4
