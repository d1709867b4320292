"""Reads the declarations of a plugin's settings in its manifest, and checks the operator's
values."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from hookbus.exceptions import PluginError

from .._ground.errors import did_you_mean
from ._fields import Table, flag, known_keys, table_of, take, text

TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "table": (dict,),
}
_KEYS: Final = ("type", "default", "required", "choices", "minimum", "maximum", "description")
_NUMBERS: Final = ("integer", "number")


def is_of(kind: str, value: object) -> bool:
    """Return whether a value has this TOML type. True and false do not count as numbers."""
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


@attrs.frozen(kw_only=True)
class Setting:
    """The declaration of one setting in the manifest."""

    name: str
    type: str
    has_default: bool
    default: Any
    required: bool
    choices: tuple[Any, ...] | None
    minimum: float | None
    maximum: float | None
    description: str

    @classmethod
    def of(cls, name: str, value: object) -> Setting:
        """Read `[settings.<name>]`.

        Raises:
            PluginError: if the declaration is not valid; the message names the invalid key.
        """
        where = f"settings.{name}"
        table = table_of(where, value)
        known_keys(table, _KEYS, f"[{where}]")
        kind = take(table, "type", text)
        if kind not in TYPES:
            raise PluginError(
                f"[{where}] has type = {kind!r}{did_you_mean(kind, TYPES)}",
                "write one of these types",
            )
        setting = cls(
            name=name, type=kind, has_default="default" in table, default=table.get("default"),
            required=take(table, "required", flag, False), choices=_choices(where, table, kind),
            minimum=_bound(where, table, "minimum", kind),
            maximum=_bound(where, table, "maximum", kind),
            description=take(table, "description", text, " "),
        )  # fmt: skip
        if setting.required and setting.has_default:
            raise PluginError(f"[{where}] is required but has a default", "remove one of the two")
        if setting.has_default:
            setting.check(setting.default, "the default in the manifest")
        return setting

    def check(self, value: object, whose: str) -> None:
        """Raise PluginError unless the value is valid. `whose` describes the source of the value.
        """
        # A setting may be a secret, so its value is not shown.
        wrong = f"the setting {self.name} ({whose})"
        if not is_of(self.type, value):
            problem = f"{wrong} is a {type(value).__name__}, but must be of type {self.type}"
            raise PluginError(problem, f"set a value of type {self.type}")
        if self.choices is not None and value not in self.choices:
            raise PluginError(
                f"{wrong} is not allowed", f"choose one of {', '.join(map(repr, self.choices))}"
            )
        if isinstance(value, (int, float)):
            # Written so that NaN, for which every comparison is false, is also rejected.
            if self.minimum is not None and not value >= self.minimum:
                raise PluginError(f"{wrong} is below the minimum", f"set {self.minimum} or more")
            if self.maximum is not None and not value <= self.maximum:
                raise PluginError(f"{wrong} is above the maximum", f"set {self.maximum} or less")


def _choices(where: str, table: Table, kind: str) -> tuple[Any, ...] | None:
    if "choices" not in table:
        return None
    choices = table["choices"]
    if (
        not isinstance(choices, list)
        or not choices
        or not all(is_of(kind, choice) for choice in choices)
    ):
        raise PluginError(
            f"[{where}] has choices = {choices!r:.60}", f"write a list of values of type {kind}"
        )
    return tuple(choices)


def _bound(where: str, table: Table, key: str, kind: str) -> float | None:
    if key not in table:
        return None
    if kind not in _NUMBERS or not is_of("number", table[key]):
        raise PluginError(
            f"[{where}] has {key} = {table[key]!r:.60}",
            f"{key} must be a number, and is only for the types integer and number",
        )
    bound: float = table[key]
    return bound


def fill(schema: Mapping[str, Setting], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return read-only copies of a plugin's settings, with defaults for settings that the operator
    has not set.

    Raises:
        PluginError: if a setting is unknown, missing or not valid.
    """
    for name, value in values.items():
        if name not in schema:
            raise PluginError(
                f"the plugin has no setting {name!r}{did_you_mean(str(name), schema)}",
                "correct or remove it",
            )
        schema[name].check(value, "the operator's")
    filled = {}
    for name, setting in schema.items():
        if name in values:
            filled[name] = copy.deepcopy(values[name])
        elif setting.required:
            raise PluginError(
                f"the setting {name!r} is required",
                f"set it: settings={{<id>: {{{name!r}: ...}}}}",
            )
        elif setting.has_default:
            filled[name] = copy.deepcopy(setting.default)
    return MappingProxyType(filled)
