"""Tries policies on calls from a table or a journal, without making the calls."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import attrs

from ... import HookError
from ..._external.trust import read_trusted_toml
from ..._ground.errors import did_you_mean
from .checks import tests_of
from .deciding import Policies
from .declared import kind_of_annotation
from .library import cedar
from .people import HOOK, TOOL, Entities
from .rules import Policy
from .schemas import Schema
from .source import malformed_as_hook_error, read_pieces
from .trees import written
from .types import Field
from .view import Decision, View

EXPECTED: Final = ("allow", "ask", "block")
_KEYS: Final = ("tool", "arguments", "user", "session", "baggage", "expect", "policy")
_HEAD: Final = ("policy", "schema", "entities", "people", "hook", "case")


class Trial:
    """Policies, and the tools whose calls they decide.

    Args:
        source, schema, entities, people: as for `guards.policy`, but `schema` is not `"tools"`.
        hook: the hook of the calls.
        hooks: the hooks that are themselves tools.

    Raises:
        HookError: as in `guards.policy`.
    """

    def __init__(
        self, source: Any, schema: Any, entities: Any = None, people: Any = None,
        hook: str = "tool_call", hooks: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._hook, self._hooks = hook, frozenset(hooks)
        pieces = read_pieces(source)
        with malformed_as_hook_error("a file or option of the policies"):
            self.policies = Policies(
                pieces, Schema(schema), Entities(entities, people), (hook, *self._hooks)
            )

    def view(self, tool: str) -> View | None:
        """Return the view of a tool, or None if the schema does not declare the tool."""
        schema = self.policies.schema
        fields = {} if schema.fields is None else schema.fields.get(tool)
        if fields is None:
            return None
        is_hook = tool in self._hooks
        action, kind = (tool, HOOK) if is_hook else (self._hook, TOOL)
        return self.policies.view(action, kind, tool, fields)

    def decide(
        self, tool: str, arguments: Mapping[str, Any], baggage: Mapping[str, Any]
    ) -> Decision:
        """Decide one call."""
        view = self.view(tool)
        if view is None:
            return Decision("block", f"the arguments of tool {tool[:60]!a} are not known")
        principal = self.policies.principal_of(baggage)
        if isinstance(principal, Decision):
            return principal
        return view.decide(principal, arguments, baggage)

    def in_shadow(
        self, tool: str, arguments: Mapping[str, Any], baggage: Mapping[str, Any]
    ) -> Decision | None:
        """Return the decision on a call if the policies with `@shadow` also decided, or None if the
        verdict would be the same.
        """
        view, principal = self.view(tool), self.policies.principal_of(baggage)
        if view is None or isinstance(principal, Decision):
            return None
        return view.in_shadow(principal, arguments, baggage)

    def near(
        self, tool: str, arguments: Mapping[str, Any], baggage: Mapping[str, Any]
    ) -> Iterator[Near]:
        """Yield the policies for a tool that did not match a call, with their unmet conditions."""
        view, principal = self.view(tool), self.policies.principal_of(baggage)
        if view is None or view.problem is not None or isinstance(principal, Decision):
            return
        for policy in view.policies:
            found = Near(policy, [], [])
            for text, tree in _conditions_of(policy):
                is_met = view.matches(tree, principal, arguments, baggage)
                if is_met is None:
                    found.not_evaluated.append(text)
                elif not is_met:
                    found.not_met.append(text)
            if found.not_met or found.not_evaluated:
                yield found


@attrs.frozen
class Near:
    """A policy that did not match a call.

    Attributes:
        policy: the policy.
        not_met: its conditions that are false for this call.
        not_evaluated: its conditions that have no value for this call, such as a comparison of an
            argument that it does not have.
    """

    policy: Policy
    not_met: list[str]
    not_evaluated: list[str]


def _conditions_of(policy: Policy) -> Iterator[tuple[str, Any]]:
    """Yield each condition of a policy as text, and as a permit that has only this condition."""
    pst, tree = cedar().pst, policy.tree
    anyone = replace(tree, effect="permit", annotations={}, principal=pst.ScopeAny(), clauses=())
    if not isinstance(tree.principal, pst.ScopeAny):
        scope = replace(anyone, principal=tree.principal)
        yield written(scope).partition("(")[2].partition(", action")[0], scope
    for test in tests_of(policy):
        alone = replace(anyone, clauses=(pst.When(test),))
        shown = written(alone).partition("when {")[2].rpartition("}")[0]
        yield shown.strip().replace("(context.arguments)", "context.arguments"), alone


@attrs.frozen(kw_only=True)
class Case:
    """A row of a table: a call and its expected verdict.

    Attributes:
        number: the number of the case, starting at 1.
        tool, arguments, baggage: the call.
        expect: `"allow"`, `"ask"` or `"block"`.
        policy: the id of a policy that must determine the decision, or None.
    """

    number: int
    tool: str
    arguments: Mapping[str, Any]
    baggage: Mapping[str, Any]
    expect: str
    policy: str | None = None

    @property
    def title(self) -> str:
        """A description of the call in one line."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        user = f" by {self.baggage['user']}" if "user" in self.baggage else ""
        return f"{self.tool}({given}){user}"

    def problem(self, decision: Decision) -> str | None:
        """Describe how a decision differs from the expected decision, or return None."""
        why = f" ({decision.reason})" if decision.reason else ""
        by = f" by {', '.join(decision.ids)}" if decision.ids else ""
        if decision.effect != self.expect:
            return f"expected {self.expect}, but the verdict is {decision.effect}{by}{why}"
        if self.policy is not None and self.policy not in decision.ids:
            found = f"the verdict is {decision.effect}{by}{why}"
            return f"expected policy {self.policy!r} to decide, but {found}"
        return None


