"""Decides by Cedar policies which calls are allowed."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from types import FunctionType
from typing import Any, Final

import attrs

from .. import Ask, Block, Bus, HookContext, HookError
from .._connections.failures import ERROR, INFO, log
from .._ground.errors import did_you_mean
from .._hooks.hook import Hook, hook_of, hooks_in
from ..events import Reloaded
from ._call import declaration_of, tool_of
from ._cedar.deciding import Policies
from ._cedar.declared import (
    fields_of_hook,
    fields_of_own_tools,
    fields_of_schema,
    has_arguments,
    rests_of,
)
from ._cedar.live import Live
from ._cedar.people import HOOK, ROLE, TOOL
from ._cedar.rules import Uid
from ._cedar.trees import entities_in
from ._cedar.types import Field
from ._cedar.view import ACTION, Decision, View
from ._outermost import Outermost
from ._ready import FIRST, Hooks, ReadyGuard

NOTED: Final = 1000
"""The maximum number of tools, and of sender classes, to remember."""


@attrs.frozen
class Rule:
    """A policy of `guards.policy`.

    Attributes:
        id: the policy's `@id`; without one, its file name and line number.
        decided: the number of decisions in this process that the policy determined.
        file: the file of the policy, or None if the source is a string.
        line: the line on which the policy begins.
    """

    id: str
    decided: int
    file: str | None
    line: int


class policy(ReadyGuard):
    """A guard that decides by Cedar policies. Requires `hookbus[policy]`.

    The principal is `Agent::"<user>"`, with the user from the baggage. Without a user it contains
    the session, and otherwise `anonymous`. The action is `Action::"<hook>"`, the resource
    `Tool::"<name>"`, or `Hook::"<hook>"` for a hookable that is itself the tool.
    `context.arguments` contains the final arguments, and `context.baggage` the baggage.

    A call that no `permit` matches is blocked, and a `forbid` that matches wins. A call is also
    blocked if the evaluation of any policy fails, if it has an argument that the schema does not
    know, or if a value is not of the declared type.

    Args:
        source: the policies: a string, a file, or a folder with `*.cedar` files.
        schema: `"tools"` derives the types of arguments from the signatures of hookables and the
            declarations of frameworks' tools. Otherwise, a mapping of tool names to functions,
            pydantic models, JSON schemas or mappings of parameters to types; or a Cedar schema, or
            the tools that an MCP server lists, as a string or a file.
        entities: a mapping of names to roles, a list of Cedar entities, or a JSON file.
        people: a mapping of names to roles, or a TOML file, as for `approvals.Store`.
        reload: whether to read the files again when they change. If their new content cannot be
            used, the earlier policies remain in force.
        hook: the hook to check: a name, several names, or a glob.

    Attributes:
        problem: the reason why the earlier policies remain in force, or None.
        rules: the policies, each with the number of decisions that it determined.

    Raises:
        HookError: with file and line, for a policy that is wrong or can never match; or if no
            policy is about `hook`.
    """

    def __init__(
        self, source: str | os.PathLike[str], *, schema: Any = "tools", entities: Any = None,
        people: Any = None, reload: bool = True, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        self._live = Live(
            source, schema, entities, people, is_reloading=reload, note=self._note_reload,
            actions=tuple(self.hooks),
        )  # fmt: skip
        self._views: dict[Any, tuple[Any, Policies, View]] = {}
        self._hooks_called: dict[Any, tuple[Hook | None, frozenset[str]]] = {}
        self._called: dict[Uid, None] = {}
        self._buses: list[Bus] = []
        found = self._live.policies
        may_change = self._live.is_reloading
        self._outermost = Outermost(self) if found.may_ask or may_change else None
        self._judge = self._judge_of(is_shadow=False)
        self._judge.findings = self._findings
        if found.has_shadow or may_change:
            self.on(
                "pre", self._judge_of(is_shadow=True), role="guard", shadow=True,
                name="policy: shadow", priority=FIRST,
            )  # fmt: skip
        self.on("pre", self._judge, role="guard")

    @property
    def problem(self) -> str | None:
        """The reason why the earlier policies remain in force, or None."""
        self._live.current()
        return self._live.problem

    @property
    def rules(self) -> list[Rule]:
        """The policies in force, in order."""
        return [
            Rule(each.id, each.decided, each.file, each.line) for each in self._live.current().all
        ]

    def _judge_of(self, *, is_shadow: bool) -> Any:
        def judge(sender: Any, ctx: HookContext) -> Block | Ask | None:
            found = self._live.current()
            if not is_shadow:
                return self._verdict(self._decide(found, ctx), ctx)
            decision = self._decide(found, ctx, is_shadow=True) if found.has_shadow else _ALLOW
            return None if decision.effect == "allow" else _verdict_of(decision)

        result: Any = judge
        result.only_reports = is_shadow
        return result

    def _decide(self, found: Policies, ctx: HookContext, *, is_shadow: bool = False) -> Decision:
        """Decide a call. In shadow, allow it unless the policies in shadow change the decision."""
        name, arguments = tool_of(ctx)
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            why = "the call has no tool name, or its arguments are not a mapping"
            return Decision("block", why)
        view = self._view(found, ctx, name, arguments)
        if isinstance(view, Decision):
            return _ALLOW if is_shadow else view
        principal = found.principal_of(ctx.baggage)
        if isinstance(principal, Decision):
            return _ALLOW if is_shadow else principal
        if is_shadow:
            return view.in_shadow(principal, arguments, ctx.baggage) or _ALLOW
        return view.decide(principal, arguments, ctx.baggage)

    def _verdict(self, decision: Decision, ctx: HookContext) -> Block | Ask | None:
        verdict = None if decision.effect == "allow" else _verdict_of(decision)
        return verdict if self._outermost is None else self._outermost.apply(ctx, verdict)

    def _view(
        self, found: Policies, ctx: HookContext, name: str, arguments: Mapping[Any, Any]
    ) -> View | Decision:
        is_tool = "name" in ctx.kwargs and "arguments" in ctx.kwargs
        kind = TOOL if is_tool else HOOK
        if is_tool and ctx.kwargs.get("kind") == "unknown":
            return Decision("block", f"there is no tool {name[:60]!a}")
        beside = [each for key, each in ctx.kwargs.items() if key not in ("name", "arguments")]
        has_more = any(isinstance(each, (dict, list, tuple)) and each for each in beside)
        needs_hook = has_more or not is_tool
        hook, rests = self._hook_and_rests(ctx) if needs_hook else (None, frozenset[str]())
        for rest in rests:
            if ctx.kwargs.get(rest):
                return Decision("block", f"the schema does not declare the arguments in {rest!a}")
        key = (ctx.hook, name) if is_tool else (ctx.hook, hook, *arguments)
        declared = ctx.kwargs.get("tool") if is_tool else None
        cached = self._views.get(key)
        if cached is not None and cached[1] is found and cached[0] is _marked(declared, name):
            return cached[2]
        if found.schema.handle is not None:
            fields: Mapping[str, Field] | None = {}
        elif found.schema.fields is not None:
            fields = found.schema.fields.get(name)
        elif is_tool:
            fields = fields_of_schema(declaration_of(ctx))
        else:
            fields = fields_of_hook(hook, arguments)
        if not is_tool and (problem := self._misspelt_hook(found)):
            return Decision("block", problem)
        if fields is None:
            return Decision(
                "block", f"the arguments of tool {name[:60]!a} are not known: pass schema= to "
                "guards.policy",
            )  # fmt: skip
        if len(self._called) < NOTED:
            self._called.setdefault((kind, name))
        if len(self._views) >= NOTED:
            self._views.clear()
        view = found.view(ctx.hook, kind, name, fields)
        self._views[key] = _marked(declared, name), found, view
        return view

    def _hook_and_rests(self, ctx: HookContext) -> tuple[Hook | None, frozenset[str]]:
        """Return the hook that is called, if it is known, and the names of its `*rest` and
        `**more`.
        """
        sender = ctx.sender
        owner = sender if isinstance(sender, (type, FunctionType)) else type(sender)
        key = ctx.hook, owner, *ctx.kwargs
        found = self._hooks_called.get(key)
        if found is None:
            if len(self._hooks_called) >= NOTED:
                self._hooks_called.clear()
            several = self._find_hooks(ctx.hook, owner, ctx.kwargs)
            found = self._hooks_called[key] = next(iter(several), None), rests_of(several)
        return found

    def _find_hooks(self, name: str, owner: Any, given: Collection[str]) -> list[Hook]:
        found: list[Hook | None] = [hook_of(owner)] if isinstance(owner, FunctionType) else [
            hook for _, hook in hooks_in(owner.__mro__)
        ]  # fmt: skip
        for bus in self._buses:
            found += bus._switchboard.declared(name)
        return [
            each for each in found
            if each is not None and each.name == name and has_arguments(each, given)
        ]  # fmt: skip

    def _note_bus(self, bus: Bus) -> None:
        """Check the hookables that are tools themselves, when the guard is registered.

        Raises:
            HookError: if a policy does not fit one of them.
        """
        if bus not in self._buses:
            self._buses.append(bus)
        found = self._live.policies
        if problem := self._misspelt_hook(found):
            raise HookError(problem)
        for name in self.hooks:
            for fields in fields_of_own_tools(bus, name) if found.schema.handle is None else ():
                view = found.view(name, HOOK, name, fields)
                if view.problem is not None:
                    raise HookError(view.problem)

    def _misspelt_hook(self, found: Policies) -> str | None:
        """Describe a policy that names an undeclared hook with a similar name, or return None."""
        known = {each for each in self.hooks if each.isidentifier()}
        known.update(name for bus in self._buses for name in bus.hook_names())
        for each in found.all:
            for kind, name in entities_in(each):
                near = did_you_mean(name, known) if kind in (HOOK, ACTION) else ""
                if name not in known and "did you mean" in near:
                    why = f"no hook {name!a} is declared{near} Otherwise, import its module first"
                    return f"{each.place}: {why}"
        return None

    def _note_reload(self, problem: str | None) -> None:
        """Log the result of reloading the files, and emit it."""
        if problem is None:
            log(INFO, "the policies were reloaded and are in force")
        else:
            log(ERROR, f"the earlier policies remain in force: {problem}")
        for bus in self._buses:
            for signal in bus.signals():
                for each in signal.connections():
                    if each.function is self._judge:
                        bus.events.emit_about(Reloaded, each, problem=problem)

    def _findings(self) -> list[str]:
        """Return the problems with the files and the policies, for `report`."""
        found = self._live.current()
        problem = self._live.problem
        said = [f"the earlier policies remain in force: {problem}"] if problem else []
        said += dict.fromkeys(
            view.problem for _, whole, view in self._views.values()
            if whole is found and view.problem
        )  # fmt: skip
        names = {kind: [name for k, name in self._called if k == kind] for kind in (TOOL, HOOK)}
        names[ACTION] = list(self.hooks)
        for each in found.all:
            for kind, name in entities_in(each):
                if kind == ROLE and name in found.roles_of_nobody:
                    said.append(f"{each.place} names the role {name!a}, which no one has now")
                if kind not in names or name in names[kind] or not names[kind]:
                    continue
                near = did_you_mean(name, names[kind])
                if "did you mean" in near:
                    named = f"{each.place} names {kind}::{name!r}"
                    said.append(f"{named}, which was never called{near}")
        return said


_ALLOW: Final = Decision("allow")


def _verdict_of(decision: Decision) -> Block | Ask:
    details = {"policies": decision.ids, **decision.details}
    if decision.effect == "ask":
        return Ask(decision.reason, code="policy", details=details)
    return Block(decision.reason, code="policy", details=details)


def _marked(declared: Any, name: str) -> Any:
    """Return the object that changes if a tool declares other parameters: the list of a session, or
    the tool itself.
    """
    schemas = getattr(declared, "__dict__", {}).get("__hookbus_schemas__", {})
    return schemas.get(name, declared)
