"""Control which tools an agent may call, by globs of tool names and arguments."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from re import Pattern
from typing import Any, Final, Literal

from .. import Ask, Block, HookContext, HookError
from .._external.trust import read_trusted_toml
from .._ground.errors import did_you_mean
from ._call import parameters_of, tool_of
from ._outermost import Outermost
from ._ready import Hooks, ReadyGuard, glob

Rule = str | Mapping[str, Mapping[str, str]]
Rules = Rule | Iterable[Rule]
Default = Literal["ask", "block", "allow"]

_KEYS: Final = ("deny", "ask", "allow")
"""The lists, in order of precedence."""

NOTED: Final = 1000
"""The maximum number of called tools, and of argument names, to remember."""


class tool_policy(ReadyGuard):
    """A guard with an allow list, a deny list and an ask list of tools.

    It checks deny first, then ask, then allow. The first list with a matching rule decides. A
    `deny` or `ask` rule for an argument that the tool does not have can never match. If the guard
    knows the tool's parameters, such a rule blocks the call. An `allow` rule never blocks a call. A
    rule for a glob of tools applies only to tools that have the argument. It blocks calls to other
    tools only if the tool is known to have a parameter with a similar name.

    Args:
        allow, deny, ask: one or more rules. A rule is a glob of tool names, such as `"read_*"`, or
            a mapping of such a glob to globs of argument values, which must all match, such as
            `{"bash": {"command": "rm *"}}`. Globs are case-sensitive. A value that is not a string
            matches `deny` and `ask` rules, but not `allow` rules.
        default: the decision for a call that no list matches: `"ask"`, `"block"` or `"allow"`. If a
            call would need approval but its tool does not exist, the call is blocked.
        hook: the hook to check: a name, several names, or a glob. A nested call with the same tool
            and arguments does not need a second approval.

    Raises:
        HookError: if a rule is invalid or is in two lists, or if there are no rules and `default`
            is not `"allow"`.
    """

    def __init__(
        self, allow: Rules = (), deny: Rules = (), ask: Rules = (), default: Default = "ask", *,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if default not in ("ask", "block", "allow"):
            known = did_you_mean(str(default), ("ask", "block", "allow"))
            raise HookError(f"default={default!r:.40} must be 'ask', 'block' or 'allow'{known}")
        lists = {"deny": deny, "ask": ask, "allow": allow}
        self._rules = {key: _rules(key, lists[key]) for key in _KEYS}
        _check_contradictions(self._rules)
        if default != "allow" and not any(self._rules.values()):
            raise HookError("tool_policy() without rules would allow no call: list tools in allow=")
        self._default = default
        may_ask = default == "ask" or bool(self._rules["ask"])
        self._outermost = Outermost(self) if may_ask else None
        self._called: dict[str, None] = {}
        judge = self._judge_of()
        judge.findings = self._findings
        self.on("pre", judge, role="guard")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, hook: Hooks = "tool_call") -> tool_policy:
        """Create the guard from a TOML file with `allow`, `deny`, `ask` and `default`.

        Raises:
            HookError: if the file cannot be read or contains an invalid rule, or if another user
                could have written it.
        """
        return cls._of_file(path, read_trusted_toml(Path(path)), hook)

    @classmethod
    def _of_file(
        cls, path: str | os.PathLike[str], contents: Mapping[str, Any], hook: Hooks = "tool_call"
    ) -> tool_policy:
        """Create the guard from the contents of a file.

        Raises:
            HookError: if the file contains an unknown key or an invalid rule; the message names the
                file.
        """
        known = (*_KEYS, "default")
        for key in contents:
            if key not in known:
                raise HookError(f"{path}: unknown key {key!r}{did_you_mean(key, known)}")
        try:
            return cls(**contents, hook=hook)
        except HookError as error:
            raise HookError(f"{path}: {error}") from None

    def unused_rules(
        self, tools: Iterable[str] | Mapping[str, Collection[str]] | None = None
    ) -> list[str]:
        """Return descriptions of the rules that cannot match.

        Args:
            tools: the names of the existing tools, or a mapping of each name to the tool's
                parameter names. If it is None, the tools and arguments of the calls so far are
                used.
        """
        return [f"{key}: {rule.text} {why}" for key, rule, why in self._unused(tools)]

    def _unused(
        self, tools: Iterable[str] | Mapping[str, Collection[str]] | None = None
    ) -> Iterator[tuple[str, _Rule, str]]:
        """Yield the rules that cannot match, each with its key and the reason."""
        for key, rules in self._rules.items():
            for rule in rules:
                if tools is None:
                    met = rule.parameters if rule.is_met else None
                    reasons = rule.unused(self._called, met)
                else:
                    reasons = rule.unused(list(tools), _met(rule, tools))
                yield from ((key, rule, why) for why in reasons)

    def _findings(self, existing: Collection[str] = ()) -> list[str]:
        """Return findings for `report` about rules that are probably mistakes, judging by the calls
        so far.

        Args:
            existing: names of tools that no call needs to prove.
        """
        return [
            f"{key}: {rule.text} {why}" for key, rule, why in self._unused()
            if "names the argument" in why
            or ("did you mean" in why and rule.tool not in existing)
        ]  # fmt: skip

    def _judge_of(self) -> Any:
        def judge(sender: Any, ctx: HookContext) -> Block | Ask | None:
            name, arguments = tool_of(ctx)
            if not isinstance(name, str) or not isinstance(arguments, Mapping):
                return Block(
                    "the call has no tool name, or its arguments are not a mapping", code="tool"
                )
            if len(self._called) < NOTED:
                self._called.setdefault(name)
            answer = self._answer(name, arguments, ctx)
            is_unknown = ctx.kwargs.get("kind") == "unknown" and "arguments" in ctx.kwargs
            if isinstance(answer, Ask) and is_unknown:
                # No person could approve a tool that does not exist.
                answer = Block(f"there is no tool {name[:60]!a}", code="tool")
            return answer if self._outermost is None else self._outermost.apply(ctx, answer)

        return judge

    def _answer(
        self, name: str, arguments: Mapping[Any, Any], ctx: HookContext
    ) -> Block | Ask | None:
        for key, rules in self._rules.items():
            for rule in rules:
                if rule.matches.match(name) is None:
                    continue
                missing = rule.note(arguments)
                known = parameters_of(ctx) if missing else None
                if known is not None:
                    rule.note(dict.fromkeys(known))
                    if key != "allow" and (wrong := rule.misnamed(missing, known)):
                        return Block(f"a rule in {key}= names {wrong}", code="tool")
                if rule.has(arguments, is_strict=key == "allow"):
                    if key == "allow":
                        return None
                    why = " with these arguments" if rule.names else ""
                    return _said(key, name, why, f"{key}: {rule.text}")
        if self._default == "allow":
            return None
        # An allow rule for this tool exists, but its arguments did not match.
        is_listed = any(rule.matches.match(name) for rule in self._rules["allow"])
        why = " with these arguments" if is_listed else ""
        return _said(self._default, name, why, f"default: {self._default}")


class _Rule:
    """A glob of tools, with globs of their arguments."""

    def __init__(self, key: str, tool: Any, arguments: Any) -> None:
        self.tool, self.matches = tool, glob(tool, key)
        if not isinstance(arguments, Mapping):
            raise HookError(f"{key}: {tool!r:.40} needs a mapping of arguments to globs")
        self.text = repr(tool) if not arguments else f"{tool!r} with {dict(arguments)!r}"
        self._arguments: dict[str, Pattern[str]] = {}
        for name, text in arguments.items():
            where = f"{key}: {tool!r:.40}"
            if not isinstance(name, str):
                raise HookError(f"{where} has an argument name that is not a string: {name!r:.40}")
            self._arguments[name] = glob(text, f"{where}: {name!r:.40}")

        self.is_met = False
        self.parameters: dict[str, None] = {}

    def note(self, arguments: Iterable[Any]) -> list[str]:
        """Record the arguments of a call to a matching tool. Return the arguments of the rule that
        the call does not have.
        """
        self.is_met = True
        for name in arguments:
            if isinstance(name, str) and (name in self._arguments or len(self.parameters) < NOTED):
                self.parameters.setdefault(name)
        return [name for name in self._arguments if name not in arguments]

    def misnamed(self, missing: Iterable[str], known: Collection[str]) -> str | None:
        """Return a description of the rule's argument that a tool does not have, or None."""
        is_of_one = not any(each in self.tool for each in "*?[")
        for name in missing:
            near = did_you_mean(name, list(known))
            if name not in known and (is_of_one or "did you mean" in near):
                return f"the argument {name!r}, which this tool does not have{near}"
        return None

    def unused(self, tools: Iterable[str], parameters: Collection[str] | None) -> Iterator[str]:
        """Yield the reasons why the rule cannot match.

        Args:
            tools: the existing tool names.
            parameters: the parameter names of the matching tools, or None if no tool matches.
        """
        if parameters is None:
            yield f"matches no tool{did_you_mean(self.tool, list(tools))}"
        else:
            for name in self._arguments:
                if name not in parameters:
                    near = did_you_mean(name, list(parameters))
                    yield f"names the argument {name!r}, which no tool that it matches has{near}"

    def has(self, arguments: Mapping[Any, Any], *, is_strict: bool) -> bool:
        """Return whether the arguments of a call match the rule's globs. A value that is not a
        string matches unless `is_strict` is true.
        """
        for argument, matches in self._arguments.items():
            value = arguments.get(argument)
            if isinstance(value, str):
                if matches.match(value) is None:
                    return False
            elif is_strict or argument not in arguments:
                return False
        return True

    @property
    def names(self) -> Collection[str]:
        """The names of the arguments for which the rule has globs."""
        return self._arguments


