"""Programs as plain data: one hooked call, its receivers, and what each of them does.

The oracle predicts what such a program does. The stage builds and runs it. Both return a `Seen`.
Nothing here imports hookbus.

The hooked callable is always `work(a, b=2, *rest, **more)`. Its definitions are counted along the
MRO of the leaf class. `K0` is the leaf. A chain is K0 < K1 < ..., a diamond is K0 < (K1, K2) < K3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import zip_longest
from typing import Any, Final

COLOURS: Final = ("sync", "async", "generator", "async generator")
PHASES: Final = ("pre", "around", "item", "post", "error", "finally")
ROLES: Final = ("modify", "guard", "observe")
NAMES: Final = ("a", "b", "rest", "more")
CAUSES: Final = (
    "Broken",
    "StopIteration",
    "RuntimeError",
    "Interrupt",
    "CancelledError",
    "GeneratorExit",
)
NOT_ERRORS: Final = ("Interrupt", "CancelledError", "GeneratorExit")


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final[Any] = _Absent()
"""Nothing was given, where None is a value like any other; as the value of a write it means `del`.
"""


class _Described:
    """Shown by what is not the default, as code that makes it."""

    def __repr__(self) -> str:
        parts = fields(self)  # type: ignore[arg-type]
        told = (
            f"{one.name}={value!r}"
            for one in parts
            if (value := getattr(self, one.name)) != _default(one)
        )
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def _default(one: Any) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


@dataclass(frozen=True, repr=False)
class Says(_Described):
    """How somebody's turn ends.

    `nothing`, `value`, `patch`, `replace`, `ask`, `block` (with a `value`: `Block(reason,
    result=value)`) and `drop` are returned,
    `through` is an around's last result, and `no generator` a stream's around that is not one.
    `fail` raises the cause
    called `value`, `interrupt` a BaseException, `cancel` a CancelledError of its own; `hang` runs
    past its deadline, `leave`
    has the caller's task cancelled, and `swallow` also hides that.
    """

    kind: str = "nothing"
    value: Any = ABSENT


@dataclass(frozen=True, repr=False)
class Receiver(_Described):
    """One callable and what it does in its turn."""

    name: str
    phase: str
    role: str = "modify"
    says: Says = Says()
    asks: str = "ctx"  # by "ctx", by "names", for "all" (**kwargs), for the "sender" only, or a "misfit" nobody serves  # noqa: E501
    colour: str = (
        "sync"  # "sync", "async", or "awaitable": a plain function that returns a coroutine
    )
    writes: tuple[tuple[str, Any], ...] = ()
    swallows: bool = False  # hides the TypeError of a write that is not allowed
    consults: bool = False  # makes a call of another hook
    cuts: str | None = None  # disconnects this receiver
    attempts: tuple[Mapping[str, Any], ...] = ({},)  # an around: the patch of each call_next
    catches: bool = False  # an around: goes on after an Exception of call_next
    is_method: bool = (
        False  # of the sender, where it is connected to nobody else; else of an object of its own
    )


@dataclass(frozen=True, repr=False)
class Connection(_Described):
    """One `connect`, in the order in which they are made."""

    receiver: str
    scope: str = (
        "any"  # "self", "K0" .. "K3", "any", or "stranger": an equal object that is never called
    )
    priority: int = 0
    on_error: str | None = None
    when: str | None = None  # "always", "never", "fails", "big" (a > 4), "glob" ({"a": "1*"})
    once: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    timed: bool = False
    is_weak: bool = False  # connected with weak=True, and kept alive
    early: bool = False  # made before the hook is declared
    shadow: bool = False


@dataclass(frozen=True, repr=False)
class Body(_Described):
    """One definition of `work`."""

    hookable: bool = True
    is_outside: bool = False  # @hookable stands above @classmethod or @staticmethod
    items: tuple[Any, ...] = ()
    calls_super: bool = False
    recurs: bool = False  # calls `self.work(1)`, once per program
    ends: str = "return"  # or "fail", "stop" (StopIteration), "interrupt", "cancel", "leave"


@dataclass(frozen=True, repr=False)
class Arguments(_Described):
    """What the caller gives."""

    a: int = 1
    b: Any = ABSENT
    rest: tuple[int, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)

    def positional(self) -> tuple[Any, ...]:
        return (self.a,) if self.b is ABSENT else (self.a, self.b, *self.rest)


@dataclass(frozen=True, repr=False)
class Program(_Described):
    """A world and one call in it."""

    colour: str = "sync"
    kind: str = "method"  # "method", "classmethod", "staticmethod", "function"
    bodies: tuple[Body | None, ...] = (Body(),)
    is_diamond: bool = False
    entry: int | None = None  # call K<entry>.work(instance) instead of instance.work()
    arguments: Arguments = Arguments()
    receivers: tuple[Receiver, ...] = ()
    connections: tuple[Connection, ...] = ()
    takes: int | None = None  # the consumer of a stream leaves after so many items
    is_listening: bool = True
    has_values: bool = False
    approves: str | None = None  # who answers for the bus says "yes" or "no"; or nobody is there
    is_guarded: bool = False  # every hookable `work` is require_guard=True
    cuts_late: bool = (
        False  # everybody is disconnected between the call and its first await or item
    )

    @property
    def is_async(self) -> bool:
        return self.colour.startswith("async")

    @property
    def is_stream(self) -> bool:
        return self.colour.endswith("generator")

    def mro(self, start: int) -> tuple[int, ...]:
        """The MRO of K<start>, as indexes."""
        whole = tuple(range(start, len(self.bodies)))
        return (1, 3) if self.is_diamond and start == 1 else whole

    def receiver(self, name: str) -> Receiver:
        return next(receiver for receiver in self.receivers if receiver.name == name)


@dataclass(frozen=True)
class Result:
    """What a body returns: who it was, the arguments it got, what its inner calls gave."""

    body: int
    arguments: Any
    parts: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Seen:
    """One observation of a program, predicted or real.

    `outcome` is what the caller saw; `log` interleaves everybody who ran with every event;
    `refused` are the connections
    that raised.
    """

    outcome: tuple[Any, ...]
    log: tuple[tuple[Any, ...], ...]
    refused: tuple[int, ...]

    def beside(self, other: Seen) -> str:
        """Show two observations side by side, what differs marked."""
        rows = [
            (self.refused, other.refused),
            *zip_longest(self.log, other.log),
            (self.outcome, other.outcome),
        ]
        return "\n".join(f"  {one}" if one == two else f"! {one}\n! {two}" for one, two in rows)


def plain(arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """The four arguments as one comparable value."""
    return tuple(plain_value(name, arguments[name]) for name in NAMES)


def plain_value(name: str, value: Any) -> Any:
    """`rest` may be a list or a tuple and `more` any mapping without being another argument."""
    if name == "rest" and isinstance(value, list | tuple):
        return tuple(value)
    if name == "more" and isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    return value


def comparable_notes(program: Program, names: list[str]) -> tuple[str, ...]:
    """The receivers named in notes; which are, beside an observer whose own exception must go out,
    is said nowhere.
    """
    going_out = ("interrupt", "cancel", "leave", "swallow")
    is_open = any(one.role == "observe" and one.says.kind in going_out for one in program.receivers)
    return () if is_open else tuple(sorted(names))


def comparable(program: Program, log: list[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """The log without what the design leaves open: call numbers, and the order within one commit
    and among observers.
    """
    told: list[tuple[Any, ...]] = []
    together: list[tuple[Any, ...]] = []
    for entry in [*_renumbered(log), ("end", None, None)]:
        if together and _group(program, entry) != _group(program, together[0]):
            told += sorted(together, key=lambda entry: _settled_order(program, entry))
            together = []
        (together if _group(program, entry) else told).append(entry)
    return tuple(told[:-1])


def _group(program: Program, entry: tuple[Any, ...]) -> tuple[Any, ...] | None:
    what, call, who = entry[:3]
    if what == "Mutated":
        return (what, call, who)
    if what in ("asked", "judged", "Failed") and program.receiver(who).role == "observe":
        return ("side by side", program.receiver(who).phase)
    return None


def _settled_order(program: Program, entry: tuple[Any, ...]) -> str:
    """Observers that run in line keep their order; what the others do, and what is told of
    failures, comes in between.
    """
    what, _, who = entry[:3]
    is_in_line = program.receiver(who).colour == "sync" and not any(
        one.timed for one in program.connections if one.receiver == who
    )
    return "" if is_in_line and what == "asked" else repr(entry)


def _renumbered(log: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    numbers: dict[Any, int | None] = {None: None}
    told = []
    for what, call, *rest in log:
        numbers.setdefault(call, len(numbers))
        if what == "Started":
            rest[0] = numbers.get(rest[0], "unknown parent")
        told.append((what, numbers[call], *rest))
    return told
