"""Random programs: phases, roles, scopes, priorities, kinds, outcomes, failures, inheritance.

Most draws are from tables, the usual values more often than unusual ones. Programs are therefore
cheap to draw and easy to shrink, and enough calls reach the late phases.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from .described import ABSENT, ROLES, Arguments, Body, Connection, Program, Receiver, Says

Choose = Callable[..., Any]
"""Draws one of its arguments."""

VALUES: Final = ("x", 70, False, True)
PATCHES: Final[tuple[dict[str, Any], ...]] = (
    {"a": 7},
    {"b": 8},
    {"a": 11, "b": 3},
    {"rest": (5, 6)},
    {"rest": [7]},
    {"more": {"z": 3}},
    {},
)
WRONG_PATCHES: Final = (
    {"nope": 1},
    {"rest": 7},
    {"more": 7},
    {"more": {"a": 1}},
    {"a": 9, "nope": 1},
)
WRITES: Final = ((("a", 4),), (("b", 12), ("a", 5)), (("rest", (8,)),), (("more", {"y": 1}),))
WRONG_WRITES: Final = ((("nope", 1),), (("a", ABSENT),), (("b", 6), ("rest", 5)))
FAILING: Final = (
    *(Says("fail", "Broken"),) * 4,
    *(Says("fail", "StopIteration"), Says("interrupt"), Says("cancel"), Says("cancel")),
)
BLOCKING: Final = (Says("block"), Says("block", "gift"), Says("block", None))
CLOSED: Final = (
    *BLOCKING,
    *dict.fromkeys(FAILING),
    Says("hang"),
    Says("drop"),
    Says("replace", None),
    Says("replace", ("s1",)),
    *(Says("value", value) for value in (*VALUES, 0, "")),
)
ODD: Final = (
    *(Says("value", value) for value in ("x", False, True)),
    *(
        Says("replace", 70),
        Says("replace", None),
        Says("ask"),
        Says("drop"),
        Says("patch", {"a": 7}),
        Says("hang"),
    ),
)
ATTEMPTS: Final[tuple[Any, ...]] = (
    *(({},),) * 6,
    (),
    ({}, {}),
    ({"a": 5},),
    ({}, {"b": 6}),
    ({"a": 9}, {}),
    ({"nope": 1},),
    ({"rest": 7}, {}),
)
ENDS: Final = (*("return",) * 12, *("fail",) * 4, "stop", "interrupt", "cancel", "leave")
PHASES: Final = (
    "pre",
    "pre",
    "pre",
    "around",
    "around",
    "post",
    "post",
    "post",
    "error",
    "error",
    "finally",
)


@st.composite
def programs(draw: Any, colour: str) -> Program:
    """Draw a program of this colour."""
    return _program(lambda *choices: draw(st.sampled_from(choices)), colour)


def program_of_seed(seed: int, colour: str) -> Program:
    """Return the program of this colour and number, which is much cheaper to make than one that can
    be shrunk.
    """
    numbers = random.Random(seed)
    return _program(lambda *choices: numbers.choice(choices), colour)


def _program(choose: Choose, colour: str) -> Program:
    program = _inheritance(choose, Program(colour=colour))
    count = choose(*range(11))
    receivers = tuple(_receiver(choose, program, f"r{index}") for index in range(count))
    program = replace(
        program,
        receivers=_with_one_going_out(_with_one_leaving(choose, program, receivers)),
        arguments=_arguments(choose),
        takes=choose(None, None, 0, 1, 2) if program.is_stream else None,
        is_listening=choose(True, True, True, False),
        has_values=choose(False, True),
        approves=choose(None, "yes", "yes", "no"),
        is_guarded=_rarely(choose),
        cuts_late=_rarely(choose),
    )
    return replace(program, connections=_connections(choose, program))


def _arguments(choose: Choose) -> Arguments:
    first = choose(*range(13))
    return (
        Arguments(first, 6, choose((), (4, 5)), choose({}, {"z": 9}))
        if choose(False, True)
        else Arguments(first)
    )


def _rarely(choose: Choose) -> bool:
    return bool(choose(*(False,) * 9, True))


def _inheritance(choose: Choose, program: Program) -> Program:
    kind = choose(*("method",) * 7, "classmethod", "staticmethod", "function")
    if kind in ("staticmethod", "function"):
        return replace(program, kind=kind, bodies=(_body(choose, program, is_inner=False),))
    count = choose(1, 1, 2, 2, 3, 4)
    bodies = [
        _body(choose, program) if choose(True, True, True, False) else None
        for _ in range(count - 1)
    ]
    entry = choose(*range(count)) if choose(False, False, True) else None
    return replace(
        program,
        kind=kind,
        bodies=(*bodies, _body(choose, program)),
        is_diamond=count == 4 and choose(False, True),
        entry=entry,
    )


def _body(choose: Choose, program: Program, is_inner: bool = True) -> Body:
    ends = choose(*ENDS)
    return Body(
        hookable=not is_inner or not _rarely(choose),
        is_outside=choose(False, True),
        items=choose((), ("i1",), ("i1", "i2"), ("i1", "i2", "i3")) if program.is_stream else (),
        calls_super=is_inner and choose(False, True),
        recurs=_rarely(choose),
        ends="fail" if ends == "leave" and not program.is_async else ends,
    )


def _receiver(choose: Choose, program: Program, name: str) -> Receiver:
    phase = choose(*PHASES, *("item",) * 3 * program.is_stream)
    if phase == "around":
        return _around(choose, program, name)
    role = choose(
        *{"error": ("modify", "modify", "observe"), "finally": ("observe",)}.get(
            phase, ("modify", *ROLES)
        )
    )
    says = _says(choose, program, phase, role)
    asks = choose("ctx", "ctx", "names", "all", "sender", "misfit" if _rarely(choose) else "ctx")
    colour = (
        choose("sync", "async", "awaitable")
        if program.is_async
        else choose(*("sync",) * 18, "async", "awaitable")
    )
    is_settled = role != "observe"  # those who run side by side must not act on each other
    return Receiver(
        name, phase, role, says, asks, colour,
        writes=_writes(choose, says) if asks == "ctx" else (),
        swallows=choose(False, True),
        consults=is_settled and _rarely(choose),
        cuts=f"r{choose(*range(7))}" if is_settled and _rarely(choose) else None,
        is_method=choose(False, False, False, True),
    )  # fmt: skip


def _says(choose: Choose, program: Program, phase: str, role: str) -> Says:
    """Draw nothing, what makes a difference here, a failure, a block, or what may be out of place,
    in this order of weight.
    """
    useful = _useful(program, phase, role)
    return choose(*choose(*((Says(),),) * 5, *(useful,) * 5, FAILING, BLOCKING, ODD))


def _useful(program: Program, phase: str, role: str) -> tuple[Says, ...]:
    supplied = (Says("replace", ("s1", "s2") if program.is_stream else "x"),) * 3
    if role != "modify":
        return (
            *(Says(),) * 36,
            *(Says("ask"),) * 4,
            *supplied,
            Says("patch", PATCHES[0]),
            *(Says("value", value) for value in VALUES),
        )
    if phase == "pre":
        return (*(Says("patch", patch) for patch in (*PATCHES, *WRONG_PATCHES)), *supplied)
    if phase == "error":
        return supplied
    dropped = (Says("drop"),) * 2 if phase == "item" else ()
    return (*(Says("value", value) for value in VALUES), Says("replace", None), *dropped)


def _writes(choose: Choose, says: Says) -> Any:
    if not choose(False, False, False, True):
        return ()
    may_be_wrong = says.kind in ("nothing", "patch", "replace")
    return choose(*WRITES, *(WRONG_WRITES if may_be_wrong else ()))


def _around(choose: Choose, program: Program, name: str) -> Receiver:
    says, attempts = choose(*_ways_around_ends(program)), choose(*ATTEMPTS)
    colour = "sync"
    if not program.is_stream:
        by_await = ("async", "awaitable") if attempts else ("sync", "async", "awaitable")
        colour = choose(*by_await) if program.is_async else choose(*("sync",) * 9, "async")
    asks = choose("ctx", "names", "all", "sender")
    return Receiver(
        name, "around", "modify", says, asks, colour,
        writes=WRITES[0] if asks == "ctx" and _rarely(choose) else (),
        swallows=choose(False, True),
        consults=_rarely(choose),
        attempts=attempts,
        catches=choose(False, False, True),
        is_method=choose(False, False, False, True),
    )  # fmt: skip


def _ways_around_ends(program: Program) -> tuple[Says, ...]:
    through = (Says("through"),) * 30
    if program.is_stream:
        ways = (*through, Says("value", "x"), Says("value", "x"), *FAILING, Says("no generator"))
        return (
            ways
            if program.is_async
            else (*ways, Says("nothing"), Says("block"), Says("block", "gift"), Says("drop"))
        )
    return (
        *through,
        Says("value", "x"),
        Says(),
        Says("replace", 70),
        Says("patch", {"a": 1}),
        *BLOCKING,
        Says("drop"),
        *FAILING,
    )


def _with_one_leaving(
    choose: Choose, program: Program, receivers: tuple[Receiver, ...]
) -> tuple[Receiver, ...]:
    """Let at most one asynchronous receiver have its caller cancelled, where nobody runs beside it.
    """
    observed = [one.phase for one in receivers if one.role == "observe"]
    able = [
        one
        for one in receivers
        if one.colour != "sync" and one.phase != "finally" and observed.count(one.phase) < 2
    ]
    has_body = any(body and body.ends == "leave" for body in program.bodies)
    if not program.is_async or has_body or not able or not _rarely(choose):
        return receivers
    chosen, way = choose(*able), choose("leave", "swallow")
    return tuple(replace(one, says=Says(way)) if one is chosen else one for one in receivers)


def _with_one_going_out(receivers: tuple[Receiver, ...]) -> tuple[Receiver, ...]:
    """Let one observer of a phase at most raise what must go out: which of two does is said
    nowhere.
    """
    phases = set()
    kept = []
    for one in receivers:
        if one.role == "observe" and one.says.kind in ("interrupt", "cancel"):
            one = replace(one, says=Says("fail", "Broken")) if one.phase in phases else one
            phases.add(one.phase)
        kept.append(one)
    return tuple(kept)


def _connections(choose: Choose, program: Program) -> tuple[Connection, ...]:
    is_forward = choose(False, True)
    made = []
    for receiver in program.receivers:
        one = _connection(choose, program, receiver)
        made.append(one)
        if _rarely(choose) and receiver.says.kind not in (
            "leave",
            "swallow",
        ):  # two of them side by side would act on each other
            again = _connection(choose, program, receiver)
            made[-1:] = [replace(both, once=False, before=(), after=()) for both in (one, again)]
    names = [one.receiver for one in made]
    related = [
        _related(choose, program, one, is_forward) if names.count(one.receiver) == 1 else one
        for one in made
    ]
    single = {name for name in names if names.count(name) == 1}
    kept = [
        replace(one, before=tuple(single & {*one.before}), after=tuple(single & {*one.after}))
        for one in related
    ]
    return tuple(sorted(kept, key=lambda one: not one.early))


def _connection(choose: Choose, program: Program, receiver: Receiver) -> Connection:
    scopes = ["any", "any", "any", "stranger"]
    if program.kind in ("method", "classmethod"):
        scopes += [f"K{index}" for index in range(len(program.bodies))]
    if program.kind != "classmethod":
        scopes += ["self", "self"]
    is_odd = receiver.asks == "misfit" or receiver.colour != "sync" or program.is_stream
    early = choose(*(False,) * (2 if is_odd else 9), True)
    is_fit = receiver.asks != "misfit" and (receiver.colour == "sync" or program.is_async)
    is_plain = is_fit and not early
    policies = (
        (None, None, "isolate", "block", "raise")
        if receiver.role == "modify" and receiver.phase != "around"
        else (None,)
    )
    on_error = choose(*policies)
    may_vanish = receiver.role != "guard" and on_error in (None, "isolate")
    return Connection(
        receiver.name,
        scope="any" if early else choose(*scopes),
        priority=choose(0, 0, 0, 1, 5, -1),
        on_error=on_error,
        is_weak=may_vanish and choose(*(False,) * 5, True),
        when=choose(*(None,) * 15, "always", "never", "fails", "big", "glob") if is_plain else None,
        once=is_fit and receiver.role != "guard" and _rarely(choose),
        timed=receiver.says.kind == "hang" or (receiver.phase != "around" and _rarely(choose)),
        early=early,
        shadow=receiver.role == "guard" and choose(False, False, False, True),
    )


def _related(choose: Choose, program: Program, one: Connection, is_forward: bool) -> Connection:
    """Perhaps put it before somebody of its own group; all relations of a program point the same
    way, so there is no cycle.
    """
    receiver = program.receiver(one.receiver)
    others = [
        other.name
        for other in program.receivers
        if (other.phase, other.role) == (receiver.phase, receiver.role)
        and (other.name > one.receiver) is is_forward
        and other.name != one.receiver
    ]
    if not others or not choose(False, False, True):
        return one
    return replace(one, before=(choose(*others),))


@st.composite
def ordered_programs(draw: Any) -> Program:
    """Draw a program of one phase in which no two receivers have the same rank."""
    ranks = st.tuples(
        st.sampled_from(ROLES), st.integers(-2, 2), st.sampled_from(("self", "K0", "K1", "any"))
    )
    drawn = draw(st.lists(ranks, unique=True, max_size=9))
    phase = draw(st.sampled_from(("pre", "post")))
    return Program(
        bodies=(Body(), Body()),
        receivers=tuple(
            Receiver(f"r{index}", phase, role) for index, (role, _, _) in enumerate(drawn)
        ),
        connections=tuple(
            Connection(f"r{index}", scope, priority)
            for index, (_, priority, scope) in enumerate(drawn)
        ),
    )
