"""Hooks custom, shell, local shell, patch and computer tools, which the SDK runs by its action
classes."""

from __future__ import annotations

import base64
import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Final

from .._own_hooks import View
from .._tools import Gate, Refusal, ToolCall
from ._approvals import Interrupted, run_or_interrupt
from ._words import NotDone, Told, awaited, module

_BLANK: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
    "rkJggg=="
)
"""The screenshot for the model if a computer call is denied, which is a single pixel."""


def hook_actions(gate: Gate) -> None:
    """Make each action run a copy of its tool with hooked functions. The hooks run after the SDK's
    own approvals, and before any code gets the result."""
    actions = module("run_internal.tool_actions")
    operations_of = gate.patches.look_for(actions, "coerce_apply_patch_operations")

    def hook(
        action: str, field: str, guarded: Callable[..., Any],
        waits: Callable[..., bool] = lambda tool_call, context: True,
    ) -> None:  # fmt: skip
        cls = gate.patches.look_for(actions, action)
        stock = gate.patches.look_for(cls, "execute").__func__

        @functools.wraps(stock)
        async def execute(
            own: Any, *, agent: Any, call: Any, context_wrapper: Any, **rest: Any
        ) -> Any:
            stock_tool, tool = getattr(call, field), copy.copy(getattr(call, field))
            context = context_wrapper if waits(call.tool_call, context_wrapper) else None
            ask = functools.partial(_ask, gate, stock_tool, agent, call.tool_call, context)
            for name, value in guarded(tool, ask).items():
                setattr(tool, name, value)
            given = dataclasses.replace(call, **{field: tool})
            run = functools.partial(
                stock, own, agent=agent, call=given, context_wrapper=context_wrapper, **rest
            )
            try:
                return await run()
            except Interrupted:  # now the SDK asks for approval; the callback would answer itself
                tool.needs_approval, tool.on_approval = True, None
                return await run()

        _replace(gate, cls, execute)

    def is_one(tool_call: Any, context: Any) -> bool:
        return len(operations_of(tool_call, context_wrapper=context)) == 1

    hook("CustomToolAction", "custom_tool", _custom)
    hook("ShellAction", "shell_tool", _shell)
    hook("LocalShellAction", "local_shell_tool", _local_shell, lambda tool_call, context: False)
    hook("ApplyPatchAction", "apply_patch_tool", _patch, is_one)
    _hook_computers(gate, gate.patches.look_for(actions, "ComputerAction"))


def _replace(gate: Gate, action_class: Any, execute: Any) -> None:
    gate.patches.replace(action_class, "execute", classmethod(execute))


async def _ask(
    gate: Gate, tool: Any, agent: Any, tool_call: Any, context: Any, arguments: dict[str, Any],
    body: Callable[[dict[str, Any]], Any], kind: str = "builtin",
) -> Any:  # fmt: skip
    """Return the tool's result, or the answer that replaces it, and raise a denial. If the context
    of the run is given, the call can be interrupted."""
    get = tool_call.get if isinstance(tool_call, dict) else functools.partial(getattr, tool_call)
    call = ToolCall(tool.name, arguments, get("call_id", None), kind, tool, agent)

    async def run(changed: dict[str, Any]) -> Any:
        return await awaited(body(changed))

    asked = gate.run_async(call, run)
    if context is None:
        found = await asked
    else:
        found = await run_or_interrupt(asked, call, tool_call, context)
    if isinstance(found, Refusal):
        raise NotDone(found.text)
    return found


def _custom(tool: Any, ask: Any) -> dict[str, Any]:
    stock = tool.on_invoke_tool

    def run(context: Any, text: str) -> Any:
        return ask({"input": text}, lambda given: stock(context, given["input"]), "function")

    return {"on_invoke_tool": run}


def _shell(tool: Any, ask: Any) -> dict[str, Any]:
    stock = tool.executor

    def run(request: Any) -> Any:
        before = dataclasses.asdict(request.data.action)

        def body(given: dict[str, Any]) -> Any:
            if given == before:
                return stock(request)
            action = dataclasses.replace(request.data.action, **given)
            data = dataclasses.replace(request.data, action=action, raw=None)
            return stock(dataclasses.replace(request, data=data))

        return ask(dict(before), body)

    return {"executor": stock and run}


