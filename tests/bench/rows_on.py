"""P14 to P25: listeners, conditions, deadlines, streams, contexts, failures, and first calls."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from hookbus import Block, Bus, HookBlocked, explain, hookable, hookspec, modes
from hookbus.events import Blocked, Failed

from . import hand_on, hand_told
from .agents import hooked
from .calls import asking, method, refused
from .harness import Case, Expect, Row
from .limits import LIMITS
from .parts import (
    BODY,
    CHANGED,
    COLOURS,
    RESULT,
    Colour,
    Function,
    five_of,
    make_answer,
    make_post,
    make_pre,
)
from .streams import ITEMS, Bare, BareAsync, case_of_stream, hooked_stream, make_item

SECONDS = 5.0
"""A deadline that nobody misses."""

TROUBLE = (Blocked, Failed)


def rows() -> Iterator[Row]:
    """Yield the rows, in the order of the table."""
    for c in COLOURS:
        yield _row(f"P14 {c}", "1 + 1 and a listener to every event / by hand", partial(heard, c))
    missing = None if _takes_kinds() else "not there yet"
    for c in COLOURS:
        key, title = f"P15 {c}", "1 + 1 and a listener to trouble only / without one"
        yield _row(key, title, partial(troubled, c), missing)
    for c in COLOURS:
        yield _row(f"P16 {c}, predicate", "1 pre with when= / by hand", partial(asked_when, c))
        yield _row(f"P16 {c}, glob", "1 pre with when= / by hand", partial(matched_when, c))
    yield _row("P17 async", "1 async pre with timeout=5 / asyncio.timeout", deadline_awaited)
    yield _row("P18 sync", "1 pre with timeout=5 / executor.submit().result(5)", deadline_in_thread)
    for c in COLOURS:
        yield _row(f"P19 {c}", "an item of 1,000, 1 modifier / by hand", partial(itemised, c))
        yield _row(f"P19 {c}, idle", "an item of 1,000, idle / bare", partial(idle_stream, c))
    for c in COLOURS:
        yield _row(f"P20 {c}", "1 pre that asks for ctx / by hand", partial(asking_for_ctx, c))
    yield _row("P21 known form", "first call / compile and exec", partial(first_call, False))
    yield _row("P21 new form", "first call / compile and exec", partial(first_call, True))
    for c in COLOURS:
        yield _row(f"P22 {c}", "blocked / a string raised by hand", partial(blocked, c))
        key, title = f"P22 {c}, same Block", "blocked / the same Block raised by hand"
        yield _row(key, title, partial(blocked_by_verdict, c))
    for c in COLOURS:
        yield _row(f"P23 {c}", "1 pre that fails / try, except by hand", partial(isolated, c))
    for c in COLOURS:
        yield _row(f"P24 {c}", "a question with one guard / by hand", partial(guarded_question, c))
    title = "5 + 5, 2 when=, a guard with a deadline, a listener / by hand"
    yield _row("P25 async", title, everything)


def _row(
    key: str, title: str, cases: Callable[[], dict[str, Case]], missing: str | None = None
) -> Row:
    return Row(key, title, cases, LIMITS[key], missing)


# -- listeners -------------------------------------------------------------------------------------


def make_listener() -> Function:
    def listener(bus: Any, event: Any) -> None:
        return None

    return listener


def heard(colour: Colour) -> dict[str, Case]:
    pre, post, listener, bus = make_pre("sync"), make_post("sync"), make_listener(), Bus()
    bus.events.connect(listener)
    by_hand = hand_told.told(colour, pre, post, BODY[colour], listener)
    agent, expect = hooked(colour, bus=bus, pre=[pre], post=[post]), Expect(4, RESULT)
    return {
        "by hand": method(by_hand, expect, pre, post, listener),
        "hookbus": method(agent, expect, pre, post, listener),
    }


def _takes_kinds() -> bool:
    connect: Any = Bus().events.connect
    try:
        connect(make_listener(), kinds=TROUBLE)
    except Exception:  # whichever way it says that it knows no such option
        return False
    return True


def troubled(colour: Colour) -> dict[str, Case]:
    pre, post, listener, bus = make_pre("sync"), make_post("sync"), make_listener(), Bus()
    connect: Any = bus.events.connect
    connect(listener, kinds=TROUBLE)
    deaf, agent = (hooked(colour, bus=b, pre=[pre], post=[post]) for b in (None, bus))
    expect = Expect(2, RESULT)
    return {
        "no listener": method(deaf, expect, pre, post, listener),
        "hookbus": method(agent, expect, pre, post, listener),
    }


# -- conditions ------------------------------------------------------------------------------------


def make_condition() -> Function:
    def condition(msg: Any) -> bool:
        return bool(msg == "hi")

    return condition


def asked_when(colour: Colour) -> dict[str, Case]:
    pre, condition, expect = make_pre("sync"), make_condition(), Expect(2, RESULT)
    by_hand = hand_on.conditional(colour, condition, pre, BODY[colour])
    agent = hooked(colour, {"when": condition}, pre=[pre])
    return {
        "by hand": method(by_hand, expect, pre, condition),
        "hookbus": method(agent, expect, pre, condition),
    }


def matched_when(colour: Colour) -> dict[str, Case]:
    pre, expect = make_pre("sync"), Expect(1, RESULT)
    by_hand = hand_on.conditional(colour, lambda msg: fnmatchcase(msg, "h*"), pre, BODY[colour])
    agent = hooked(colour, {"when": {"msg": "h*"}}, pre=[pre])
    return {"by hand": method(by_hand, expect, pre), "hookbus": method(agent, expect, pre)}


# -- deadlines -------------------------------------------------------------------------------------


def deadline_awaited() -> dict[str, Case]:
    pre, expect = make_pre("async"), Expect(1, RESULT)
    by_hand = hand_on.timed(SECONDS, pre, BODY["async"])
    agent = hooked("async", {"timeout": SECONDS}, pre=[pre])
    return {"by hand": method(by_hand, expect, pre), "hookbus": method(agent, expect, pre)}


def deadline_in_thread() -> dict[str, Case]:
    """What runs in another thread counts itself."""
    ran = [0]

    def pre(agent: Any, msg: Any) -> Any:
        ran[0] += 1

    def case(owner: Any) -> Case:
        return replace(method(owner, Expect(1, RESULT)), tally=lambda: ran[0])

    executor = ThreadPoolExecutor(1)
    return {
        "by hand": case(hand_on.executed(SECONDS, executor, pre, BODY["sync"])),
        "hookbus": case(hooked("sync", {"timeout": SECONDS}, pre=[pre])),
    }


# -- streams ---------------------------------------------------------------------------------------


def itemised(colour: Colour) -> dict[str, Case]:
    receiver, bare = make_item(), Bare if colour == "sync" else BareAsync
    by_hand = hand_on.itemised(colour, receiver, bare.stream)
    agent = hooked_stream(colour, item=[receiver])
    return {
        "by hand": case_of_stream(by_hand, ITEMS, receiver),
        "hookbus": case_of_stream(agent, ITEMS, receiver),
    }


def idle_stream(colour: Colour) -> dict[str, Case]:
    bare, nobody = Bare() if colour == "sync" else BareAsync(), make_item()
    return {
        "by hand": case_of_stream(bare, 0, nobody),
        "hookbus": case_of_stream(hooked_stream(colour), 0, nobody),
    }


# -- a context -------------------------------------------------------------------------------------


def asking_for_ctx(colour: Colour) -> dict[str, Case]:
    def pre(agent: Any, ctx: Any) -> Any:
        return None

    expect = Expect(1, RESULT)
    by_hand, agent = hand_on.shown(colour, pre, BODY[colour]), hooked(colour, pre=[pre])
    return {"by hand": method(by_hand, expect, pre), "hookbus": method(agent, expect, pre)}


# -- first calls -----------------------------------------------------------------------------------

_name_of_argument = map("msg_{}".format, itertools.count()).__next__


def first_call(is_new: bool) -> dict[str, Case]:
    """What is known is the form of a plan; in a new one, an argument has another name."""
    post = make_post("sync")
    pre, text = _pre_of("msg"), written_for(_agent_of("msg", _pre_of("msg"), post))

    def make() -> Any:
        name = _name_of_argument() if is_new else "msg"
        return _agent_of(name, _pre_of(name) if is_new else pre, post)

    def text_of() -> str:
        return re.sub(r"\bmsg\b", _name_of_argument(), text) if is_new else text

    def timed(prepare: Callable[[], Any], work: Callable[[Any], object]) -> Callable[[int], float]:
        def elapsed(n: int) -> float:
            ready = [prepare() for _ in range(n)]
            start = time.perf_counter_ns()
            for each in ready:
                work(each)
            return time.perf_counter_ns() - start

        return elapsed

    def build(source: str) -> bool:
        known: dict[str, Any] = {}
        exec(compile(source, "<by hand>", "exec"), known)  # noqa: S102
        return len(known) > 1

    def call(agent: Any) -> Any:
        return agent.reply("hi", 0.7)

    make()  # the first of all loads what others find loaded
    return {
        "by hand": Case(
            lambda: build(text_of()), lambda n: None, Expect(0, True), elapsed=timed(text_of, build)
        ),
        "hookbus": Case(
            lambda: [*call(make()).values()], lambda n: None, Expect(1, ["hi", 0.7]), (post,),
            elapsed=timed(make, call),
        ),
    }  # fmt: skip


def _pre_of(name: str) -> Function:
    known: dict[str, Any] = {}
    exec(f"def pre(agent, {name}): return None", known)  # noqa: S102
    return known["pre"]  # type: ignore[no-any-return]


def _agent_of(name: str, pre: Function, post: Function) -> Any:
    """Return an agent that was never called, with one receiver before and one after."""
    result, bus = f'{{"msg": {name}, "temperature": temperature}}', Bus()
    source = f"def reply(self, {name}, temperature=0.7): return {result}"
    known: dict[str, Any] = {}
    exec(source, known)  # noqa: S102
    cls = type("Agent", (), {"reply": hookable("reply", bus=bus)(known["reply"])})
    bus.signal("pre_reply").connect(pre, cls)
    bus.signal("post_reply").connect(post, cls)
    return cls()


def written_for(agent: Any) -> str:
    """Return the text that hookbus writes for a call, as `explain` shows it."""
    for _ in range(10_000):
        agent.reply("hi", 0.7)
        source = explain(agent.reply, source=True).source or ""
        if re.search(r"^\s*(async )?def ", source, re.MULTILINE):
            return source
    raise LookupError("hookbus has written no function for this call")


# -- what goes wrong -------------------------------------------------------------------------------


def blocked(colour: Colour) -> dict[str, Case]:
    verdict, expect = Block("no"), Expect(1, "no")

    def guard(agent: Any, msg: Any) -> Any:
        return verdict

    def refuse(agent: Any, msg: Any) -> Any:
        return "no"

    by_hand = hand_on.guarded(colour, refuse, BODY[colour])
    agent = hooked(colour, {"role": "guard"}, pre=[guard])
    return {
        "by hand": refused(by_hand, hand_on.Refused, expect, refuse),
        "hookbus": refused(agent, HookBlocked, expect, guard),
    }


def blocked_by_verdict(colour: Colour) -> dict[str, Case]:
    expect = Expect(1, "no")

    def guard(agent: Any, msg: Any) -> Any:
        return Block("no")

    by_hand = hand_on.guarded_by_verdict(colour, guard, BODY[colour])
    agent = hooked(colour, {"role": "guard"}, pre=[guard])
    return {
        "by hand": refused(by_hand, hand_on.Refused, expect, guard),
        "hookbus": refused(agent, HookBlocked, expect, guard),
    }


def isolated(colour: Colour) -> dict[str, Case]:
    def pre(agent: Any, msg: Any) -> Any:
        raise KeyError("gone")

    expect = Expect(1, RESULT)
    by_hand, agent = hand_on.isolating(colour, pre, BODY[colour]), hooked(colour, pre=[pre])
    return {"by hand": method(by_hand, expect, pre), "hookbus": method(agent, expect, pre)}


def guarded_question(colour: Colour) -> dict[str, Case]:
    def guard(asker: Any, message: Any) -> Any:
        return None

    def ask(message: Any) -> Any:
        """Which session does this message belong to?"""

    async def aask(message: Any) -> Any:
        """Which session does this message belong to?"""

    bus, receiver = Bus(), make_answer(colour, last=True)
    function: Any = ask if colour == "sync" else aask
    question: Any = hookspec(modes.firstresult, bus=bus, name="ask")(function)
    question.connect(receiver)
    bus.signal("pre_ask").connect(guard, role="guard")
    by_hand, expect = hand_on.asked_after(colour, guard, receiver), Expect(2, "session hi")
    return {
        "by hand": asking(colour, by_hand, expect, guard, receiver),
        "hookbus": asking(colour, question, expect, guard, receiver),
    }


# -- everything at once ----------------------------------------------------------------------------


def everything() -> dict[str, Case]:
    pres, posts = five_of(make_pre, "sync"), five_of(make_post, "sync")
    condition, listener, bus = make_condition(), make_listener(), Bus()

    async def guard(agent: Any, msg: Any) -> Any:
        return None

    by_hand = hand_told.everything(
        pres, posts, condition, guard, SECONDS, listener, BODY["async"]
    )
    agent = hooked("async", bus=bus, post=posts)
    pre, cls = bus.signal("pre_reply"), type(agent)
    for place, receiver in enumerate(pres):
        pre.connect(receiver, cls, **({"when": condition} if place < 2 else {}))
    pre.connect(guard, cls, role="guard", timeout=SECONDS)
    bus.events.connect(listener)
    counted = (*pres, *posts, guard, condition)
    return {
        "by hand": method(by_hand, Expect(13, CHANGED), *counted),
        "hookbus": method(agent, Expect(13, CHANGED), *counted),
    }
