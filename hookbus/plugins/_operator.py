"""The operator's word on a plugin's receivers: it stands over the author's. No guard gets weaker by
it, unless he puts it in shadow in so many words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from hookbus._connections.options import POLICIES, ROLES, options_of
from hookbus.exceptions import HookError, did_you_mean

OVERRIDABLE: Final = ("priority", "timeout", "on_error", "shadow")


@attrs.frozen
class Word:
    """What the operator says of the receivers of one plugin.

    Attributes:
        options: for all of them.
        receivers: for those of a name; stands over `options`.
    """

    options: Mapping[str, Any] = attrs.field(factory=dict)
    receivers: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    @classmethod
    def of(cls, plugin: str, said: object) -> Word:
        """Read `overrides[plugin]`.

        Raises:
            HookError: for an option that is none, or a value that makes no sense.
        """
        where = f"overrides[{plugin!r}]"
        options = dict(_mapping(where, said))
        receivers = _mapping(f"{where}['receivers']", options.pop("receivers", {}))
        for name, each in receivers.items():
            _check(
                f"{where}['receivers'][{name!r}]", _mapping(f"{where}['receivers'][{name!r}]", each)
            )
        _check(where, options)
        return cls(options, receivers)

    def on(self, receiver: str) -> dict[str, Any]:
        """Return what is said of a receiver; it is meant by its name or the last part of it."""
        last = receiver.rpartition(".")[2]
        own = self.receivers.get(receiver, self.receivers.get(last, {}))
        return {**self.options, **own}

    def unmatched(self, receivers: list[str]) -> list[str]:
        """Return the names that no receiver of the plugin has."""
        known = {*receivers, *(name.rpartition(".")[2] for name in receivers)}
        return [name for name in self.receivers if name not in known]


@attrs.frozen
class Standing:
    """The options a receiver of a plugin is connected with.

    Attributes:
        options: those of the author with the operator's over them.
        note: what the operator changed and what the author had said, for `explain`; None where
            nothing.
        kept: what the operator said in vain, and why.
    """

    options: dict[str, Any]
    note: str | None
    kept: str | None


def settle(phase: str | None, author: Mapping[str, Any], operator: Mapping[str, Any]) -> Standing:
    """Say whose word stands for one receiver on a signal of this phase.

    `on_error` reaches only the roles that have a choice: a guard blocks, an observer is isolated,
    an around raises. `shadow` reaches guards.
    """
    role = author.get("role") or ROLES[phase][0]
    options, changed, kept = dict(author), list[str](), list[str]()
    for name, value in operator.items():
        if name == "timeout" and role == "around":
            continue  # it has no deadline
        if name == "shadow" and role != "guard":
            continue  # only a guard can be in shadow
        if name == "shadow" and author.get("locked") and value is True:
            kept.append("shadow=True does not reach it: it is locked")
            continue
        if name == "on_error" and value not in POLICIES[role]:
            if role == "guard":
                kept.append(f"on_error={value!r} does not reach it: a guard always blocks")
            continue
        options[name] = value
        said = author.get(name, _default_of(name, role))
        if value != said:
            changed.append(f"{name} (was {said})")
    notes = [*changed, *(_KEPT[each.partition("=")[0]] for each in kept)]
    return Standing(options, ", ".join(notes) or None, "; ".join(kept) or None)


_KEPT: Final = {"on_error": "not on_error: a guard blocks", "shadow": "not shadow: it is locked"}


def _default_of(name: str, role: str) -> Any:
    defaults = {"priority": 0, "timeout": None, "shadow": False}
    return defaults.get(name, POLICIES[role][0])


def _mapping(where: str, said: object) -> Mapping[str, Any]:
    if not isinstance(said, Mapping):
        raise HookError(f"{where} = {said!r:.60} must be a mapping, such as {{'timeout': 2.0}}")
    return said


def _check(where: str, options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OVERRIDABLE:
            raise HookError(
                f"{where} has {name!r}{did_you_mean(str(name), (*OVERRIDABLE, 'receivers'))}"
            )
    # Of which role a receiver is, shows when it is connected.
    options_of(**{"role": "guard", **options} if "shadow" in options else options)