def _local_shell(tool: Any, ask: Any) -> dict[str, Any]:
    stock = tool.executor

    async def run(request: Any) -> Any:
        action = request.data.action

        def body(given: dict[str, Any]) -> Any:
            data = request.data.model_copy(update={"action": action.model_copy(update=given)})
            return stock(dataclasses.replace(request, data=data))

        try:
            return await ask(action.model_dump(exclude={"type"}), body)
        except NotDone as refused:  # this one action would not report it
            return str(refused)

    return {"executor": run}


def _patch(tool: Any, ask: Any) -> dict[str, Any]:
    editor, fields = tool.editor, ("type", "path", "diff", "move_to")

    async def run(operation: Any) -> Any:
        def body(given: dict[str, Any]) -> Any:
            changed = dataclasses.replace(operation, **given)
            return getattr(editor, changed.type)(changed)

        before = {name: getattr(operation, name) for name in fields if hasattr(operation, name)}
        try:
            return await ask(before, body)
        except NotDone as refused:  # the other operations of this call continue
            return {"status": "failed", "output": str(refused)}

    return {"editor": View(editor, create_file=run, update_file=run, delete_file=run)}


def _hook_computers(gate: Gate, action_class: Any) -> None:
    """Hook the actions of a computer tool. After an action, the model gets a screenshot. A
    replacement answer is sent as a separate message after a blank screenshot."""
    items, stock = module("items"), gate.patches.look_for(action_class, "execute").__func__
    for name in ("_execute_action_and_capture", "_iter_actions"):
        gate.patches.look_for(action_class, name)

    @functools.wraps(stock)
    async def execute(own: Any, *, agent: Any, action: Any, **rest: Any) -> Any:
        texts: list[str] = []

        async def act(computer: Any, tool_call: Any) -> str:
            ask = functools.partial(_ask, gate, action.computer_tool, agent, tool_call, None)
            picture, text = await _touched(own, computer, tool_call, ask)
            texts.extend(text)
            return picture

        given = View(own, _execute_action_and_capture=act)
        item = await stock(given, agent=agent, action=action, **rest)
        if texts:
            item.output = Told(texts[0])
        return item

    def hooked(stock_all: Any) -> Any:
        @functools.wraps(stock_all)
        async def execute_all(**given: Any) -> list[Any]:
            found = []
            for item in await stock_all(**given):
                found.append(item)
                if isinstance(item.output, Told):
                    said = {"role": "user", "content": str(item.output)}
                    found.append(items.ToolCallOutputItem(item.agent, said, item.output))
            return found

        return execute_all

    _replace(gate, action_class, execute)
    home = module("run_internal.tool_execution")
    gate.patches.wrap_function(home, "execute_computer_actions", hooked)


async def _touched(own: Any, computer: Any, tool_call: Any, ask: Any) -> tuple[str, list[str]]:
    """Return the screenshot after a computer action, and any additional message."""
    pictures: list[str] = []

    async def body(given: dict[str, Any]) -> str:
        changed = tool_call.model_copy(update={**given, "action": None})
        pictures.append(await own._execute_action_and_capture(computer, changed))
        return pictures[-1]

    actions = [
        each if isinstance(each, dict) else each.model_dump(exclude_none=True)
        for each in own._iter_actions(tool_call)
    ]
    try:
        found = await ask({"actions": actions}, body)
    except NotDone as refused:
        return _BLANK, [str(refused)]
    is_stock = bool(pictures) and found is pictures[-1]
    return (found, []) if is_stock or _is_picture(found) else (_BLANK, [str(found)])


def _is_picture(value: Any) -> bool:
    try:
        return base64.b64decode(value, validate=True).startswith((b"\x89PNG", b"\xff\xd8"))
    except (TypeError, ValueError):
        return False
