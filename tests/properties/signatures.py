"""Random signatures and random calls: every kind of parameter, and names that hookbus also uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

NAMES: Final = (
    "x",
    "args",
    "kwargs",
    "sender",
    "ctx",
    "result",
    "error",
    "item",
    "call_next",
    "name",
    "hook",
    "bus",
    "event",
    "receiver",
    "outcome",
    "state",
    "cls",
    "signal",
    "call",
    "plan",
    "frame",
    "values",
    "_",
    "__x",
    "f",
    "wrapped",
    "print",
    "dict",
    "type",
)
OWN_NAMES: Final = ("self", "this", "me", "agent", "ctx", "result", "args", "sender", "_self")
LINES: Final = {
    "sync": ("def", "return {}"),
    "async": ("async def", "return {}"),
    "generator": ("def", "yield {}"),
    "async generator": ("async def", "yield {}"),
}


class Value:
    """A value that is told apart by identity only."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __repr__(self) -> str:
        return f"<{self.title}>"


@dataclass(frozen=True)
class Signature:
    """A function to be written: its kind and its parameters as source text, the defaults by name.
    """

    kind: str  # "function", "method", "classmethod", "staticmethod"
    me: str | None  # the name of the first parameter of a method, None where `*args` takes it
    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    starred: str | None
    keyword_only: tuple[str, ...]
    double_starred: str | None
    with_default: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters without the first of a method."""
        starred, double_starred = (
            filter(None, (self.starred,)),
            filter(None, (self.double_starred,)),
        )
        return (
            *self.positional_only,
            *self.positional,
            *starred,
            *self.keyword_only,
            *double_starred,
        )

    @property
    def has_me(self) -> bool:
        return self.kind in ("method", "classmethod")

    def source(self) -> str:
        """The parameter list."""
        me = [self.me] if self.has_me and self.me else []
        slash = ["/"] if self.positional_only else []
        star = [f"*{self.starred}"] if self.starred else ["*"] * bool(self.keyword_only)
        last = [f"**{self.double_starred}"] if self.double_starred else []
        named = [*map(self._one, self.positional_only), *slash, *map(self._one, self.positional)]
        return ", ".join([*me, *named, *star, *map(self._one, self.keyword_only), *last])

    def function(self, colour: str) -> Callable[..., Any]:
        """Write a function `work` that hands out its own `locals()`."""
        head, line = LINES[colour]
        known: dict[str, Any] = {f"default_of_{name}": DEFAULTS[name] for name in self.names}
        known["locals_"] = locals
        exec(f"{head} work({self.source()}):\n    {line.format('locals_()')}\n", known)  # noqa: S102
        made: Callable[..., Any] = known["work"]
        return made

    def _one(self, name: str) -> str:
        return f"{name}=default_of_{name}" if name in self.with_default else name


DEFAULTS: Final[Mapping[str, Value]] = {name: Value(f"default of {name}") for name in NAMES}


@dataclass(frozen=True)
class Arguments:
    """One call: right or wrong."""

    positional: tuple[Any, ...]
    named: dict[str, Any]


@st.composite
def signatures(draw: Any) -> Signature:
    """Draw a signature."""
    kind = draw(st.sampled_from(("method", "method", "function", "classmethod", "staticmethod")))
    me = draw(st.sampled_from(OWN_NAMES))
    names = draw(
        st.lists(st.sampled_from([name for name in NAMES if name != me]), unique=True, max_size=7)
    )
    kinds = sorted(draw(st.sampled_from(("only", "either", "keyword"))) for _ in names)
    by_kind = {
        way: tuple(name for name, its in zip(names, kinds) if its == way)
        for way in ("only", "either", "keyword")
    }
    keyword_only = by_kind["keyword"]
    starred, keyword_only = _taken(draw, keyword_only)
    double_starred, keyword_only = _taken(draw, keyword_only)
    in_order = (*by_kind["only"], *by_kind["either"])
    required = draw(st.integers(0, len(in_order)))
    optional = [name for name in keyword_only if draw(st.booleans())]
    hides_me = bool(starred) and not in_order and draw(st.booleans())
    return Signature(
        kind,
        None if hides_me else me,
        by_kind["only"],
        by_kind["either"],
        starred,
        keyword_only,
        double_starred,
        frozenset((*in_order[required:], *optional)),
    )


@st.composite
def calls(draw: Any, signature: Signature) -> Arguments:
    """Draw a call, more often right than wrong."""
    in_order = (*signature.positional_only, *signature.positional)
    surplus = (
        draw(st.integers(0, 3)) if signature.starred else draw(st.sampled_from((0,) * 9 + (1,)))
    )
    given = draw(st.integers(0, len(in_order)))
    count = len(in_order) + surplus if given == len(in_order) else given
    named = {
        name: Value(f"{name}=") for name in in_order[count:] if _is_given(draw, signature, name)
    }
    named |= {
        name: Value(f"{name}=")
        for name in signature.keyword_only
        if _is_given(draw, signature, name)
    }
    if signature.double_starred or draw(st.integers(0, 9)) == 9:
        named |= {
            name: Value(f"{name}=") for name in draw(st.lists(st.sampled_from(NAMES), max_size=2))
        }
    return Arguments(tuple(Value(f"#{index}") for index in range(count)), named)


def _taken(draw: Any, names: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    return (names[0], names[1:]) if names and draw(st.booleans()) else (None, names)


def _is_given(draw: Any, signature: Signature, name: str) -> bool:
    """Now and then even what is required, or positional-only, is left out or given by name."""
    is_rash = draw(st.integers(0, 14)) == 14
    needs = name not in signature.with_default and name not in signature.positional_only
    return (needs or draw(st.booleans())) is not is_rash
