"""Threads that call while guards are connected and disconnected:
`python -m tests.storms --seconds 3600`.

No call may pass a guard whose `connect` has returned, or meet one whose `disconnect` has returned.
Run it on a build without a GIL. With a GIL, few threads run at the same moment.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from hookbus import Block, Bus, HookBlocked, events, hookable

ROUND_SECONDS = 2.0


class Storm:
    """One round of one scenario: what its threads do until it is over, and what they found.

    Attributes:
        calls: how many calls each thread made.
        changes: how often each thread connected or disconnected.
        wrong: what must not have happened.
    """

    def __init__(self, threads: int) -> None:
        self.threads, self.is_over = threads, False
        self.calls, self.changes = [0] * threads, [0] * threads
        self.wrong: list[str] = []
        self.bus = Bus()

        class Agent:
            @hookable("pay", bus=self.bus)
            def pay(self, note: Any) -> Any:
                return note

        self.Agent, self.signal = Agent, self.bus.signal("pre_pay")

    def expect(self, agent: Any, is_blocked: bool, what: str, thread: int) -> None:
        """Call once, and note where the call was wrongly let through or stopped."""
        self.calls[thread] += 1
        try:
            agent.pay("note")
        except HookBlocked:
            if not is_blocked:
                self.wrong.append(f"{what}: a guard that had gone blocked a call")
        else:
            if is_blocked:
                self.wrong.append(f"{what}: a call passed a guard that was connected")

    def run(self, work: Callable[[int], None], seconds: float) -> None:
        """Have all threads do this, again and again, for so many seconds."""

        def repeat(thread: int) -> None:
            try:
                while not self.is_over and not self.wrong:
                    work(thread)
            except BaseException as error:
                self.wrong.append(f"{work.__qualname__}: {error!r}")

        running = [threading.Thread(target=repeat, args=(each,)) for each in range(self.threads)]
        for thread in running:
            thread.start()
        time.sleep(seconds)
        self.is_over = True
        for thread in running:
            thread.join(60)
        if any(thread.is_alive() for thread in running):
            self.wrong.append("a thread hangs")
        if not all(self.changes):
            self.wrong.append(f"a thread changed nothing: {self.changes}")

    def check_end(self) -> None:
        """Note what is wrong when all threads have ended."""


def refuse(agent: Any) -> Block:
    return Block("no")


class OwnGuards(Storm):
    """Each thread guards an agent of its own; another thread may call the same method idle."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.agents = [self.Agent() for _ in range(threads)]

    def work(self, thread: int) -> None:
        agent = self.agents[thread]
        self.signal.connect(refuse, sender=agent, role="guard")
        self.expect(agent, True, "own guard", thread)
        self.signal.disconnect(refuse, sender=agent)
        self.expect(agent, False, "own guard", thread)
        self.changes[thread] += 2


class IdleCode(Storm):
    """Each pair of threads switches a method on and off: it must be on while a guard is connected.

    A method that is off goes past all guards. It is looked at and seldom called, for more rounds.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.pairs = [Storm(1) for _ in range(threads // 2 + 1)]
        self.idle = [pair.Agent.pay.__code__ for pair in self.pairs]
        self.agents = [self.pairs[each // 2].Agent() for each in range(threads)]

    def work(self, thread: int) -> None:
        pair, agent = self.pairs[thread // 2], self.agents[thread]
        pair.signal.connect(refuse, sender=agent, role="guard")
        if pair.Agent.pay.__code__ is self.idle[thread // 2]:
            self.wrong.append("a method was off after connect had returned")
        if self.changes[thread] % 64 == 0:
            self.expect(agent, True, "method of a pair", thread)
        pair.signal.disconnect(refuse, sender=agent)
        self.changes[thread] += 2

    def check_end(self) -> None:
        for pair, idle in zip(self.pairs, self.idle):
            if pair.Agent.pay.__code__ is not idle:
                self.wrong.append("a method was left on")


class ShortLivedAgents(Storm):
    """Each thread makes agents, guards each for a moment, and drops it: ids are used again."""

    def work(self, thread: int) -> None:
        guarded, free = self.Agent(), self.Agent()
        self.signal.connect(refuse, sender=guarded, role="guard")
        self.expect(guarded, True, "agent of a moment", thread)
        self.expect(free, False, "agent of a moment", thread)
        self.changes[thread] += 1
        if random.random() < 0.01:
            gc.collect()


class OwnHooks(Storm):
    """Each thread has a hookable class of its own on the same hook, guarded as a class."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.classes = [self._make_class() for _ in range(threads)]

    def _make_class(self) -> Any:
        class Other(self.Agent):  # type: ignore[misc, name-defined]
            @hookable("pay", bus=self.bus)
            def pay(self, note: Any) -> Any:
                return super().pay(note)

        return Other

    def work(self, thread: int) -> None:
        cls = self.classes[thread]
        agent = cls()
        with self.signal.connected_to(refuse, sender=cls, role="guard"):
            self.expect(agent, True, "guard of a class", thread)
        self.expect(agent, False, "guard of a class", thread)
        self.changes[thread] += 2


