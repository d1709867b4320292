"""Loads and unloads a plugin as a whole. The plugin registers, all its requests are checked, and
then either all receivers are connected or none.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from hookbus._bus import Bus, default_bus
from hookbus._callables.callables import key_of, name_of
from hookbus._callables.parameters import close_unawaited
from hookbus._connections.options import options_of
from hookbus._connections.receiver import Connected
from hookbus._connections.signal import Connection, HookSignal
from hookbus.exceptions import PluginError

from .._ground.errors import did_you_mean
from ._api import PluginApi, Wiring
from ._code import Code, home_of
from ._diagnostics import failure_of
from ._discovery import Candidate
from ._manifest import Manifest
from ._operator import Standing, Word, settle


@attrs.define(eq=False)
class Loaded:
    """A loaded plugin, with the changes to undo when it is unloaded.

    Attributes:
        notes: the operator's changes, by receiver.
        warnings: problems that do not prevent loading, with advice.
        farewell: the finalizer that abandons the code of a plugin whose bus was garbage-collected.
    """

    bus: Bus
    manifest: Manifest
    code: Code
    provided: dict[tuple[str, str], Any]
    cleanups: list[Callable[[], Any]]
    connections: list[Connection] = attrs.field(factory=list)
    notes: list[tuple[Connected, str | None]] = attrs.field(factory=list)
    warnings: list[PluginError] = attrs.field(factory=list)
    farewell: weakref.finalize[[], Bus] | None = None

    def leave(self) -> list[PluginError]:
        """Disconnect the receivers, run the cleanups, and remove the code.

        Exceptions of cleanups do not stop the unloading, but are returned.
        """
        for connection in reversed(self.connections):
            connection.disconnect()
        self.connections.clear()
        self.provided.clear()
        if self.farewell is not None:
            self.farewell.detach()
        try:
            return _clean_up(self.cleanups)
        finally:
            _retire_hooks(self.bus, self.code)
            self.code.remove()


def load(
    bus: Bus, candidate: Candidate, manifest: Manifest, settings: Mapping[str, Any], word: Word,
    provided: Callable[[str, str], Any], replaced: Loaded | None = None,
) -> Loaded:  # fmt: skip
    """Load one plugin. The replaced version works until the new version is connected.

    Raises:
        PluginError: if the plugin cannot be connected; the message states the reason.
    """
    api = PluginApi(manifest.id, manifest.version, settings, provided)
    earlier = {id(receiver): receiver for _, receiver in _all_receivers(bus)}
    code = Code(candidate, replaced.code if replaced else None)
    try:
        _run(code, api)
        _check_honest(manifest, api)
        _check_no_strays(bus, code, earlier)
        loaded = Loaded(bus, manifest, code, api._provided, api._cleanups)
        _connect(loaded, api._wirings, word, replaced)
        loaded.farewell = weakref.finalize(bus, code.abandon)
        loaded.farewell.atexit = False
        return loaded
    except BaseException as error:
        api._is_open = False
        for signal, receiver in _strays(bus, code, earlier):
            signal._drop(receiver)
        unclean = _clean_up(api._cleanups)
        _retire_hooks(bus, code)
        code.undo()
        if not isinstance(error, (Exception, SystemExit)):
            raise
        raise _reason(error, unclean) from None
    finally:
        # The plugin may keep its api, which must not keep the senders of its connections alive.
        api._wirings.clear()


def _run(code: Code, api: PluginApi) -> None:
    try:
        register = code.register()
    except PluginError:
        raise
    except (Exception, SystemExit) as error:
        raise failure_of("its import raised", error) from None
    try:
        answer = register(api)
    except (Exception, SystemExit) as error:
        raise failure_of("register raised", error) from None
    finally:
        api._is_open = False
    if inspect.isawaitable(answer) or inspect.isgenerator(answer) or inspect.isasyncgen(answer):
        close_unawaited(answer)
        raise PluginError(
            "register is async or a generator, so it did not run",
            "write a plain def register(api)",
        )


def _check_honest(manifest: Manifest, api: PluginApi) -> None:
    """Reject requests that the manifest does not list."""
    for wiring in api._wirings:
        if wiring.signal not in manifest.hooks:
            hint = did_you_mean(wiring.signal, manifest.hooks)
            raise PluginError(
                f"{name_of(wiring.receiver)} connects to {wiring.signal}, which its manifest "
                f"does not list in hooks{hint}",
                f"write hooks = [..., {wiring.signal!r}] there, or do not connect it",
            )
    for kind, name in api._provided:
        if name not in manifest.provides.get(kind, ()):
            raise PluginError(
                f"it provides the {kind} {name!r}, which its manifest does not list in provides",
                f"write {kind} = [..., {name!r}] below [provides] there, or do not provide it",
            )


def _unkept(
    manifest: Manifest, wirings: list[Wiring], provided: Mapping[tuple[str, str], Any]
) -> Iterator[PluginError]:
    """Yield a warning for each entry in the manifest that `register` did not request. Such a plugin
    may look healthy, but it guards nothing.
    """
    for signal in manifest.hooks:
        if not any(wiring.signal == signal for wiring in wirings):
            problem = f"its manifest lists {signal}, but it connected nothing to that signal"
            yield PluginError(problem, "connect a receiver to it, or remove it from hooks")
    for kind, names in manifest.provides.items():
        for name in names:
            if (kind, name) not in provided:
                problem = f"its manifest lists the {kind} {name!r}, which it does not provide"
                yield PluginError(problem, "provide it, or remove it there")


def _connect(loaded: Loaded, wirings: list[Wiring], word: Word, replaced: Loaded | None) -> None:
    """Check all connections, and then make them. Guards are connected first and disconnected last,
    so that no call is unguarded between two versions.
    """
    old = replaced.connections if replaced else []
    unique = {
        (wiring.signal, id(wiring.sender), key_of(wiring.receiver)): wiring for wiring in wirings
    }
    wired = [(wiring, *_settled(loaded, wiring, word, old)) for wiring in unique.values()]
    names = [wiring.options.get("name") or name_of(wiring.receiver) for wiring in unique.values()]
    loaded.warnings += _unkept(loaded.manifest, wirings, loaded.provided)
    for name in word.unmatched(names):
        hint = did_you_mean(name, names)
        problem = f"overrides= names a receiver {name!r}, which the plugin does not have{hint}"
        loaded.warnings.append(PluginError(problem, "correct the name"))
    quiet = [connection for connection in old if connection._receiver.role != "guard"]
    try:
        for connection in quiet:
            connection.disable()
        for wiring, signal, standing in sorted(
            wired, key=lambda each: each[0].options.get("role") != "guard"
        ):
            connection = signal.connected_to(wiring.receiver, wiring.sender, **standing.options)
            loaded.connections.append(connection)
            loaded.notes.append((connection._receiver, standing.note))
    except BaseException:
        for connection in reversed(loaded.connections):
            connection.disconnect()
        for connection in quiet:
            connection.enable()
        raise


def _settled(
    loaded: Loaded, wiring: Wiring, word: Word, old: list[Connection]
) -> tuple[HookSignal, Standing]:
    """Return the signal and the options of a connection, after all checks that are possible before
    the connection is made.
    """
    signal = signal_of(loaded.bus, wiring.signal)
    name = wiring.options.get("name") or name_of(wiring.receiver)
    overrides = word.on(name)
    if signal is loaded.bus.events:
        overrides = {key: value for key, value in overrides.items() if key == "priority"}
    standing = settle(signal.phase, wiring.options, overrides)
    options_of(**{key: value for key, value in standing.options.items() if key != "weak"})
    if standing.kept:
        advice = "write it below receivers, under the name of each receiver"
        loaded.warnings.append(PluginError(f"{name}: {standing.kept}", advice))
    own = {id(connection._receiver) for connection in old}
    for receiver in signal.connections():
        sender = receiver.owner
        if (
            receiver.key == key_of(wiring.receiver)
            and sender is wiring.sender
            and id(receiver) not in own
        ):
            raise PluginError(
                f"{receiver.label} is already connected to {signal.name} by other code, and its "
                "options would be replaced",
                "connect a function of the plugin itself",
            )
    return signal, standing


def signal_of(bus: Bus, name: str) -> HookSignal:
    """Return the signal with this name. `"events"` means the events of the bus."""
    return bus.events if name == "events" else bus.signal(name)


def _clean_up(cleanups: list[Callable[[], Any]]) -> list[PluginError]:
    """Call the cleanups in reverse order. An exception in a cleanup does not stop the other
    cleanups."""
    failures: list[PluginError] = []
    fatal: BaseException | None = None
    while cleanups:
        cleanup = cleanups.pop()
        what = f"its cleanup {name_of(cleanup)}"
        try:
            answer = cleanup()
        except (Exception, SystemExit) as error:
            failures.append(failure_of(f"{what} raised", error))
        except BaseException as error:
            fatal = fatal or error
        else:
            if inspect.isawaitable(answer):
                close_unawaited(answer)
                failures.append(
                    PluginError(f"{what} is async, so it did not run", "write a plain def")
                )
    if fatal is not None:
        raise fatal
    return failures


def _reason(error: BaseException, unclean: list[PluginError]) -> PluginError:
    """Return the reason why a plugin was not loaded, given the exception."""
    reason = error if isinstance(error, PluginError) else failure_of("connecting it raised", error)
    if unclean:
        trace = reason.traceback
        reason = PluginError(
            "; ".join([reason.problem, *(each.problem for each in unclean)]), reason.advice
        )
        reason.traceback = trace
    return reason


# -- changes that a plugin made without its api ----------------------------------------------------


def _buses(bus: Bus) -> list[Bus]:
    return [bus] if bus is default_bus else [bus, default_bus]


def _all_receivers(bus: Bus) -> Iterator[tuple[HookSignal, Connected]]:
    for each in _buses(bus):
        for signal in (each.events, *each.signals()):
            for receiver in signal.connections() if signal.receivers else ():
                yield signal, receiver


def _strays(
    bus: Bus, code: Code, earlier: Mapping[int, Connected]
) -> list[tuple[HookSignal, Connected]]:
    found = [
        (signal, receiver)
        for signal, receiver in _all_receivers(bus)
        if id(receiver) not in earlier
    ]
    homes = code.homes() if found else frozenset()
    return [(signal, each) for signal, each in found if home_of(each.function) in homes]


def _check_no_strays(bus: Bus, code: Code, earlier: Mapping[int, Connected]) -> None:
    for signal, receiver in _strays(bus, code, earlier):
        raise PluginError(
            f"{receiver.label} was connected to {signal.name} without the api, so this connection "
            "is neither checked nor undone",
            f"write api.connect({signal.name!r}, ...) inside register",
        )


def _retire_hooks(bus: Bus, code: Code) -> None:
    """Remove the hooks of a plugin from the bus if the plugin's modules are removed."""
    if code.leaves:
        homes = code.homes()
        for each in _buses(bus):
            for hook in list(each._switchboard.hooks()):
                if home_of(hook.body) in homes:
                    hook.retire()
