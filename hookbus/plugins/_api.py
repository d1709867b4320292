"""The argument of a plugin's `register(api)`, which collects requests without connecting
receivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Unpack, overload

import attrs
from blinker import ANY

from hookbus._connections.options import ConnectOptions, Options, Unguarded, options_of
from hookbus._connections.signal import F, G
from hookbus._marks.marks import marked
from hookbus.exceptions import HookError

from .._ground.errors import did_you_mean


@attrs.frozen(eq=False)
class Wiring:
    """One connection that a plugin requests."""

    signal: str
    receiver: Callable[..., Any]
    sender: Any
    options: dict[str, Any]


class PluginApi:
    """Collects the requests of a plugin, and provides its settings.

    Nothing is connected while `register` runs. After it returns, hookbus checks all requests, and
    then connects all receivers or none.

    Attributes:
        id: the id of the plugin.
        version: the version of the plugin.
        settings: the operator's values and the manifest's defaults, read-only.
    """

    id: str
    version: str
    settings: Mapping[str, Any]

    def __init__(
        self, plugin: str, version: str, settings: Mapping[str, Any],
        provided: Callable[[str, str], Any],
    ) -> None:  # fmt: skip
        self.id, self.version, self.settings = plugin, version, settings
        self._lookup = provided
        self._wirings: list[Wiring] = []
        self._provided: dict[tuple[str, str], Any] = {}
        self._cleanups: list[Callable[[], Any]] = []
        self._is_open = True

    @overload
    def connect(
        self, signal: str, receiver: F, sender: Any = ANY, *, weak: bool | None = None,
        role: Unguarded = None, **options: Unpack[ConnectOptions],
    ) -> F: ...  # fmt: skip
    @overload
    def connect(
        self, signal: str, receiver: G, sender: Any = ANY, *, weak: bool | None = None,
        role: Literal["guard"], **options: Unpack[ConnectOptions],
    ) -> G: ...  # fmt: skip
    def connect(self, signal: str, receiver: F, sender: Any = ANY, **options: Any) -> F:
        """Request a connection and return the receiver.

        Args:
            signal: the name of a signal, such as `"pre_reply"`, the name of a hookspec, or
                `"events"` for the events of the bus. The manifest must list it in `hooks`.
            receiver: the receiver. A second request for the same receiver, signal and sender
                replaces the options.
            sender: the sender to which to connect the receiver.
            options: the options of `HookSignal.connect`.

        Raises:
            HookError: for an invalid option, or if `register` has already returned.
        """
        self._check_open()
        if not isinstance(signal, str) or not signal.isidentifier():
            raise HookError(
                f"a signal's name must be an identifier, such as 'pre_reply', not {signal!r:.60}"
            )
        if not callable(receiver):
            raise HookError(f"{receiver!r:.60} cannot be connected to {signal}: it is not callable")
        known = {"weak", *Options._fields}
        for name in options:
            if name not in known:
                raise HookError(f"connect has no option {name!r}{did_you_mean(name, known)}")
        options_of(**{name: value for name, value in options.items() if name != "weak"})
        self._wirings.append(Wiring(signal, receiver, sender, options))
        return receiver

    def register(self, obj: object) -> None:
        """Request a connection for every method of `obj` that is marked with `receives`.

        Raises:
            HookError: if no method is marked.
        """
        for attribute, signal, options in marked(obj):
            self.connect(signal, getattr(obj, attribute), **options)

    def provide(self, kind: str, name: str, obj: Any) -> None:
        """Provide `obj` under a kind and a name, such as `("tool", "search")`. The manifest must
        list both in `provides`.

        Raises:
            HookError: if this plugin already provides an object under this kind and name, or if
                `register` has already returned.
        """
        self._check_open()
        if (kind, name) in self._provided:
            raise HookError(f"the plugin {self.id} provides the {kind} {name!r} twice")
        self._provided[kind, name] = obj

    def provided(self, kind: str, name: str) -> Any:
        """Return the object that a loaded plugin provides under this kind and name. Call this
        method each time you need the object, because a reload replaces it. It also works after
        `register` has returned.

        Raises:
            HookError: if no loaded plugin provides such an object.
        """
        return self._lookup(kind, name)

    def on_unload(self, cleanup: Callable[[], Any]) -> None:
        """Call `cleanup`, a function without arguments, when the plugin is unloaded or fails to
        load. Cleanups run in reverse order.

        Raises:
            HookError: if `cleanup` is not callable, or if `register` has already returned.
        """
        self._check_open()
        if not callable(cleanup):
            raise HookError(
                f"{cleanup!r:.60} cannot be called on unload: pass a function without arguments"
            )
        self._cleanups.append(cleanup)

    def _check_open(self) -> None:
        if not self._is_open:
            raise HookError(
                f"the plugin {self.id} has already registered: make requests inside register(api)"
            )
