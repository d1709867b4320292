"""Which tools an agent may call: lists of globs, of tools and of their arguments."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from re import Pattern
from typing import Any, Final, Literal

from .. import Ask, Block, HookError
from ..exceptions import did_you_mean
from ._plugged import Plugged, glob

Rule = str | Mapping[str, Mapping[str, str]]
Rules = Rule | Iterable[Rule]
Unknown = Literal["ask", "block", "allow"]

_KEYS: Final = ("deny", "ask", "allow")
"""The lists, the one that wins first."""


class tools(Plugged):
    """A guard of the tools an agent may call: what is denied, then what is asked about, then what
    is allowed; the first list that has the call decides.

    Args:
        allow, deny, ask: globs over the names of tools, `"read_*"`; or `{"bash": {"command":
            "rm *"}}`, a glob of tools and globs of their arguments, all of which must match. One
            or several. Case counts.
        unknown: what becomes of a call that is in no list: `"ask"`, `"block"` or `"allow"`.
        hook: the hook whose calls it judges; it has the arguments `name` and `arguments`.

    Raises:
        HookError: for a rule that is none, two lists that say the same, or no rule at all.
    """

    def __init__(
        self, allow: Rules = (), deny: Rules = (), ask: Rules = (), unknown: Unknown = "ask", *,
        hook: str = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if unknown not in ("ask", "block", "allow"):
            known = did_you_mean(str(unknown), ("ask", "block", "allow"))
            raise HookError(f"unknown={unknown!r:.40}{known}")
        given = {"deny": deny, "ask": ask, "allow": allow}
        self._rules = {key: _rules(key, given[key]) for key in _KEYS}
        _check_contradictions(self._rules)
        if unknown != "allow" and not any(self._rules.values()):
            raise HookError("tools() without a rule lets nothing through: name tools to allow")
        self._unknown = unknown
        self.on("pre", self._judge_of(), role="guard")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, hook: str = "tool_call") -> tools:
        """Return the guard that a TOML file describes: `allow`, `deny`, `ask` and `unknown`.

        Raises:
            HookError: if it cannot be read, or says what is no rule.
        """
        try:
            said = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise HookError(f"{path} cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise HookError(f"{path} is no TOML: {error}") from None
        known = (*_KEYS, "unknown")
        for key in said:
            if key not in known:
                raise HookError(f"{path}: there is no {key!r}{did_you_mean(key, known)}")
        try:
            return cls(**said, hook=hook)
        except HookError as error:
            raise HookError(f"{path}: {error}") from None

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """Return, in words, the rules that none of these tools can ever match."""
        known = list(names)
        return [
            f"{key}: {rule.text} matches no tool{did_you_mean(rule.tool, known)}"
            for key, rules in self._rules.items()
            for rule in rules
            if not any(rule.matches.match(name) for name in known)
        ]

    def _judge_of(self) -> Any:
        def judge(sender: Any, name: Any, arguments: Any) -> Block | Ask | None:
            if not isinstance(name, str) or not isinstance(arguments, Mapping):
                return Block("the call names no tool, or its arguments are no mapping", code="tool")
            for key, rules in self._rules.items():
                for rule in rules:
                    if rule.has(name, arguments, is_strict=key == "allow"):
                        return _said(key, name)
            return _said(self._unknown, name)

        return judge


class _Rule:
    """A glob of tools, and of some of their arguments."""

    def __init__(self, key: str, tool: Any, arguments: Any) -> None:
        self.tool, self.matches = tool, glob(tool, key)
        if not isinstance(arguments, Mapping):
            raise HookError(f"{key}: {tool!r:.40} takes a mapping of arguments to globs")
        self.text = repr(tool) if not arguments else f"{tool!r} with {dict(arguments)!r}"
        self._arguments: dict[str, Pattern[str]] = {}
        for name, text in arguments.items():
            where = f"{key}: {tool!r:.40}"
            if not isinstance(name, str):
                raise HookError(f"{where} has an argument that is no text: {name!r:.40}")
            self._arguments[name] = glob(text, f"{where}: {name!r:.40}")

    def has(self, name: str, arguments: Mapping[Any, Any], *, is_strict: bool) -> bool:
        """Tell whether a call is one of these; what cannot be looked at is where that closes."""
        if self.matches.match(name) is None:
            return False
        for argument, matches in self._arguments.items():
            value = arguments.get(argument)
            if isinstance(value, str):
                if matches.match(value) is None:
                    return False
            elif is_strict or argument not in arguments:
                return False
        return True


def _rules(key: str, given: Any) -> list[_Rule]:
    if isinstance(given, (str, Mapping)):
        given = [given]
    if not isinstance(given, Iterable):
        raise HookError(f"{key}={given!r:.40} takes a glob, a mapping, or several")
    found = []
    for each in given:
        several = each.items() if isinstance(each, Mapping) else [(each, {})]
        found += [_Rule(key, tool, arguments) for tool, arguments in several]
    return found


def _check_contradictions(rules: Mapping[str, list[_Rule]]) -> None:
    seen: dict[str, str] = {}
    for key, listed in rules.items():
        for rule in listed:
            other = seen.setdefault(rule.text, key)
            if other != key:
                raise HookError(f"{rule.text} is in {other} and in {key}: say one of them")


def _said(key: str, name: str) -> Block | Ask | None:
    if key == "allow":
        return None
    shown = ascii(name[:60])
    if key == "ask":
        return Ask(f"call {shown}?", code="tool")
    return Block(f"the tool {shown} may not be called so", code="tool")
