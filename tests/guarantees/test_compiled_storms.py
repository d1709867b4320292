"""Connections that come and go under calls that generated code runs: each call has its own, whole and in order (G26, G28)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter

import pytest

from hookbus import Block, Bus, HookBlocked, hookable
from tests.properties.paths import as_it_comes, compiled, is_compiled

GENERATIONS = 120
WINDOW = 5
CALLERS = 4
STORM_SECONDS = 1.0
ENOUGH_TO_BE_HOT = 12
ALWAYS = ("guard", "own guard", "body", "post")
"""Who is part of every call of a storm, behind whoever comes and goes."""


@pytest.fixture(params=[as_it_comes, compiled], ids=["as it comes", "compiled at once"])
def path(request):
    with request.param() as outcomes:
        yield outcomes


def agents(bus):
    """Return a class of agents whose calls carry a list, in which everybody who is asked leaves a note."""

    class Watched:
        @hookable("think", bus=bus)
        def think(self, notes):
            notes.append("body")
            return notes

        @hookable("reply", bus=bus)
        async def reply(self, notes):
            await asyncio.sleep(0)
            notes.append("body")
            return notes

    return Watched


def notes_itself(name):
    def receiver(agent, notes):
        notes.append(name)

    return receiver


def notes_itself_later(name):
    async def receiver(agent, notes):
        await asyncio.sleep(0)
        notes.append(name)

    return receiver


def rank(number):
    """Return the priority of a generation: seven of them, so that the order of connection decides too."""
    return number * 5 % 7


def in_order(first, last):
    """Return the generations from the first up to but without the last, as they have to be asked."""
    return sorted(range(first, last), key=lambda number: (-rank(number), number))


class Generations:
    """Receivers with numbers that follow each other: the next one comes, the oldest one goes, so a set is a window.

    Attributes:
        windows: every window that was in force, noted before it is.
    """

    def __init__(self, signal, sender, make, **options):
        self._signal, self._sender, self._make, self._options = signal, sender, make, options
        self._receivers = []
        self.first = 0
        self.windows = {(0, 0)}

    @property
    def last(self):
        return len(self._receivers)

    def come(self):
        number = self.last
        receiver = self._make(number)
        self.windows.add((self.first, number + 1))
        self._signal.connect(receiver, sender=self._sender, priority=rank(number), **self._options)
        self._receivers.append(receiver)

    def go(self):
        self.windows.add((self.first + 1, self.last))
        self._signal.disconnect(self._receivers[self.first], sender=self._sender)
        self.first += 1

    @property
    def in_force(self):
        return self.first, self.last

    def check(self, notes, since):
        """Check that who was asked, in this order, is one set that was in force, and not an older one than that."""
        numbers = [note for note in notes if isinstance(note, int)]
        assert numbers or (0, 0) == since
        if numbers:
            first, last = min(numbers), max(numbers) + 1
            assert numbers == in_order(first, last)
            assert (first, last) in self.windows
            assert first >= since[0] and last >= since[1]


class Storm:
    """Threads that connect, disconnect, switch, mute and call; their errors, and who was called how often."""

    def __init__(self, bus, agent):
        self.agent, self.signal = agent, bus.signal("pre_think")
        self.generations = Generations(self.signal, type(agent), notes_itself)
        self.is_over = False
        self.calls, self.errors = Counter(), []
        self.signal.connect(notes_itself("guard"), role="guard", priority=1)
        self.signal.connect(notes_itself("own guard"), sender=agent, role="guard")
        bus.signal("post_think").connect(self.looks_back)

    def looks_back(self, agent, notes):
        notes.append("post")

    def call(self, who):
        since = self.generations.in_force
        notes = self.agent.think([])
        self.calls[who] += 1
        assert tuple(notes[-len(ALWAYS) :]) == ALWAYS
        assert not {*notes[: -len(ALWAYS)]} & {*ALWAYS}
        if who != "muted":
            self.generations.check(notes, since)
        return notes

    # -- what each thread does -------------------------------------------------------------------------------------------

    def change(self, number):
        """Connect the next and disconnect the oldest, with room for some calls in between."""
        for _ in range(GENERATIONS):
            self.generations.come()
            self.wait_for_calls()
            if self.generations.last - self.generations.first > WINDOW:
                self.generations.go()
                self.wait_for_calls()
        self.is_over = True

    def wait_for_calls(self):
        until = sum(self.calls.values()) + CALLERS * ENOUGH_TO_BE_HOT
        limit = time.monotonic() + 10
        while sum(self.calls.values()) < until and not self.errors:
            assert time.monotonic() < limit, "the callers are stuck"
            time.sleep(0)

    def just_call(self, number):
        while not self.is_over:
            self.call("caller")

    def switch(self, number):
        connection = self.signal.connected_to(notes_itself("switched"), sender=self.agent)
        while not self.is_over:
            connection.disable()
            assert "switched" not in self.call("switch")
            connection.enable()
            assert "switched" in self.call("switch")
            time.sleep(0.001)

    def mute(self, number):
        while not self.is_over:
            with self.signal.muted():
                assert tuple(self.call("muted")) == ALWAYS
            time.sleep(0.002)

    def rage(self):
        works = [self.change, self.switch, self.mute, *[self.just_call] * CALLERS]
        threads = [threading.Thread(target=self.careful, args=(work, number)) for number, work in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads)
        assert not self.errors

    def careful(self, work, number):
        try:
            work(number)
        except BaseException as error:
            self.errors.append(error)
            self.is_over = True


def test_every_call_of_a_storm_asks_one_set_that_was_in_force_in_order_and_no_guard_is_skipped(path, hasty_threads):
    bus = Bus()
    storm = Storm(bus, agents(bus)())
    storm.rage()
    assert any(path)
    assert storm.calls["caller"] > GENERATIONS
    assert storm.calls["switch"] and storm.calls["muted"]


@pytest.mark.parametrize("make", [notes_itself, notes_itself_later], ids=["sync receivers", "async receivers"])
async def test_tasks_that_overlap_each_ask_the_set_of_the_moment_they_called(path, make):
    bus = Bus()
    agent = agents(bus)()
    generations = Generations(bus.signal("pre_reply"), type(agent), make)
    bus.signal("pre_reply").connect(notes_itself_later("guard"), role="guard")
    bus.signal("post_reply").connect(make("post"))

    async def call():
        first, last = generations.in_force
        calling = agent.reply([])  # from here on nothing that comes or goes concerns it
        await asyncio.sleep(0)
        assert await calling == [*in_order(first, last), "guard", "body", "post"]

    tasks = []

    async def make_calls():
        for _ in range(2):  # the second lot finds everyone in the plan tried, so that it is hot
            tasks.extend(asyncio.create_task(call()) for _ in range(ENOUGH_TO_BE_HOT))
            for _ in range(WINDOW):
                await asyncio.sleep(0)

    for _ in range(GENERATIONS):
        generations.come()
        await make_calls()
        if generations.last - generations.first > WINDOW:
            generations.go()
            await make_calls()
    await asyncio.gather(*tasks)
    assert any(path)


async def test_a_hundred_calls_that_overlap_on_one_agent_are_each_fully_hooked(path):
    bus = Bus()
    agent = agents(bus)()
    gate = asyncio.Event()
    for phase in ("pre", "post", "finally"):
        bus.signal(f"{phase}_reply").connect(notes_itself_later(phase))

    async def around(agent, notes, call_next):
        notes.append("around")
        await gate.wait()
        return await call_next()

    bus.signal("around_reply").connect(around)
    gate.set()
    for _ in range(ENOUGH_TO_BE_HOT):
        await agent.reply([])
    assert is_compiled(agent.reply)
    gate.clear()
    tasks = [asyncio.create_task(agent.reply([])) for _ in range(100)]
    for _ in range(10):
        await asyncio.sleep(0)
    gate.set()
    assert [await task for task in tasks] == [["pre", "around", "body", "post", "finally"]] * 100


def test_a_hundred_calls_that_overlap_in_threads_on_one_agent_are_each_fully_hooked(path, hasty_threads):
    bus = Bus()
    agent = agents(bus)()
    together = threading.Barrier(100)

    def meets(agent, notes):
        notes.append("met")
        if "meets" in notes:
            together.wait(30)

    bus.signal("pre_think").connect(meets)
    bus.signal("pre_think").connect(notes_itself("guard"), role="guard")
    bus.signal("post_think").connect(notes_itself("post"))
    for _ in range(ENOUGH_TO_BE_HOT):
        agent.think([])
    assert is_compiled(agent.think)
    calls = [["meets"] for _ in range(100)]
    threads = [threading.Thread(target=agent.think, args=(notes,)) for notes in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert calls == [["meets", "met", "guard", "body", "post"]] * 100


def test_a_guard_that_comes_in_a_storm_of_hot_calls_is_asked_in_every_call_after(path, hasty_threads):
    bus = Bus()
    agent = agents(bus)()
    signal = bus.signal("pre_think")
    signal.connect(notes_itself("modifier"))
    is_over, slipped, blocked = threading.Event(), [], Counter()
    epoch = 0  # odd while the guard is there for certain

    def call(number):
        while not is_over.is_set():
            before = epoch
            try:
                agent.think([])
            except HookBlocked:
                blocked[number] += 1
            else:
                if before == epoch and before % 2:
                    slipped.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        guard = signal.connect(lambda agent: Block("no"), role="guard", sender=agent)
        seen = sum(blocked.values())
        epoch += 1
        limit = time.monotonic() + 10
        while sum(blocked.values()) < seen + ENOUGH_TO_BE_HOT and time.monotonic() < limit:
            time.sleep(0)
        epoch += 1
        signal.disconnect(guard, sender=agent)
        time.sleep(0.001)
    is_over.set()
    for thread in threads:
        thread.join(30)
    assert sum(blocked.values()) >= 40 * ENOUGH_TO_BE_HOT
    assert not slipped
    assert any(path)


def test_receivers_of_one_agent_that_come_and_go_are_never_asked_about_another(path, hasty_threads):
    bus = Bus()
    Watched = agents(bus)
    first, second = Watched(), Watched()
    signal = bus.signal("pre_think")
    own, shared = notes_itself("own"), notes_itself("shared")
    strangers, is_over = [], threading.Event()

    def call(agent, known):
        while not is_over.is_set():
            notes = agent.think([])
            if not {*notes} <= known:
                strangers.append(notes)

    def come_and_go(sender, receiver):
        while not is_over.is_set():
            signal.connect(receiver, sender=sender)
            time.sleep(0)
            signal.disconnect(receiver, sender=sender)

    works = [
        *[(call, first, {"own", "shared", "body"}), (call, second, {"shared", "body"})] * 2,
        (come_and_go, first, own), (come_and_go, Watched, shared),
    ]  # fmt: skip
    threads = [threading.Thread(target=work, args=given) for work, *given in works]
    for thread in threads:
        thread.start()
    time.sleep(STORM_SECONDS)
    is_over.set()
    for thread in threads:
        thread.join(30)
    assert not strangers
    assert second.think([]) == ["body"]
