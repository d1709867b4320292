"""A fleet: the data that agents on several machines share in one schema of a Postgres database."""

from __future__ import annotations

import atexit
import json
import os
import socket
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Self

import attrs

from .. import Bus, HookError, default_bus
from .._ground.errors import did_you_mean
from .._ground.keywords import check_bus, named_options
from .._ground.numbers import is_number
from ..approvals import UnknownRequest
from ..journal import Journal
from ._approvals import Approvals
from ._arguments import check_hook, check_name, check_text
from ._connecting import Server
from ._counts import Counts
from ._events import Events
from ._making import AnyPeople, check_schema, check_version, make
from ._membership import Membership
from ._shipping import Shipping

ACTS: Final = ("disable", "shadow", "enable")


@attrs.frozen(kw_only=True)
class Status:
    """The state of a fleet.

    Attributes:
        members: one mapping for each member. `member` is its name, and `age` is the number of
            seconds since its last heartbeat. `refused` maps each receiver that was not switched to
            the reason. `ships` is the number of records that it has not published yet, or None if
            it publishes no journal.
        words: the active kills and switches. Each has a `kind`, `name`, `hook`, `act`, `by` and
            `reason`.
        pending: the number of requests for approval without an answer.
    """

    members: list[dict[str, Any]]
    words: list[dict[str, Any]]
    pending: int