def _met(rule: _Rule, tools: Iterable[str] | Mapping[str, Collection[str]]) -> Any:
    """Return the parameters of the tools that a rule matches, or None if it matches no tool."""
    met = [name for name in tools if rule.matches.match(name)]
    if not isinstance(tools, Mapping):
        return rule.names if met else None
    return [each for name in met for each in tools[name]] if met else None


def _rules(key: str, values: Any) -> list[_Rule]:
    if isinstance(values, (str, Mapping)):
        values = [values]
    if not isinstance(values, Iterable):
        raise HookError(f"{key}={values!r:.40} must be a glob, a mapping, or several of them")
    found = []
    for each in values:
        several = each.items() if isinstance(each, Mapping) else [(each, {})]
        found += [_Rule(key, tool, arguments) for tool, arguments in several]
    return found


def _check_contradictions(rules: Mapping[str, list[_Rule]]) -> None:
    seen: dict[str, str] = {}
    for key, listed in rules.items():
        for rule in listed:
            other = seen.setdefault(rule.text, key)
            if other != key:
                raise HookError(f"{rule.text} is in both {other}= and {key}=: remove one of them")


def _said(key: str, name: str, why: str, rule: str) -> Block | Ask:
    """Return the verdict of a list. Only its details, which the model does not read, name the rule.
    """
    shown, details = ascii(name[:60]), {"rule": rule}
    if key == "ask":
        return Ask(f"call {shown}?", code="tool", details=details)
    return Block(f"tool {shown} is not allowed{why}", code="tool", details=details)
