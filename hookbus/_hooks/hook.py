"""One hook: its function, how it is switched on, and its place in a class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, Final

from .._connections.callables import layers
from .._connections.endings import at_end
from .._connections.phases import Colour, Served
from .._connections.senders import is_class, own_class
from .._locks import serialize_writers
from .._signatures import signature_of
from ..exceptions import HookError
from .identity import Own, Run, Table, Unshipped, attributes_of_class, place_of_class, release
from .shell import Shell
from .signature import Signature, colour_of
from .site import NOTHING_SAID, Given, Site, site_of

_SHIPPED: Final = (
    "name", "bus", "body", "shell", "colour", "function_signature", "method_signature", "_shell",
    "given",
)  # fmt: skip

_DICT: Final = re.compile(r"\b(?:[dD]ict|(?:Mutable)?Mapping|JSON|TypedDict)\b")
"""Substrings of an argument's annotation that mean it is a dict."""


class Hook:
    """A hook: a hookable function (`Hookable`), or a hookspec (`Spec`).

    Attributes:
        name: the name that its signals end with.
        bus: the bus of its signals.
        body: the original function.
        shell: the function that replaces it.
        colour: its kind: sync, async, generator or async generator.
        looks_like_method: whether its name is that of a method; a call shows what it really is.
        is_question: whether it is a hookspec, which has receivers instead of a body.
        given: its settings.
        is_looked_at: whether no guard of an unknown name waits to be compared with it.
        seen_dicts: the arguments that were dicts when a plan was made, or are annotated as dicts.
    """

    is_question = False
    is_looked_at = True
    seen_dicts: frozenset[str] = frozenset()
    name: str
    bus: Any
    body: Callable[..., Any]

    def __init__(
        self, name: str, bus: Any, body: Callable[..., Any], given: Given = NOTHING_SAID
    ) -> None:
        if not name.isidentifier():
            raise HookError(f"a hook's name must be an identifier, such as 'reply', not {name!r}")
        self.name, self.bus, self.body, self.given = name, bus, body, given
        self.colour: Colour = colour_of(body)
        signature = signature_of(body)
        self.function_signature: Signature = Signature.of(signature, given.hidden)
        first = given.sender or next(iter(self.function_signature.positional), "")
        self._shell = Shell(body, signature, self.colour, None if self.is_question else first)
        self.shell: FunctionType = self._shell.function
        self.shell.__hookbus__ = self  # type: ignore[attr-defined]
        self.method_signature: Signature = self.function_signature.without_first()
        self._make_caches()

    def __repr__(self) -> str:
        return f"<hook {self.name!r}: {self.body.__module__}.{self.body.__qualname__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Only for picklers that ship functions by value (cloudpickle, a class of __main__).
        return type(self).__new__, (type(self),), {key: getattr(self, key) for key in _SHIPPED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_caches()
        self.bus._declare(self)

    def _make_caches(self) -> None:
        outer = self.body.__qualname__.rpartition(".")[0]
        is_inside = outer and not outer.endswith("<locals>") and self.given.sender is None
        self.looks_like_method = bool(is_inside)
        self.is_retired = False
        self._own_changed = self._settling = object()
        self._shell.give(find=self.find, runs=Table().get, own=Unshipped().get)

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Its parameters."""
        return self._shell.parameters

    def served(self, *, as_method: bool) -> Served:
        """Return what receivers must know about it, as a method or as a function."""
        signature = self.method_signature if as_method else self.function_signature
        given = self.given
        return Served(self.name, self.colour, signature.names, given.sender, given.async_receivers)

    @property
    def is_stream(self) -> bool:
        return "generator" in self.colour

    @property
    def whole(self) -> Any:
        """The class of the last item of its stream, which contains the result as a whole and is not
        passed to its caller; None if there is no such item. A replacement for such a result is one
        item, not an iterable of items.
        """
        return getattr(self.body, "__hookbus_whole__", None) if self.is_stream else None

    @property
    def is_async(self) -> bool:
        return "async" in self.colour

    # -- how calls find their plan -----------------------------------------------------------------

    @property
    def table(self) -> Table:
        """The functions that run the calls of objects without receivers of their own. The shell
        holds the only reference.
        """
        table: Table = self._shell.given("runs").__self__
        return table

    @property
    def _own(self) -> dict[int, Any]:
        own: dict[int, Any] = self._shell.given("own").__self__
        return own

    def find(self, values: tuple[Any, ...]) -> Run:
        """Return the function that runs a call with these values; call it as you call the body."""
        raise NotImplementedError

    def see(self, values: tuple[Any, ...]) -> None:
        """Record which arguments are dicts, by their values or annotations, when a plan is made."""
        kinds = dict(zip(self.function_signature.names, map(type, values)))
        seen = {name for name, kind in kinds.items() if issubclass(kind, dict)}
        seen |= {p.name for p in self.parameters if _DICT.search(str(p.annotation))}
        self.seen_dicts |= seen

    def has_own(self, sender: object) -> bool:
        """Return whether receivers are connected to exactly this sender."""
        return any(signal._has_own(sender) for signal in self.bus._signals_of(self.name))

    @serialize_writers
    def forget(self) -> None:
        """Make every call look up its plan again."""
        # Code that builds a plan marks the table as used before it reads anything.
        if (old := self.table).is_used:
            # One atomic step: code that is still building a plan stores it in the old table.
            self._shell.give(runs=Table().get)
            old.end()
        for held in list(self._own.values()):
            owner = held.__self__.reference()
            if held.__self__.is_used and owner is not None:
                self.settle(owner)

    def runs_calls(self, first: Any) -> bool:
        """Return whether calls with this first argument are cached as calls that run with
        receivers.
        """
        key, own = id(type(first).__mro__), self._own.get(id(first), dict[int, Run]().get)
        kept = own(key), self.table.get(key)
        return is_class(first) or any(each not in (None, self.body) for each in kept)

    def box_of(self, sender: object) -> Own | None:
        """Return the cache for the plan of an object with receivers of its own, or None."""
        held = self._own.get(id(sender))
        box: Own | None = getattr(held, "__self__", None)
        if box is not None:
            box.mark_used()  # before anything is read, so that `forget` sees it from now on
        return box

    @serialize_writers
    def settle(self, sender: object = None) -> None:
        """Update the code of the shell to the connections, and the cache of `sender`'s own plan.

        If a thread or signal handler connects something meanwhile, it starts again: an outdated
        decision, stored late, could let a call bypass a connected guard. So the decision is checked
        and stored in one line that calls none of our functions. Without a GIL, other threads wait.
        """
        own, shell, now = self._own, self._shell.function, None
        while self._settling is not now:
            self._settling = now = object()
            if sender is not None and self.has_own(sender):
                own[id(sender)] = Own(sender, at_end(sender, own, id(sender))).get
            elif sender is not None:  # noqa: SIM102
                if self._settling is now: own.pop(id(sender), None)  # noqa: E701
            code = self._shell.code(is_on=self._is_on(), has_own=bool(own))
            if self._settling is now: shell.__code__ = code  # noqa: E701

    @serialize_writers
    def is_surely_on(self) -> bool:
        """Return whether its calls look up receivers of classes and `ANY`, and make it stay so."""
        self._settling = object()  # code that is deciding this right now starts again
        code = self._shell.function.__code__
        return code is self._shell.code(is_on=True, has_own=bool(self._own))

    def _is_on(self) -> bool:
        if self.is_retired:
            return False
        is_guarded = any(hook.given.require_guard for hook in self.bus._declared(self.name))
        if is_guarded or self.name in self.bus._required:
            return True  # it may override one of them
        is_heard = any(each._has_shared for each in self.bus._signals_of(self.name))
        return is_heard or self.bus._is_observed or not self.is_looked_at

    def retire(self) -> None:
        """Remove this hook from its bus: from now on its calls run the original function."""
        self.bus._strike(self)
        self.is_retired = True
        self._own.clear()
        self.forget()
        self.settle()
        for cls in self.bus._looked_at.owners():
            release(cls, self)
            release(type(cls), self)

    # -- its place in a class ----------------------------------------------------------------------

    def first_of(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a tuple with the object that decides which plan a call has, or an empty tuple: the
        first argument, or the argument that is the sender.
        """
        if self.given.sender is not None:
            return (values[self.function_signature.names.index(self.given.sender)],)
        if self.function_signature.positional:
            return values[:1]
        return tuple(values[0][:1]) if self.function_signature.star else ()

    def locate(self, values: tuple[Any, ...]) -> tuple[Site, Any]:
        """Return the place of this hookable for a call with these values, and the sender of that
        call.
        """
        if not (first := self.first_of(values)):
            return self.site_as(None), self.shell
        site = self.site_of(first[0])
        is_function = site.attribute is None and self.given.sender is None
        return site, self.shell if is_function else first[0]

    def site_of(self, first: Any) -> Site:
        """Return the place of this hookable for this first argument, or for its sender."""
        if is_sender := self.given.sender is not None:
            site = self.site_as(None)
        else:
            site = self._find_site(type(first).__mro__, first.__mro__ if is_class(first) else ())
        if is_sender or site.attribute is not None:
            self.bus._look_at(own_class(first))
        return site

    def site_of_class(self, cls: type) -> Site:
        """Return the place of this hookable for any instance of a class."""
        return self._find_site(cls.__mro__, cls.__mro__)

    def _find_site(self, mro: tuple[type, ...], class_mro: tuple[type, ...]) -> Site:
        for line, as_class in ((mro, False), (class_mro, True)):
            held = list(hooks_in(line, as_class))
            attribute = next((name for name, hook in held if hook is self), None)
            if attribute is not None:
                place, own = (attribute, self.name, self.bus), [hook for _, hook in held]
                # A class method may override a plain one, and vice versa.
                kin = [hook for at, hook in hooks_in(line) if (at, hook.name, hook.bus) == place]
                return self.site_as(attribute, kin[[hook in own for hook in kin].index(True) :])
        # Below a decorator that does not declare what it wraps, a method is found by its name.
        name = self.body.__qualname__.rpartition(".")[2]
        for cls in (*mro, *class_mro):
            if self.is_named_in(cls):
                is_static = isinstance(attributes_of_class(cls).get(name), staticmethod)
                return self.site_as(None if is_static else name)
        return self.site_as(None)

    def site_as(self, attribute: str | None, kin: list[Hook] | None = None) -> Site:
        """Return its place under this name, among the hookables of that name in an MRO."""
        kin = kin or [self]
        is_required = self.name in self.bus._required
        return site_of([hook.given for hook in kin], attribute, kin[0] is self, is_required)

    def is_named_in(self, cls: type) -> bool:
        """Return whether this is the class in its qualified name."""
        outer = self.body.__qualname__.rpartition(".")[0]
        return place_of_class(cls) == (self.body.__module__, outer)


def hooks_in(
    mro: tuple[type, ...], as_class: bool | None = None
) -> Iterator[tuple[str, Hook]]:
    """Yield attribute and hook of hookable methods: classmethods only, the others, or all."""
    for cls in mro:
        for attribute, raw in list(attributes_of_class(cls).items()):
            is_of_class = issubclass(type(raw), classmethod)
            if as_class in (None, is_of_class):
                for function in layers(raw.__func__ if is_of_class else raw):
                    if (hook := hook_of(function)) is not None:
                        yield attribute, hook


def hook_of(function: object) -> Hook | None:
    """Return the hook of a hookable function, also through a bound method, staticmethod or
    classmethod.
    """
    if issubclass(type(function), (MethodType, staticmethod, classmethod)):
        function = function.__func__  # type: ignore[attr-defined]
    hook = function.__dict__.get("__hookbus__") if type(function) is FunctionType else None
    # functools.wraps copies the mark to wrappers of a hookable; only the shell itself is one.
    return hook if isinstance(hook, Hook) and hook.shell is function else None
