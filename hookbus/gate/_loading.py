"""Loads everything that the settings name: plugins, guards, the journal and the approver."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Any, Final

import attrs

from .. import Block, Bus, HookContext, HookError, default_bus, explain, guards
from .._ground.errors import did_you_mean
from .._program.preparing import prepare
from .._program.settings import PLACES, Settings
from ..guards._call import contents_of
from ..guards._paths import ARGUMENTS, Within, base_of
from ..guards._ready import is_remembering
from ..journal import Journal
from ._agents import AGENTS, TOOLS, Tool
from ._approver import GateApprover
from ._calls import Calls
from ._codex import UnreadablePatch, find_patch, paths_in
from ._events import CURRENT
from ._itself import GateItself
from ._settings import HERE, GateSettings, load_rules, read_gate_settings
from ._watch import Watch, files_of, modules_since

FIRST: Final = 2e6
"""The priority of the gate's own guards, above all others."""


@attrs.frozen
class Loaded:
    """The loaded objects that a server uses to decide.

    Attributes:
        settings: the settings.
        calls: the calls of the sessions.
        journal: the journal, or None.
        rules: the guard of the rules file, or None.
    """

    settings: GateSettings
    calls: Calls
    journal: Journal | None
    rules: guards.tool_policy | None = None

    def find_unused_rules(self) -> list[str]:
        """Return descriptions of the rules that look like mistakes, judging by the calls so far.

        A rule for a known tool of an agent is described only if the tool was called, because each
        agent calls only its own tools.
        """
        return [] if self.rules is None else self.rules._findings(TOOLS)


def load(file: Path, watch: Watch, bus: Bus = default_bus) -> Loaded:
    """Load the plugins, guards, journal and approver that a settings file names.

    Args:
        file: the settings.
        watch: the `Watch` to which every file that is read is added.
        bus: the bus to set up. Plugins and adapters always use the default bus.

    Raises:
        HookError: if anything cannot be used, or if nothing guards the calls.
    """
    watch.add(file)
    gate = read_gate_settings(file)
    folders, own = _folders(gate.settings), gate.settings
    watch.written = tuple(str(each) for each in (own.journal, own.approvals) if each is not None)
    for folder in folders:
        watch.add_folder(folder)
    if gate.rules is not None:
        watch.add(gate.rules)
    before = [*sys.modules]
    prepare(gate.settings)
    _check_plugins(gate.settings, bus)
    watch.add(*files_of(modules_since(before)))
    calls = Calls(bus)
    rules = _add_guards(gate, bus, calls)
    if not _guards_something(calls):
        shadow = ", ".join(gate.settings.shadow)
        raise HookError(
            f"{file} names no guard: add rules, a guard of [gate], or a plugin with a guard of "
            f"tool_call{f'; guards in shadow mode do not count: {shadow}' if shadow else ''}"
        )
    _add_own_guards(gate, bus, calls, folders)
    _add_approver(gate, bus)
    if gate.values:
        bus.values = True
    journal = None if gate.settings.journal is None else Journal(gate.settings.journal)
    if journal is not None:
        journal.attach(bus)
    return Loaded(gate, calls, journal, rules)


def _folders(settings: Settings) -> list[Path]:
    plugins = settings.plugins or {}
    return [Path(plugins[place]) for place in PLACES if place in plugins]


def _check_plugins(settings: Settings, bus: Bus) -> None:
    """Raise an error if a plugin that the settings enable is not loaded, because the plugin may
    contain a guard."""
    wanted = (settings.plugins or {}).get("enable", ())
    loaded = () if bus.plugins is None else bus.plugins.loaded
    for name in wanted:
        if name.rpartition(":")[2] not in loaded:
            raise HookError(
                f"{settings.file} enables the plugin {name!r}, which is not loaded"
                f"{_explain_absence(settings, name)}"
            )


def _explain_absence(settings: Settings, name: str) -> str:
    """Return the missing folders of plugins or, if there are none, the most similar plugin."""
    folders = _folders(settings)
    missing = "".join(f"; the folder {each} does not exist" for each in folders
                      if not each.is_dir())  # fmt: skip
    if missing:
        return missing
    return did_you_mean(name, [inner.name for each in folders for inner in each.iterdir()])


def _add_guards(gate: GateSettings, bus: Bus, calls: Calls) -> guards.tool_policy | None:
    """Add the guards that the settings name, and return the guard of the rules file."""
    rules = None if gate.rules is None else load_rules(gate.rules)
    found: list[Any] = [] if rules is None else [rules]
    if gate.redact is not None:
        try:
            redactor = guards.redact(**gate.redact)
        except TypeError as error:
            raise HookError(f"{gate.settings.file}: [gate] redact: {error}") from None
        found.append(redactor)
        if gate.values:
            bus.redact(guards=redactor)
    if gate.rate_limit is not None:
        found.append(guards.rate_limit(gate.rate_limit, per="session"))
    for each in found:
        bus.register(each)
    if gate.paths_within:
        judge = _paths_judge(gate.paths_within, calls)
        bus.signal("pre_tool_call").connect(
            judge, Tool, role="guard", name="paths_within", weak=False
        )
    return rules


