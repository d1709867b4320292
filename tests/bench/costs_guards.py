"""The cost of a ready guard, next to the same check written by hand with the same libraries.

A handwritten check knows its one argument. A guard searches all arguments at any depth, and blocks
if it cannot.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from hookbus import Bus, guards, hookable

from .calls import method
from .harness import Case, Expect, Row
from .rows_policy import DECLARED, PEOPLE, POLICIES

Check = Callable[[str, dict[str, Any]], bool]
MAIL = {"to": "Ada Lovelace", "text": "The meeting is at ten, in the room upstairs."}
FILE = {"path": "notes/today.txt"}
PAGE = {"url": "https://93.184.216.34/index.html"}


def rows() -> Iterator[Row]:
    """Yield one row per guard: the bare function, the check by hand, the guard."""
    for name, make in _GUARDS.items():
        yield Row(f"costs guards {name}", f"guards.{name}", partial(_cases, make))


def _cases(make: Callable[[], tuple[Any, Check, dict[str, Any]]]) -> dict[str, Case]:
    guard, is_fine, arguments = make()
    bus = Bus()
    bus.register(guard)

    class Bare:
        def reply(self, name: str, arguments: dict[str, Any]) -> Any:
            return arguments

    class ByHand:
        def reply(self, name: str, arguments: dict[str, Any]) -> Any:
            if not is_fine(name, arguments):
                raise PermissionError(name)
            return arguments

    class Guarded:
        @hookable("tool_call", bus=bus)
        def reply(self, name: str, arguments: dict[str, Any]) -> Any:
            return arguments

    cases = {"bare": Bare(), "by hand": ByHand(), "hookbus": Guarded()}
    expect = Expect(0, arguments)
    return {name: method(owner, expect, args=("send", arguments)) for name, owner in cases.items()}


def _tools() -> tuple[Any, Check, dict[str, Any]]:
    allowed = [re.compile(translate(glob)) for glob in ("read_*", "list_*", "send")]
    denied = [re.compile(translate(glob)) for glob in ("delete_*", "drop_*")]

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        return not any(p.match(name) for p in denied) and any(p.match(name) for p in allowed)

    lists = {"allow": ["read_*", "list_*", "send"], "deny": ["delete_*", "drop_*"]}
    return guards.tool_policy(**lists), is_fine, MAIL


def _policy() -> tuple[Any, Check, dict[str, Any]]:
    """Twenty policies: one permit for each of fourteen tools, and six forbids for all of them."""
    guard = guards.policy(POLICIES, schema=DECLARED, entities=PEOPLE)

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        if not arguments.keys() <= DECLARED[name].keys():
            return False
        to, text = arguments["to"], arguments["text"]
        return isinstance(to, str) and isinstance(text, str) and to.startswith("Ada")

    return guard, is_fine, MAIL


def _inside() -> tuple[Any, Check, dict[str, Any]]:
    here = os.path.realpath(os.getcwd())

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        return os.path.realpath(arguments["path"]).startswith(here + os.sep)

    return guards.paths_within(here), is_fine, FILE


def _public_hosts() -> tuple[Any, Check, dict[str, Any]]:
    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        host = urlsplit(arguments["url"]).hostname
        answers = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
        return all(ipaddress.ip_address(answer[4][0]).is_global for answer in answers)

    return guards.public_hosts(), is_fine, PAGE


class Mail(BaseModel):
    """What `send` takes."""

    model_config = ConfigDict(extra="forbid")
    to: str
    text: str


def _schema() -> tuple[Any, Check, dict[str, Any]]:
    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        return bool(Mail.model_validate(arguments))

    return guards.schema(Mail), is_fine, MAIL


def _limit() -> tuple[Any, Check, dict[str, Any]]:
    made, lock = deque[float](), threading.Lock()

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        now = time.time()
        with lock:
            while made and made[0] < now - 1:
                made.popleft()
            made.append(now)
            return len(made) <= 10_000_000

    return guards.rate_limit(10_000_000, per=1), is_fine, MAIL


class Pages(dict[str, Any]):
    """Arguments that are others each time they are read as JSON: no two calls are the same."""

    def items(self) -> Any:
        self["page"] = self.get("page", 0) + 1
        return super().items()


def _no_loops() -> tuple[Any, Check, dict[str, Any]]:
    last = deque[str](maxlen=4)

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        last.append(json.dumps([name, arguments], sort_keys=True))
        return len(last) < 4 or len(set(last)) > 1

    return guards.no_loops(), is_fine, Pages(MAIL)


def _together() -> tuple[Any, Check, dict[str, Any]]:
    lists, is_fine, arguments = _tools()
    guard, fits, _ = _schema()
    return guards.together(lists, guard), lambda *call: is_fine(*call) and fits(*call), arguments


def _redact() -> tuple[Any, Check, dict[str, Any]]:
    find = guards.redact()

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        return all(find.text(text) == text for text in arguments.values())

    return guards.redact(), is_fine, MAIL


def _provenance() -> tuple[Any, Check, dict[str, Any]]:
    said = "please write to ada lovelace about the meeting"
    guard = guards.provenance({"send": "to"})
    guard.trust(said)

    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        return name != "send" or arguments["to"].casefold() in said

    return guard, is_fine, MAIL


def _quarantine() -> tuple[Any, Check, dict[str, Any]]:
    def is_fine(name: str, arguments: dict[str, Any]) -> bool:
        return all(guards.quarantine.text(text) == text for text in arguments.values())

    return guards.quarantine(), is_fine, MAIL


_GUARDS = {
    "tool_policy": _tools, "policy": _policy, "paths_within": _inside,
    "public_hosts": _public_hosts,
    "schema": _schema,
    "limit": _limit, "no_loops": _no_loops, "together": _together,
    "redact": _redact, "provenance": _provenance, "quarantine": _quarantine,
}  # fmt: skip
