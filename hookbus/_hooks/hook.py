"""A hook: its function, its plans, and its position in a class."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, Final

from .._callables.callables import LAYERED, layers
from .._connections.phases import FunctionKind, Served
from .._ground.signatures import signature_of
from ..exceptions import HookError
from .identity import Run, RunTable, Unshipped, attributes_of_class, place_of_class
from .shell import Shell
from .signature import Signature, kind_of
from .site import DEFAULTS, HookSettings

_SHIPPED: Final = (
    "name", "bus", "body", "shell", "kind", "function_signature", "method_signature", "routes",
    "settings",
)  # fmt: skip

_DICT: Final = re.compile(r"\b(?:[dD]ict|(?:Mutable)?Mapping|JSON|TypedDict)\b")
"""Substrings of an argument's annotation that mean it is a dict."""


class Hook:
    """A hook: a hookable function, or a hookspec (`Spec`).

    Attributes:
        name: the name of the hook. The names of its signals end with it.
        bus: the bus of the hook's signals.
        body: the original function.
        shell: the function that replaces the original.
        kind: the kind of the function: sync, async, generator or async generator.
        looks_like_method: whether the qualified name looks like the name of a method. Only a call
            shows whether the function is a method.
        is_question: whether it is a hookspec, which has receivers instead of a body.
        settings: the options of `@hookable`.
        parameters: the parameters of the function. is_async, is_stream: whether the function is
            async, and whether it is a generator.
        is_looked_at: whether the hook was compared with all misplaced guards.
        whole: the class of a stream's last item, if this item contains the whole result and is not
            passed to the caller. Otherwise None. A replacement for such a result is one item and
            not an iterable of items.
        seen_dicts: the arguments that were dicts when a plan was created, or that are annotated as
            dicts.
    """

    is_question = False
    is_looked_at = True
    seen_dicts: frozenset[str] = frozenset()
    name: str
    bus: Any
    body: Callable[..., Any]

    def __init__(
        self, name: str, bus: Any, body: Callable[..., Any], settings: HookSettings = DEFAULTS
    ) -> None:
        if not name.isidentifier():
            raise HookError(f"a hook's name must be an identifier, such as 'reply', not {name!r}")
        self.name, self.bus, self.body, self.settings = name, bus, body, settings
        self.kind: FunctionKind = kind_of(body)
        signature = signature_of(body)
        self.function_signature: Signature = Signature.of(signature, settings.hidden)
        first = settings.sender or next(iter(self.function_signature.positional), "")
        self.routes = Shell(body, signature, self.kind, None if self.is_question else first)
        self.shell: FunctionType = self.routes.function
        self.shell.__hookbus__ = self  # type: ignore[attr-defined]
        self.method_signature: Signature = self.function_signature.without_first()
        self._make_caches()

    def __repr__(self) -> str:
        return f"<hook {self.name!r}: {self.body.__module__}.{self.body.__qualname__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Only for picklers that serialize functions by value, such as cloudpickle for `__main__`.
        return type(self).__new__, (type(self),), {key: getattr(self, key) for key in _SHIPPED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_caches()
        self.bus._declare(self)

    def _make_caches(self) -> None:
        outer = self.body.__qualname__.rpartition(".")[0]
        is_inside = outer and not outer.endswith("<locals>") and self.settings.sender is None
        self.looks_like_method = bool(is_inside)
        self.is_retired = False
        self.parameters = self.routes.parameters
        self.is_async, self.is_stream = "async" in self.kind, "generator" in self.kind
        whole = getattr(self.body, "__hookbus_whole__", None)
        self.whole: Any = whole if self.is_stream else None
        self.own_changed = self.routing = object()
        self.routes.give(find=self.find, runs=RunTable().get, own=Unshipped().get)

    def served(self, *, as_method: bool) -> Served:
        """Return the facts that receivers must suit, for a method or for a function."""
        signature = self.method_signature if as_method else self.function_signature
        sender, async_receivers = self.settings.sender, self.settings.async_receivers
        return Served(self.name, self.kind, signature.names, sender, async_receivers)

    @property
    def is_alone(self) -> bool:
        """Whether this bus has no other hook with the same name, which this hook could override."""
        return len(self.bus._switchboard.declared(self.name)) == 1

    # -- how calls find their plan -----------------------------------------------------------------

    @property
    def table(self) -> RunTable:
        """The functions that run the calls of objects without their own receivers. Only the shell
        references this table.
        """
        return self.routes.state()[0]

    @property
    def own_runs(self) -> dict[int, Any]:
        """The functions that run the calls of single objects with their own receivers. Only the
        shell references this dict, because a pickler restores the shell last.
        """
        return self.routes.state()[1]

    def find(self, values: tuple[Any, ...]) -> Run:
        """Return the function that runs a call with these values. It takes the arguments of the
        body.
        """
        run: Run = self.bus._runner.make_run(self, values)
        return run

    def see(self, values: tuple[Any, ...]) -> None:
        """Record the arguments that are dicts by value or annotation. hookbus calls this method
        when it creates a plan.
        """
        seen = set(self.seen_dicts)
        for parameter, value in zip(self.parameters, values):
            if issubclass(type(value), dict) or _DICT.search(str(parameter.annotation)):
                seen.add(parameter.name)
        self.seen_dicts = frozenset(seen)

    def retire(self) -> None:
        """Remove this hook from its bus. From then on, calls run the original function."""
        self.bus._switchboard.retire(self)

    def is_named_in(self, cls: type) -> bool:
        """Return whether the qualified name of the hook contains the name of this class."""
        return place_of_class(cls) == self.named_place

    @property
    def named_place(self) -> tuple[str, str]:
        """The module and qualified name of the class in the qualified name of the hook."""
        return self.body.__module__, self.body.__qualname__.rpartition(".")[0]


def held_in(mro: tuple[type, ...]) -> Iterator[tuple[str, Hook, type]]:
    """Yield every hookable in these classes: its attribute, its hook, and the type of the
    attribute: `classmethod`, `staticmethod`, or the type of a method or property.
    """
    for cls in mro:
        if cls is object:
            continue
        for attribute, raw in list(attributes_of_class(cls).items()):
            kind = type(raw)
            if kind is FunctionType and not raw.__dict__:
                continue  # the most frequent case: a method without a mark
            if issubclass(kind, (classmethod, staticmethod)):
                kind = classmethod if issubclass(kind, classmethod) else staticmethod
                raw = raw.__func__
            elif not issubclass(kind, LAYERED):
                continue  # the next most frequent: a value
            for function in layers(raw):
                if (hook := hook_of(function)) is not None:
                    yield attribute, hook, kind


def hooks_in(
    mro: tuple[type, ...], as_class: bool | None = None
) -> Iterator[tuple[str, Hook]]:
    """Yield the attributes and the hooks of hookable methods: only class methods, only other
    methods, or all.
    """
    for attribute, hook, kind in held_in(mro):
        if kind is not staticmethod and as_class in (None, kind is classmethod):
            yield attribute, hook


def hook_of(function: object) -> Hook | None:
    """Return the hook of a hookable function, also for a bound method, staticmethod or classmethod.
    """
    if issubclass(type(function), (MethodType, staticmethod, classmethod)):
        function = function.__func__  # type: ignore[attr-defined]
    hook = function.__dict__.get("__hookbus__") if type(function) is FunctionType else None
    # functools.wraps copies the mark to wrappers, but only the shell itself is hookable.
    return hook if isinstance(hook, Hook) and hook.shell is function else None
