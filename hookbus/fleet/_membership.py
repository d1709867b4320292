"""A member of a fleet: read the kills and switches of the fleet, and apply them to a bus."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

from .. import Block, Bus, Connection, HookContext, HookError
from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from ..exceptions import Failure
from ._connecting import Server

ASK_SECONDS: Final = 0.5
BEAT_SECONDS: Final = 5.0

_log: Final = logging.getLogger("hookbus")

Word = dict[str, Any]


class Membership:
    """The membership of one bus in a fleet. Its thread reads the kills and switches every half
    second.

    Raises:
        HookError: if the active kills and switches cannot be read.
    """

    def __init__(
        self, server: Server, name: Callable[[], str], bus: Bus, hooks: Iterable[str],
        blind: float | None, lag: Callable[[], int | None],
    ) -> None:  # fmt: skip
        self._server, self._name, self._bus, self._blind = server, name, bus, blind
        self._lag = lag
        self._version = -1
        self._kills: dict[str, list[Word]] = {}
        self._switches: dict[str, Word] = {}
        self._applied: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._guards: dict[str, Connection] = {}
        self._joined = frozenset(hooks)
        self._lock, self._problem = Lock(), ""
        self._failure: Failure = "late"  # while no request has failed
        self._beat_after = 0.0
        self._ask()
        for hook in self._joined:
            self._guard(hook)
        self._begin()
        _all.add(self)

    def close(self) -> None:
        """Leave the fleet: its kills no longer apply to the bus. Switched receivers keep their
        state.
        """
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(2 * ASK_SECONDS)
        _all.discard(self)
        for connection in self._guards.values():
            connection.disconnect()
        try:
            self._server.call("beat", self._name(), None, None)
        except HookError as error:
            _log.warning("%s: the member %s could not leave the fleet", error, self._name())

    def _begin(self) -> None:
        """Start the thread. A forked process has to start its own thread."""
        self._ended = threading.Event()
        self._beat_after = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True, name="hookbus fleet")
        self._thread.start()

    def _run(self) -> None:
        ended = self._ended
        while not ended.is_set():
            try:
                self._ask()
                self._beat()
                self._problem, self._failure = "", "late"
            except Exception as error:  # whatever it is, the next attempt may succeed
                if not self._problem:
                    _log.error("%s (further failures are not logged until it is reachable)", error)
                failure = error.failure if isinstance(error, HookError) else None
                self._failure = failure or "malformed"
                self._problem = str(error)
            ended.wait(ASK_SECONDS)

    def _ask(self) -> None:
        """Read the kills and switches if they have changed, and apply them."""
        asked = time.monotonic()
        version, changed = self._server.call("read_words", self._version)[0]
        if changed is not None:
            words: list[Word] = json.loads(changed)
            kills: dict[str, list[Word]] = {}
            for word in words:
                if word["kind"] == "kill":
                    kills.setdefault(word["hook"], []).append(word)
            self._kills = kills
            for hook in kills:
                self._guard(hook)
            self._switches = {each["name"]: each for each in words if each["kind"] == "switch"}
            self._version = version
            self._switch()
        self._heard = asked

    def _beat(self) -> None:
        """Report that this member is alive, and report the switches that it refused."""
        if time.monotonic() < self._beat_after:
            return
        self._switch()  # a locked guard may have been connected or disconnected since
        self._server.call("beat", self._name(), json.dumps(self._refused), self._lag())
        self._beat_after = time.monotonic() + BEAT_SECONDS

    def _switch(self) -> None:
        """Apply new switches, and record the refused switches with the reasons."""
        operator = self._bus._operator
        refused: dict[str, str] = {}
        for name, word in self._switches.items():
            act = word["act"]
            try:
                if self._applied.get(name) != act:
                    operator.switch(name, act, word["by"], is_expected=True)
                    self._applied[name] = act
                elif (why := operator.find_refusal(name, act)) is not None:
                    refused[name] = why
            except HookError as error:
                refused[name] = str(error)
        self._refused = refused

    def _guard(self, hook: str) -> None:
        """Connect a guard for the kills of a hook. The guard runs before all other guards."""

        def is_needed() -> bool:
            return bool(self._kills.get(hook)) or self._silence(hook) is not None

        with self._lock:
            if hook not in self._guards:
                # A guard with a condition does not count for `require_guard`: a kill switch does
                # not replace the guards of a program.
                self._guards[hook] = self._bus.signal(f"pre_{hook}").connected_to(
                    self._judge, role="guard", locked=True, priority=math.inf, name="fleet",
                    when=is_needed,
                )  # fmt: skip

    def _silence(self, hook: str) -> float | None:
        """Return the seconds since the last contact with the server if calls of the hook must be
        blocked, else None.
        """
        if self._blind is None or hook not in self._joined:
            return None
        silence = time.monotonic() - self._heard
        return silence if silence > self._blind else None

    def _judge(self, sender: Any, ctx: HookContext) -> Block | None:
        hook = ctx.hook
        tool = str(ctx.kwargs.get("name", ""))
        for kill in self._kills.get(hook, ()):
            if fnmatchcase(tool, kill["name"]):
                which = f"the tool {tool}" if tool else f"the hook {hook}"
                why = f": {kill['reason']}" if kill["reason"] else ""
                return Block(f"{which} is stopped by {kill['by']}{why}", code="killed")
        if (silence := self._silence(hook)) is not None:
            return Block(
                f"the fleet has not been reached for {silence:.0f} seconds (limit "
                f"{self._blind:g}), so its kills and switches are not known", code="blind",
                details={"failure": self._failure},
            )  # fmt: skip
        return None


_all: Final[weakref.WeakSet[Membership]] = weakref.WeakSet()


def _in_child() -> None:
    for membership in list(_all):
        membership._begin()


run_at_fork(after_in_child=_in_child)