@attrs.frozen
class TestTable:
    """A file of cases.

    Attributes:
        cases: the cases, in order.
        head: the settings of the file: `policy`, `schema`, `entities` and `people` with full paths,
            and `hook`.
    """

    __test__ = False
    cases: tuple[Case, ...]
    head: Mapping[str, Any]

    def trial(self, policy: Any = None, **more: Any) -> Trial:
        """Return a trial of the file's policies, or of other policies, with the settings of the
        file.

        Raises:
            HookError: if the file names no policy, or a policy is invalid.
        """
        head = dict(self.head) | {name: each for name, each in more.items() if each is not None}
        source = policy if policy is not None else head.pop("policy", None)
        head.pop("policy", None)
        if source is None:
            raise HookError('the table names no policies: write policy = "agent.cedar" in it')
        if "schema" not in head:
            raise HookError(
                'the arguments of the tools are not known: write schema = "tools.json" in the '
                "table, or pass --schema or --module"
            )
        return Trial(source, **head)


def read_table(path: Path) -> TestTable:
    """Read a table of cases.

    Raises:
        HookError: if the table is malformed or contains no case.
    """
    said = read_trusted_toml(path)
    _check_keys(said, _HEAD, f"{path}")
    if not isinstance(said.get("hook", ""), str):
        raise HookError(f'{path} needs the name of a hook, such as hook = "tool_call"')
    listed = said.pop("case", [])
    if not isinstance(listed, list) or not listed:
        raise HookError(f"{path} has no [[case]], so it would test nothing")
    head = {
        name: path.parent / value if name != "hook" and isinstance(value, str) else value
        for name, value in said.items()
    }
    cases = tuple(_case(each, number, path) for number, each in enumerate(listed, 1))
    return TestTable(cases, head)


def _case(said: Any, number: int, path: Path) -> Case:
    where = f"{path}: case {number}"
    if not isinstance(said, dict) or not isinstance(said.get("tool"), str):
        raise HookError(f'{where} needs a tool, such as tool = "pay"')
    _check_keys(said, _KEYS, where)
    for name, example in (("arguments", "{amount = 5}"), ("baggage", '{session = "s1"}')):
        if not isinstance(said.get(name, {}), dict):
            raise HookError(f"{where}: {name} must be a table, such as {name} = {example}")
    expect = said.get("expect")
    if expect not in EXPECTED:
        near = did_you_mean(str(expect), EXPECTED)
        raise HookError(f"{where}: expect = {expect!r} must be allow, ask or block{near}")
    around = dict(said.get("baggage", {}))
    around |= {name: said[name] for name in ("user", "session") if name in said}
    return Case(
        number=number, tool=said["tool"], arguments=said.get("arguments", {}), baggage=around,
        expect=expect, policy=said.get("policy"),
    )  # fmt: skip


def _check_keys(said: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for name in said:
        if name not in known:
            raise HookError(f"{where} has an unknown key {name!r}{did_you_mean(name, known)}")


def schema_seen(calls: Iterable[tuple[str, Mapping[str, Any]]]) -> Schema:
    """Return a schema with the arguments in these calls. An argument is required if every call to
    the tool has it. Arguments whose values have several types, or are mappings, become text.
    Policies may name further tools, which were not called.
    """
    counts: dict[str, int] = {}
    values: dict[str, dict[str, list[Any]]] = {}
    for tool, arguments in calls:
        counts[tool] = counts.get(tool, 0) + 1
        fields = values.setdefault(tool, {})
        for name, value in arguments.items():
            if value is not None:
                fields.setdefault(name, []).append(_type_of(value))
    schema = Schema({})
    schema.is_partial = True
    schema.fields = {
        tool: {name: Field(kind_of_annotation(_one_of({*seen}))[0], len(seen) == counts[tool])
               for name, seen in fields.items()}
        for tool, fields in values.items()
    }  # fmt: skip
    return schema


def _type_of(value: Any) -> Any:
    if isinstance(value, list):
        kinds = {_type_of(each) for each in value}
        if not kinds:
            return list[str]
        return types.GenericAlias(list, (kinds.pop(),)) if len(kinds) == 1 else object
    return type(value) if isinstance(value, (str, bool, int, float)) else object


def _one_of(several: set[Any]) -> Any:
    if several == {int, float}:
        return float
    return next(iter(several)) if len(several) == 1 else object
