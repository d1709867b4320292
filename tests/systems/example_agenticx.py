"""Examples of hooks after AgenticX's documentation, with a scripted model: stock or on hookbus.

    .venv-systems/agenticx/bin/python -m tests.systems.example_agenticx stock
    .venv-systems/agenticx/bin/python -m tests.systems.example_agenticx hookbus

Both print the same. Nothing below `main` uses hookbus.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from typing import Any

from agenticx.hooks import llm_hooks, register_hook, tool_hooks
from agenticx.runtime.hooks import AgentHook, HookOutcome

from .agenticx_run import call, finish, made_agent, made_executor, made_runtime, note, run, turn


def core_hooks() -> None:
    """A hook before a call of a model, and one before a call of a tool; whoever runs calls asks
    them."""
    from agenticx.core import hooks

    def log_before_llm(ctx: Any) -> bool:
        print(f"  {ctx.agent_id} calls {ctx.model} with {len(ctx.messages)} messages")
        ctx.messages.append({"role": "system", "content": "be kind"})
        return True  # False blocks the call

    def no_shell(ctx: Any) -> bool:
        return ctx.tool_name not in {"run_terminal_cmd", "bash"}

    hooks.register_before_llm_call_hook(log_before_llm)
    hooks.register_before_tool_call_hook(no_shell)
    llm = hooks.LLMCallHookContext(
        "me", model="scripted", messages=[{"role": "user", "content": "hi"}]
    )
    print("core:", hooks.execute_before_llm_call_hooks(llm), llm.messages[-1]["content"])
    for name in ("ls", "bash"):
        print(
            "core:",
            name,
            hooks.execute_before_tool_call_hooks(hooks.ToolCallHookContext("me", tool_name=name)),
        )
    print("core:", hooks.get_registered_llm_hooks(), hooks.get_registered_tool_hooks())
    hooks.clear_all_llm_hooks()
    hooks.clear_all_tool_hooks()


def executor_hooks() -> None:
    """Global hooks and hooks of one agent, around the models and tools of an executor."""

    def log_llm_calls(context: Any) -> None:
        print(f"  LLM call by {context.agent_name}")

    def sanitize_response(context: Any) -> str | None:
        said = context.response
        return said.replace("SECRET", "[REDACTED]") if "SECRET" in said else None

    def block_dangerous_tools(context: Any) -> bool | None:
        if context.tool_name == "delete_database":
            print("  Blocked dangerous tool execution!")
            return False
        return None

    def log_tool_results(context: Any) -> None:
        print(f"  Tool {context.tool_name} returned: {context.tool_result[:100]}")

    def into_the_sandbox(context: Any) -> None:
        context.tool_input["path"] = f"/sandbox/{context.tool_input['path']}"

    llm_hooks.register_before_llm_call_hook(log_llm_calls)
    llm_hooks.register_after_llm_call_hook(sanitize_response)
    tool_hooks.register_before_tool_call_hook(block_dangerous_tools)
    tool_hooks.register_after_tool_call_hook(log_tool_results)
    answers = [
        call("read", path="notes.txt"),
        call("delete_database", path="db"),
        finish("the SECRET is out"),
    ]
    executor = made_executor(
        answers, read=lambda path: f"the text of {path}", delete_database=lambda path: "gone"
    )
    done = run(executor, made_agent(name="writer", tool_hooks={"before": [into_the_sandbox]}))
    print("executor:", done.success, done.result)
    for row in done.rows:
        print("  ", *row)
    for cleared in (llm_hooks.clear_all_llm_call_hooks(), tool_hooks.clear_all_tool_call_hooks()):
        print("executor:", cleared)


def events() -> None:
    """A handler on the bus that all layers share, by type and by action."""

    async def any_command(event: Any) -> None:
        print(f"  {event.type}:{event.action} of {event.agent_id}")

    async def start_alone(event: Any) -> None:
        print("  a session starts:", event.context["task_description"])

    register_hook("command", any_command)
    register_hook("session:start", start_alone)
    print("events:", run(made_executor([finish("done")])).result)


class DenyShellHook(AgentHook):
    """Denies the shell, as AgenticX's documentation has it; and a key."""

    async def before_tool_call(
        self, tool_name: str, arguments: dict[str, Any], session: Any
    ) -> HookOutcome | None:
        if tool_name in {"run_terminal_cmd", "bash"} or arguments.get("key") == "password":
            return HookOutcome(blocked=True, reason="Shell tools disabled")
        return None

    async def after_tool_call(self, tool_name: str, result: str, session: Any) -> str | None:
        return f"{result} (checked)"

    async def on_agent_end(self, final_text: str, session: Any) -> None:
        print("  the turn ends with", final_text)


def runtime_hooks() -> None:
    """A class of hooks in a runtime."""
    runtime = made_runtime([note("plan", "rest"), note("password", "1234"), "bye"])
    runtime.hooks.register(DenyShellHook(), priority=100)
    done = turn(runtime)
    for row in done.rows:
        print("runtime:", *row)
    print("runtime:", done.notes)


def main() -> None:
    if sys.argv[1:] == ["hookbus"]:
        from hookbus.adapters import agenticx

        agenticx.install()
    elif sys.argv[1:] != ["stock"]:
        sys.exit(__doc__)
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home  # a runtime keeps things there
        core_hooks()
        executor_hooks()
        events()
        runtime_hooks()


if __name__ == "__main__":
    main()