class Note:
    """An argument that guards sign."""

    def __init__(self) -> None:
        self.signed: list[int] = []


class SharedAgent(Storm):
    """All threads call one agent. Each connects and disconnects a guard that signs, for the agent,
    its class or everything; a call is signed once by each guard that was there from its beginning
    to its end, and not by one that was not.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.agent = self.Agent()
        # For each guard a number that changes before and after each change: odd while the guard is
        # connected, or about to be.
        self.states = [(0, False)] * threads
        self.guards = [self._make_guard(each) for each in range(threads)]

    def _make_guard(self, number: int) -> Callable[..., None]:
        def sign(agent: Any, note: Note) -> None:
            note.signed.append(number)

        return sign

    def work(self, thread: int) -> None:
        sender = random.choice((None, self.agent, self.Agent))
        where = {} if sender is None else {"sender": sender}
        guard, (turn, _) = self.guards[thread], self.states[thread]
        self.signal.connect(guard, role="guard", priority=random.randrange(3), **where)
        self.states[thread] = (turn + 1, True)
        self.call(thread)
        self.states[thread] = (turn + 2, False)  # it is about to go: a call may meet it, or not
        self.signal.disconnect(guard, **where)
        self.states[thread] = (turn + 3, False)
        self.call(thread)
        self.states[thread] = (turn + 4, False)
        self.changes[thread] += 2

    def call(self, thread: int) -> None:
        """Call, and compare who signed with who was connected all the time."""
        note, before = Note(), list(self.states)
        self.agent.pay(note)
        after = list(self.states)
        self.calls[thread] += 1
        for number, state in enumerate(before):
            if state != after[number]:
                continue
            turn, is_connected = state
            times = note.signed.count(number)
            if is_connected and times != 1:
                self.wrong.append(f"a guard that was connected was called {times} times")
            elif not is_connected and turn % 4 == 3 and times:
                self.wrong.append("a guard that was disconnected was called")


class Listeners(Storm):
    """Each thread connects and disconnects listeners; one that stays is told of every call."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.agent, self.heard = self.Agent(), [0] * threads

        def listen(bus: Any, event: Any) -> None:
            self.heard[self.numbers[threading.get_ident()]] += 1

        self.numbers: dict[int, int] = {}
        self.listener = self.bus.events.connect(listen, kinds=(events.Finished,))

    def work(self, thread: int) -> None:
        self.numbers[threading.get_ident()] = thread
        mine = []

        def listen(bus: Any, event: Any) -> None:
            mine.append(event.call_id)

        with self.bus.events.connected_to(listen, kinds=(events.Started, events.Finished)):
            self.agent.pay("note")
        if len(mine) < 2:
            self.wrong.append("a listener that was connected was not told of a call")
        self.agent.pay("note")
        self.calls[thread] += 2
        self.changes[thread] += 2

    def check_end(self) -> None:
        if self.heard != self.calls:
            self.wrong.append(f"a listener heard {self.heard} of {self.calls} calls")


SCENARIOS: tuple[type[Storm], ...] = (
    IdleCode, OwnGuards, ShortLivedAgents, OwnHooks, SharedAgent, Listeners
)  # fmt: skip


def main() -> int:
    """Run all scenarios in turn until the time is over; return 1 as soon as one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.storms", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, in all")
    parser.add_argument("--threads", type=int, default=8)
    given = parser.parse_args()
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, {'with a GIL' if has_gil else 'without a GIL'}")
    end, total = time.monotonic() + given.seconds, {each: [0, 0] for each in SCENARIOS}
    while (left := end - time.monotonic()) > 0:
        for scenario in SCENARIOS:
            storm: Any = scenario(given.threads)
            storm.run(storm.work, min(ROUND_SECONDS, left))
            storm.check_end()
            total[scenario][0] += sum(storm.calls)
            total[scenario][1] += sum(storm.changes)
            if storm.wrong:
                print(f"{scenario.__name__}: {storm.wrong[0]} (after {total[scenario]})")
                return 1
    for scenario, (calls, changes) in total.items():
        print(f"{scenario.__name__:16} {calls:>12,} calls {changes:>12,} changes, nothing wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
