"""The operator's overrides for a plugin's receivers, which take precedence over the author's
options. Overrides cannot weaken a guard, except by an explicit `shadow=True`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from hookbus._connections.options import POLICIES, ROLES, options_of
from hookbus.exceptions import HookError

from .._ground.errors import did_you_mean

OVERRIDABLE: Final = ("priority", "timeout", "on_error", "shadow")


@attrs.frozen
class Word:
    """The operator's overrides for the receivers of one plugin.

    Attributes:
        options: the overrides for all receivers of the plugin.
        receivers: the overrides by receiver name, which take precedence over `options`.
    """

    options: Mapping[str, Any] = attrs.field(factory=dict)
    receivers: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    @classmethod
    def of(cls, plugin: str, value: object) -> Word:
        """Read `overrides[plugin]`.

        Raises:
            HookError: if an option is unknown or its value is invalid.
        """
        where = f"overrides[{plugin!r}]"
        options = dict(_mapping(where, value))
        receivers = _mapping(f"{where}['receivers']", options.pop("receivers", {}))
        for name, each in receivers.items():
            _check(
                f"{where}['receivers'][{name!r}]", _mapping(f"{where}['receivers'][{name!r}]", each)
            )
        _check(where, options)
        return cls(options, receivers)

    def on(self, receiver: str) -> dict[str, Any]:
        """Return the overrides for a receiver, found by its name or the last part of that name."""
        last = receiver.rpartition(".")[2]
        own = self.receivers.get(receiver, self.receivers.get(last, {}))
        return {**self.options, **own}

    def unmatched(self, receivers: list[str]) -> list[str]:
        """Return the receiver names in the overrides that match no receiver of the plugin."""
        known = {*receivers, *(name.rpartition(".")[2] for name in receivers)}
        return [name for name in self.receivers if name not in known]


@attrs.frozen
class Standing:
    """The options with which a receiver of a plugin is connected.

    Attributes:
        options: the author's options, updated with the operator's overrides.
        note: the operator's changes with the author's values, for `explain`; None without changes.
        kept: messages about overrides that have no effect.
    """

    options: dict[str, Any]
    note: str | None
    kept: str | None


def settle(phase: str | None, author: Mapping[str, Any], operator: Mapping[str, Any]) -> Standing:
    """Combine the author's options and the operator's overrides for a receiver on a signal of this
    phase.

    `on_error` applies only to roles with several policies. A guard, an observer and an `around`
    receiver have only one policy. `shadow` applies only to guards.
    """
    role = author.get("role") or ROLES[phase][0]
    options, changed, unused = dict(author), list[str](), list[str]()
    for name, value in operator.items():
        if name == "timeout" and role == "around":
            continue  # an around has no deadline
        if name == "shadow" and role != "guard":
            continue  # only a guard can be in shadow mode
        if name == "shadow" and author.get("locked") and value is True:
            unused.append("shadow=True has no effect, because the guard is locked")
            continue
        if name == "on_error" and value not in POLICIES[role]:
            if role == "guard":
                unused.append(f"on_error={value!r} has no effect, because a guard always blocks")
            continue
        options[name] = value
        default_value = author.get(name, _default_of(name, role))
        if value != default_value:
            changed.append(f"{name} (was {default_value})")
    notes = [*changed, *(_KEPT[each.partition("=")[0]] for each in unused)]
    return Standing(options, ", ".join(notes) or None, "; ".join(unused) or None)


_KEPT: Final = {"on_error": "not on_error: a guard blocks", "shadow": "not shadow: it is locked"}


def _default_of(name: str, role: str) -> Any:
    defaults = {"priority": 0, "timeout": None, "shadow": False}
    return defaults.get(name, POLICIES[role][0])


def _mapping(where: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise HookError(f"{where} = {value!r:.60} must be a mapping, such as {{'timeout': 2.0}}")
    return value


def _check(where: str, options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OVERRIDABLE:
            raise HookError(
                f"{where} has {name!r}{did_you_mean(str(name), (*OVERRIDABLE, 'receivers'))}"
            )
    # The role of a receiver is only known when it is connected.
    options_of(**{"role": "guard", **options} if "shadow" in options else options)