def _paths_judge(folders: tuple[str, ...], calls: Calls) -> Any:
    made: dict[tuple[str, ...], Within] = {}
    for each in folders:
        if each != HERE and not os.path.isdir(each):
            raise HookError(f"[gate] paths_within: the folder {each} does not exist")

    def judge(tool: Tool, ctx: HookContext) -> Block | None:
        session = calls.sessions.find(ctx.baggage.get("session"))
        here = None if session is None else session.folder
        if HERE in folders and not here:
            return Block("the folder of the session is not known", code="path")
        key = (here or "", *_globs_of(tool))
        if key not in made:
            allowed = [here if each == HERE and here else each for each in folders]
            made[key] = Within(allowed, (*ARGUMENTS, *key[1:]))
        contents = contents_of(ctx)
        command = contents.get("command")
        try:
            patch = find_patch(tool, contents)
            if patch is None and tool.agent == "codex" and "*** Begin Patch" in str(command):
                patch = str(command)
            if patch is not None:
                contents = {**contents, "path": paths_in(patch)}
        except UnreadablePatch as error:
            return Block(str(error), code="path")
        return made[key].block(contents, base_of(ctx))

    return judge


def _globs_of(tool: Tool) -> tuple[str, ...]:
    """Return the names of a tool's arguments that are path globs."""
    if tool.group not in ("read", "search"):
        return ()
    # The pattern of any other tool is a regular expression.
    return ("glob", "include*", *(["pattern"] if tool.name.casefold() == "glob" else []))


def _guards_something(calls: Calls) -> bool:
    """Return whether a receiver of tool calls blocks a call if it fails. Receivers in shadow mode
    do not."""
    return any(
        not row.shadow
        and (row.role == "guard" or (row.role == "modify" and row.on_error == "block"))
        for hookable, sender in calls.hookables()
        if isinstance(sender, Tool)
        for row in explain(hookable, sender=sender)
    )


def _add_own_guards(gate: GateSettings, bus: Bus, calls: Calls, folders: list[Path]) -> None:
    own = gate.settings
    journal = [] if own.journal is None else [own.journal]
    files = [each for each in (own.file, gate.rules) if each is not None]
    unread = [each for each in (own.approvals, own.people) if each is not None]
    (unread if gate.values else files).extend(journal)  # it may contain the values of any session
    itself = GateItself(files, folders, unread)

    def gate_itself(tool: Tool, ctx: HookContext) -> Block | None:
        return itself.judge(tool, ctx)

    if gate.lost == "block":
        _add_gate_state(bus, calls)
    bus.signal("pre_tool_call").connect(
        gate_itself,
        Tool,
        role="guard",
        name="gate_itself",
        locked=True,
        priority=2 * FIRST,
        weak=False,
    )


def _add_gate_state(bus: Bus, calls: Calls) -> None:
    """Block the calls of sessions whose past is not known. This applies to agents with a guard that
    depends on earlier calls, and to agents for which the gate cannot refuse every prompt or replace
    every result.
    """
    signal = bus.signal("pre_tool_call")
    for agent in AGENTS.values():
        has_memory = any(map(is_remembering, signal.receivers_for(agent.sender(""))))
        if has_memory or not agent.replaces_results or not agent.refuses_prompts:
            is_prompt_enough = not has_memory and agent.replaces_results
            signal.connect(
                _state_judge(calls, is_prompt_enough=is_prompt_enough), agent.tool,
                role="guard", name="gate_state", priority=FIRST, weak=False,
            )  # fmt: skip


def _state_judge(calls: Calls, *, is_prompt_enough: bool) -> Any:
    def gate_state(tool: Tool, ctx: HookContext) -> Block | None:
        session = calls.sessions.find(ctx.baggage.get("session"))
        if session is not None and session.is_whole:
            return None
        began = "this session began before the gate's server did, so"
        if not is_prompt_enough:
            unknown = "its limits and what it has read are not known: begin a new session"
            return Block(f"{began} {unknown}", code="lost")
        if session is not None and session.is_prompted:
            return None
        return Block(f"{began} its prompt is not known: send another prompt", code="lost")

    return gate_state


def _add_approver(gate: GateSettings, bus: Bus) -> None:
    from ..approvals import Store

    path = gate.settings.approvals
    if path is None and gate.ask == "store":
        return  # the bus blocks, and says so
    store = None if path is None else Store(path, people=gate.settings.people)
    bus.approver(GateApprover(store, gate.wait, secrets.token_bytes(32)))


def may_hand_on(gate: GateSettings) -> bool:
    """Return whether the agent that sent the current event may ask its user."""
    event = CURRENT.get()
    if event is None or gate.ask != "agent" or event.agent.name != "claude":
        return False
    mode = event.given.get("permission_mode")
    is_there = event.variables.get("CLAUDE_CODE_ENTRYPOINT") == "cli"
    return is_there and isinstance(mode, str) and mode not in ("bypassPermissions", "dontAsk")