@named_options
class Fleet:
    """One schema of a Postgres database (13 or newer) that agents on several machines share.

    You can use it from any thread, and in a forked process. No operation waits longer than 5
    seconds for the server. After an outage, all functions resume automatically.

    Args:
        url: the URL of the database with the role: `postgresql://USER:PASSWORD@HOST/DATABASE`.
        schema: the name of the schema that the owner has created with `Fleet.make`.
        member: the name of this process in the fleet. None means the host name and process id.
        program: the name of the program. It replaces `__main__` in requests for approval, so that
            an approval applies on every machine.
        blind: the number of seconds without a connection to the server after which calls of joined
            hooks are blocked. None means never.

    Raises:
        HookError: if an argument is invalid, the server cannot be reached, or the schema has no
            fleet that this role can use.
    """

    def __init__(
        self, url: str, *, schema: str = "hookbus", member: str | None = None,
        program: str | None = None, blind: float | None = 60.0,
    ) -> None:  # fmt: skip
        check_schema(schema)
        self._member = None if member is None else check_name("member", member)
        self.program = None if program is None else check_name("program", program)
        if blind is not None and not (is_number(blind) and 1 <= blind < 1e9):
            raise HookError(f"blind={blind!r:.40} must be None or at least 1 second")
        self._blind = blind
        self._memberships: list[Membership] = []
        self._shippings: list[Shipping] = []
        self._server = Server(url, schema)
        try:
            check_version(self._server.call("about")[0][0], self._server)
        except HookError:
            self._server.close()
            raise
        _open.add(self)

    @staticmethod
    def make(
        url: str, *, schema: str = "hookbus", agents: str | Iterable[str] = (),
        operators: str | Iterable[str] = (), portals: str | Iterable[str] = (),
        people: AnyPeople | None = None,
    ) -> None:  # fmt: skip
        """Create or update a fleet, as the owner of the database.

        Args:
            url: the URL of the database, including the role that will own the schema.
            schema: the name of the schema.
            agents: the roles for agents, which can only execute a few functions.
            operators: the roles that can also read events, answer requests, and kill or switch.
                Each role answers as the person with the name of the role.
            portals: the roles for programs that sign people in. They have all rights of an
                operator, and can also answer for any person.
            people: all people who can approve, for `Ask(..., roles=..., approvals=...)`: a TOML
                file or mapping of names to roles, as for `approvals.Store`. None changes nothing.

        Raises:
            HookError: if an argument is invalid or the server rejects it. Nothing has changed.
        """
        make(url, schema, agents, operators, portals, people)

    @property
    def member(self) -> str:
        """The name of this process in the fleet."""
        if self._member is not None:
            return self._member
        return f"{socket.gethostname()}/{os.getpid()}"

    def join(
        self, bus: Bus = default_bus, *, hooks: Iterable[str] = ("tool_call",)
    ) -> Callable[[], None]:
        """Apply the kills and switches of the fleet to a bus from now on. Return a function that
        leaves the fleet again.

        Args:
            bus: the bus whose calls and receivers the fleet controls.
            hooks: the hooks whose calls are blocked if the server cannot be reached for `blind`
                seconds. Kills also apply to other hooks.

        Raises:
            HookError: if an argument is invalid, or if the kills and switches cannot be read.
        """
        check_bus(bus)
        names = [hooks] if isinstance(hooks, str) else list(hooks)
        if not names or not all(isinstance(each, str) and each.isidentifier() for each in names):
            raise HookError(f"join(hooks={hooks!r:.40}): pass names of hooks, as ('tool_call',)")
        membership = Membership(
            self._server, lambda: self.member, bus, names, self._blind, self._lag
        )  # fmt: skip
        self._memberships.append(membership)

        def leave() -> None:
            if membership in self._memberships:
                self._memberships.remove(membership)
                membership.close()

        return leave

    def kill(self, tool: str, *, by: str, reason: str = "", hook: str = "tool_call") -> None:
        """Block the calls of matching tools in every member within 2 seconds.

        Args:
            tool: a glob of tool names, such as `"pay_*"`. For a hook without an argument `name`,
                use `"*"`.
            by: the name of the operator. The caller of a blocked call sees it.
            reason: the reason for the kill. The caller of a blocked call sees it too.
            hook: the hook whose calls are blocked.

        Raises:
            HookError: if an argument is invalid, or if this role is not an operator.
        """
        texts = check_name("tool", tool), check_hook(hook), "kill", check_name("by", by)
        self._server.call("set_word", "kill", *texts, check_text("reason", reason))

    def revive(self, tool: str, *, by: str, hook: str = "tool_call") -> None:
        """Allow calls of killed tools again in every member.

        Raises:
            UnknownRequest: if no kill with exactly this glob exists.
            HookError: if an argument is invalid, or if this role is not an operator.
        """
        texts = check_name("tool", tool), check_hook(hook), check_name("by", by)
        if not self._server.call("revive", *texts)[0][0]:
            killed = [each["name"] for each in self._words() if each["kind"] == "kill"]
            raise UnknownRequest(
                f"{tool!r:.40} is not killed for {hook}{did_you_mean(tool, killed)}: see status()"
            )

    def switch(
        self, receiver: str, act: Literal["disable", "shadow", "enable"], *, by: str
    ) -> None:
        """Switch the receivers with this name in every member, as `Bus.switch` does. The setting
        also applies to receivers that are connected later. A member does not switch a locked guard
        off; `status` lists such refusals.

        Raises:
            HookError: if an argument is invalid, or if this role is not an operator.
        """
        if act not in ACTS:
            raise HookError(f"act={act!r:.40} is not valid{did_you_mean(str(act), ACTS)}")
        name, operator = check_name("receiver", receiver), check_name("by", by)
        self._server.call("set_word", "switch", name, "", act, operator, "")

    def approvals(self, *, expires: float = 3600.0, answer_within: float = 86400.0) -> Approvals:
        """Return an approver for `bus.approver(fleet.approvals())`. A person can answer a request
        on any machine, and the whole fleet can use an approval only once.

        Args:
            expires: the number of seconds for which an answer is valid.
            answer_within: the number of seconds for which a request can be answered.

        Raises:
            HookError: if a number is invalid, or if the server cannot be used.
        """
        return Approvals(
            self._server, self.program, expires=expires, answer_within=answer_within
        )  # fmt: skip

    def ship(self, journal: Journal, *, name: str = "fleet") -> Shipping:
        """Publish the records of a journal in a thread, from now on. No call waits for the server.
        During an outage, the journal keeps all records. Each record is published once, even if
        processes are killed. The next process that publishes the journal continues after the last
        published record.

        Args:
            journal: a journal that is open for writing.
            name: the name of the cursor of the journal.

        Raises:
            HookError: if the journal is closed or read-only.
        """
        if not isinstance(journal, Journal):
            raise HookError(f"ship({journal!r:.40}): pass a Journal")
        cursor = journal.cursor(name)
        shipping = Shipping(self._server, lambda: self.member, journal.path, cursor)
        self._shippings.append(shipping)
        return shipping

    def events(self, name: str | None = None) -> Events:
        """Return the events of all members that the reader with this name has not committed yet. A
        reader can continue on any machine. Without a name, return all stored events.

        Raises:
            HookError: if the name is invalid, or if this role is not an operator.
        """
        return Events(self._server, None if name is None else check_name("name", name))

    def retain(self, days: float) -> int:
        """Delete the events that were published more than this number of days ago, except events
        that a named reader has not committed. Also delete requests for approval and members of that
        age, and counted calls that no longer affect a limit. Return the number of deleted events.

        Raises:
            HookError: if the number is invalid, or if this role is not an operator.
        """
        if not (is_number(days) and 0 <= days < 1e5):
            raise HookError(f"retain(days={days!r:.40}) must be a number of days")
        return int(self._server.call("retain", float(days))[0][0])

    def status(self) -> Status:
        """Return the members, the active kills and switches, and the number of pending requests.

        Raises:
            HookError: if this role is not an operator.
        """
        members = [
            {"member": member, "age": age, "refused": json.loads(refused), "ships": ships}
            for member, age, refused, ships in self._server.call("read_members")
        ]
        words = [each for each in self._words() if each["act"] != "enable"]
        pending = int(self._server.call("count_pending")[0][0])
        return Status(members=members, words=words, pending=pending)

    def close(self) -> None:
        """Leave the fleet, publish the remaining records, and close all connections."""
        while self._shippings:
            self._shippings.pop().close()
        while self._memberships:
            self._memberships.pop().close()
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, place: object) -> None:
        self.close()

    def __hookbus_counts__(self) -> Counts:
        """Return the counters that `guards.rate_limit` and `guards.budget` use."""
        return Counts(self._server)

    def __repr__(self) -> str:
        return f"<Fleet {self._server.schema} at {self._server.where}>"

    def _lag(self) -> int | None:
        """Return the number of records that are not published yet, or None if no journal is
        published.
        """
        shippings = list(self._shippings)
        return sum(each.lag() for each in shippings) if shippings else None

    def _words(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._server.call("read_words", -1)[0][1])
        return found


_open: Final[weakref.WeakSet[Fleet]] = weakref.WeakSet()


@atexit.register
def _at_exit() -> None:
    for fleet in list(_open):
        fleet.close()
