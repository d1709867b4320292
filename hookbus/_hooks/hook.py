"""One hookable function: what it looks like, how it is switched on, and where it sits in a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final, NamedTuple

from .._connections.callables import layers
from .._connections.phases import Colour
from ..exceptions import HookError
from .identity import ClassTable, IdentityMap
from .shell import Shell
from .signature import Signature


class Site(NamedTuple):
    """What a hookable is for one kind of first argument.

    Attributes:
        attribute: the name under which a class holds it, or None for a function or staticmethod.
        is_owner: whether it is the first hookable of its name in the class' MRO; only that one runs the hooks.
        is_shared: whether a parent holds another one, so that `super()` may come by.
    """

    attribute: str | None
    is_owner: bool = True
    is_shared: bool = False


FUNCTION_SITE: Final = Site(None)

_SHIPPED: Final = ("name", "bus", "body", "shell", "colour", "function_signature", "method_signature", "_shell", "_choose")


class Hook:
    """A hookable function.

    Attributes:
        name: the name its signals end in.
        bus: the bus its signals live on.
        body: the bare function.
        shell: the function that stands in for it.
        colour: how it is called: sync, async, generator or async generator.
        looks_like_method: whether its name is that of a method; what it is shows when it is called.
        is_question: whether it is a hookspec, which has receivers where a hookable has its body.
    """

    is_question = False
    name: str
    bus: Any
    body: Callable[..., Any]
    version: int

    def __init__(
        self, name: str, bus: Any, body: Callable[..., Any], choose: Callable[[Hook, tuple[Any, ...]], Callable[..., Any]]
    ) -> None:
        if not name.isidentifier():
            raise HookError(f"a hook's name must be an identifier, such as 'reply', not {name!r}")
        self.name, self.bus, self.body = name, bus, body
        self.colour: Colour = colour_of(body)
        self._choose = choose
        signature = inspect.signature(body)
        self._shell = Shell(body, signature, self.colour)
        self.shell: FunctionType = self._shell.function
        self.shell.__hookbus__ = self  # type: ignore[attr-defined]
        self.function_signature: Signature = Signature.of(signature)
        self.method_signature: Signature = self.function_signature.without_first()
        self._make_caches()

    def __repr__(self) -> str:
        return f"<hook {self.name!r}: {self.body.__module__}.{self.body.__qualname__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Only picklers that ship functions by value come by here (cloudpickle, for a class of __main__).
        return Hook.__new__, (Hook,), {key: getattr(self, key) for key in _SHIPPED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_caches()
        self.bus._declare(self)

    def _make_caches(self) -> None:
        self.version, self._has_kept = 0, False
        outer = self.body.__qualname__.rpartition(".")[0]
        self.looks_like_method = bool(outer) and not outer.endswith("<locals>")
        self._way: tuple[bool, bool] | None = None
        self._sites_of_instances: IdentityMap[Site] = IdentityMap()
        self._sites_of_classes: IdentityMap[Site] = IdentityMap()
        self.plans: IdentityMap[Any] = IdentityMap()
        self.of_class: ClassTable = ClassTable()
        self.of_one: IdentityMap[Callable[..., Any]] = IdentityMap()

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """How it is called."""
        return self._shell.parameters

    @property
    def is_stream(self) -> bool:
        return "generator" in self.colour

    @property
    def is_async(self) -> bool:
        return "async" in self.colour

    # -- how calls find their way ---------------------------------------------------------------------------------------

    def route(self, is_on: bool) -> None:
        """Let every call be looked up; or only those of the objects in `of_one`; or none, where there are no such."""
        way = is_on, bool(self.of_one.by_id)
        if way == self._way:
            return
        # Each time: what a pickle brings along is that of another process, and may come after `__setstate__`.
        self._shell.give(self.find, self.of_class.get, self.of_one.by_id.get)
        if any(way):
            self._shell.look_up(classes=is_on, ones=way[1])
        else:
            self._shell.rest()
        self._way = way

    def find(self, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return what runs a call with these values; it is called as the body is."""
        return self._choose(self, values)

    def start(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run a call of an object with receivers of its own that nobody has looked up yet."""
        return self.find(self.function_signature.gather(args, kwargs))(*args, **kwargs)

    def keep(self, first: object, run: Callable[..., Any], version: int, *, is_own: bool) -> None:
        """Let `run` run the calls with this first argument from now on, unless something has changed since `version`.

        What `is_own` is for this very object, which may not be in `of_one` yet while its receiver is being connected.
        """
        with self.bus.lock:
            if version == self.version:
                if self.of_one.get(first) is not None:
                    self._has_kept = True
                    self.of_one.set(first, run)
                elif not is_own:
                    self.of_class[type(first)] = run

    def has_own(self, sender: object, is_own: bool) -> None:
        """Say whether receivers are connected to this very object."""
        if is_own:
            self.of_one.set(sender, self.start)
        else:
            self.of_one.pop(sender)

    def locate(self, values: tuple[Any, ...]) -> tuple[Site, Any]:
        """Return where this hookable sits for a call with these values, and the sender of that call."""
        first = self.function_signature.first_of(values)
        if not first:
            return FUNCTION_SITE, self.shell
        owner = first[0]
        site = self.site_of(owner)
        return site, (owner if site.attribute is not None else self.shell)

    def site_of(self, owner: Any) -> Site:
        """Return where this hookable sits for this first argument; looked up once per class."""
        is_class = isinstance(owner, type)
        sites, key = (self._sites_of_classes, owner) if is_class else (self._sites_of_instances, type(owner))
        site = sites.get(key)
        if site is None:
            version = self.version
            site = self._find_site(type(owner).__mro__, owner.__mro__ if is_class else ())
            with self.bus.lock:
                if version == self.version:  # else a class may have been instrumented meanwhile
                    sites.set(key, site)
            if site.attribute is not None:
                self.bus._look_at(owner if is_class else type(owner))
        return site

    def site_of_class(self, cls: type) -> Site:
        """Return where this hookable sits for any instance of a class."""
        return self._find_site(cls.__mro__, cls.__mro__)

    def _find_site(self, mro: tuple[type, ...], class_mro: tuple[type, ...]) -> Site:
        for line, as_class in ((mro, False), (class_mro, True)):
            held = list(hooks_in(line, as_class))
            attribute = next((name for name, hook in held if hook is self), None)
            if attribute is not None:
                same = [hook for name, hook in held if name == attribute and self.is_kin(hook)]
                return Site(attribute, is_owner=same[0] is self, is_shared=len(same) > 1)
        # Below a decorator that does not say what it wraps, a method is known by its name.
        outer, _, name = self.body.__qualname__.rpartition(".")
        for cls in (*mro, *class_mro):
            if (cls.__module__, cls.__qualname__) == (self.body.__module__, outer):
                return FUNCTION_SITE if isinstance(vars(cls).get(name), staticmethod) else Site(name)
        return FUNCTION_SITE

    def family(self, site: Site) -> object:
        """Return what the hookables have in common that `super()` leads from one to the next."""
        return self.bus._family(self.name, site.attribute)

    def is_kin(self, other: Hook) -> bool:
        return other.name == self.name and other.bus is self.bus

    def forget(self) -> None:
        """Drop all that was looked up about classes; some class has changed."""
        self._sites_of_instances.clear()
        self._sites_of_classes.clear()
        self.drop_plans()

    def drop_plans(self, sender: object = None) -> None:
        """Have the plan of this sender built anew, or every plan; the lock of the bus is held."""
        if sender is None:
            self.plans.clear()
            self.look_again()
            self._has_kept = False
        else:
            self.plans.pop(sender)
            self.version += 1  # only now: who finds the old plan shall not take it for a new one

    def look_again(self) -> None:
        """Have every call find anew what runs it."""
        self.version += 1
        self.of_class.clear()
        if self._has_kept:  # else they all have it, and there may be many
            self.of_one.set_all(self.start)


def hooks_in(mro: tuple[type, ...], as_class: bool = False) -> Iterator[tuple[str, Hook]]:
    """Yield attribute and hook of every hookable method the classes of an MRO hold (classmethods: `as_class=True`)."""
    for cls in mro:
        for attribute, raw in list(vars(cls).items()):
            if isinstance(raw, classmethod) is as_class:
                for function in layers(raw.__func__ if as_class else raw):
                    hook = hook_of(function)
                    if hook is not None:
                        yield attribute, hook


def hook_of(function: object) -> Hook | None:
    """Return the hook of a hookable function, seen through a bound method, staticmethod or classmethod."""
    function = getattr(function, "__func__", function)
    hook = function.__dict__.get("__hookbus__") if isinstance(function, FunctionType) else None
    # functools.wraps copies the mark to whatever wraps a hookable; only the shell itself is one.
    return hook if isinstance(hook, Hook) and hook.shell is function else None


def colour_of(body: Callable[..., Any]) -> Colour:
    if inspect.isasyncgenfunction(body):
        return "async generator"
    if inspect.iscoroutinefunction(body):
        return "async"
    return "generator" if inspect.isgeneratorfunction(body) else "sync"
