"""Calls of tools that do not exist: a model requests one, and its framework answers. Such a call is
emitted, counted and denied like any other, with `kind="unknown"`.

If a framework has no separate place for this answer, the hooks run after it: nothing has run yet,
and the model would read the framework's answer.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import attrs

from hookbus import HookBlocked

from ._tools import Gate, ToolCall


def call_of(name: str, arguments: Any, call_id: str | None, sender: Any, agent: Any) -> ToolCall:
    """Return the call of a tool that does not exist; the model may not have written an object."""
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    given = dict(arguments) if isinstance(arguments, Mapping) else {"input": arguments}
    return ToolCall(name, given, call_id, "unknown", sender, agent)


async def give(value: Any) -> Any:
    return value


# -- Pydantic AI -----------------------------------------------------------------------------------


def hook_pydantic_ai(gate: Gate, manager: Any) -> None:
    exceptions = import_module("pydantic_ai.exceptions")

    def hooked(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def validate_tool_call(own: Any, call: Any, **options: Any) -> Any:
            if own.tools is None or call.tool_name in own.tools:
                return await stock(own, call, **options)
            agent = getattr(own.ctx, "agent", None)
            asked = call_of(call.tool_name, call.args, call.tool_call_id, own, agent)
            done: list[Any] = []

            async def body(arguments: dict[str, Any]) -> Any:
                done.append(await stock(own, call, **options))
                return str(done[-1].validation_error)

            try:
                told = await gate.run_async(asked, body)
            except exceptions.ToolFailed as failed:
                told, refused = str(failed), failed
            else:
                if done and told == str(done[-1].validation_error):
                    return done[-1]
                refused = exceptions.ToolFailed(str(told))
            if not options.get("wrap_validation_errors", True):
                raise refused
            found = done[-1] if done else await stock(own, call, **options)
            error = own._wrap_error_as_failed(call.tool_name, call, refused)
            return replace(found, validation_error=error)

        return validate_tool_call

    if hasattr(manager, "_wrap_error_as_failed"):  # older releases have no place for a denial
        gate.patches.wrap(manager, "validate_tool_call", hooked)


# -- Google's ADK ----------------------------------------------------------------------------------


def hook_google_adk(gate: Gate) -> None:
    try:
        home = import_module("google.adk.flows.llm_flows.tools._caller")
    except ModuleNotFoundError:  # older releases raise where they look
        return
    execute = gate.patches.look_for(home, "_execute_single_prepared_call")

    @functools.wraps(execute)
    async def _execute_single_prepared_call(
        context: Any, prepared: Any, agent: Any, **options: Any
    ) -> Any:
        if prepared.tool_lookup_error is None:
            return await execute(context, prepared, agent, **options)
        asked = prepared.function_call
        call = call_of(asked.name, asked.args or {}, asked.id, prepared.tool, agent)
        event: list[Any] = []

        async def body(arguments: dict[str, Any]) -> Any:
            event.append(await execute(context, prepared, agent, **options))
            return _response_of(event[-1]).response

        found = await gate.run_async(call, body)
        if not event:
            return home._build_response_event(
                prepared.tool, found, prepared.tool_context, context
            )
        _response_of(event[-1]).response = found
        return event[-1]

    gate.patches.wrap_function(
        home, "_execute_single_prepared_call", lambda stock: _execute_single_prepared_call
    )


def _response_of(event: Any) -> Any:
    return event.content.parts[0].function_response


# -- Agent Framework -------------------------------------------------------------------------------


def hook_agent_framework(gate: Gate) -> None:
    content = import_module("agent_framework").Content

    def hooked(stock: Any) -> Any:
        @functools.wraps(stock)
        async def _auto_invoke_function(
            function_call_content: Any, *args: Any, tool_map: Any, **more: Any
        ) -> Any:
            asked = function_call_content
            run = functools.partial(stock, asked, *args, tool_map=tool_map, **more)
            if asked.type != "function_call" or asked.name in tool_map:
                return await run()
            call = call_of(asked.name, asked.parse_arguments() or {}, asked.call_id, None, None)
            done: list[Any] = []

            async def body(arguments: dict[str, Any]) -> Any:
                done.append(await run())
                return done[-1].result

            call = _with_options(call)
            told = await gate.run_async(call, body)
            if done and told is done[-1].result:
                return done[-1]
            text = "\n".join(each.text or "" for each in told) if isinstance(told, list) else told
            return content.from_function_result(call_id=asked.call_id, result=text)

        return _auto_invoke_function

    gate.patches.wrap_function(
        import_module("agent_framework._tools"), "_auto_invoke_function", hooked
    )


def _with_options(call: ToolCall) -> ToolCall:
    return attrs.evolve(call, context=(None, {"skip_parsing": True}))


# -- LlamaIndex ------------------------------------------------------------------------------------


def hook_llama_index(gate: Gate) -> None:
    flows = import_module("llama_index.core.agent.workflow")

    def hooked(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def call_tool(flow: Any, ctx: Any, ev: Any) -> Any:
            found = await stock(flow, ctx, ev)
            output = getattr(found, "tool_output", None)
            text = f"Tool {ev.tool_name} not found. Please select a tool that is available."
            if output is None or not output.is_error or output.content != text:
                return found
            call = call_of(ev.tool_name, ev.tool_kwargs, ev.tool_id, flow, None)
            found.tool_output = await gate.run_async(call, lambda _: give(output))
            return found

        return call_tool

    for name in ("BaseWorkflowAgent", "AgentWorkflow"):
        gate.patches.wrap(gate.patches.look_for(flows, name), "call_tool", hooked)


# -- Haystack --------------------------------------------------------------------------------------


def hook_haystack(gate: Gate) -> None:
    home = import_module("haystack.components.agents.tool_calling")
    message = import_module("haystack.dataclasses").ChatMessage
    missing = gate.patches.look_for(home, "ToolNotFoundException")

    def ask(asked: Any, answer: Callable[[], Any]) -> Any:
        call = call_of(asked.tool_name, asked.arguments, asked.id, home, None)
        return gate.run(call, lambda _: answer())

    def hooked(stock: Any) -> Any:
        @functools.wraps(stock)
        def _resolve_tool_calls(messages: Any, tools_with_names: Any, **options: Any) -> Any:
            asked = [
                each for found in messages for each in found.tool_calls
                if each.tool_name not in tools_with_names
            ]  # fmt: skip

            def fail(error: Exception) -> Any:
                raise error

            try:
                calls, tools, errors = stock(messages, tools_with_names, **options)
            except missing as error:
                raised = error
                return ask(asked[0], lambda: fail(raised))
            told = []
            for each, answer in zip(asked, errors, strict=True):
                text = answer.tool_call_result.result
                try:
                    given = ask(each, functools.partial(str, text))
                except HookBlocked as blocked:
                    given = str(blocked)
                if given != text:
                    answer = message.from_tool(given, origin=each, error=True)
                told.append(answer)
            return calls, tools, told

        return _resolve_tool_calls

    gate.patches.wrap_function(home, "_resolve_tool_calls", hooked)
