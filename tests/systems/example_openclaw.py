"""The permission request from OpenClaw's documentation, in Python: `python -m
tests.systems.example_openclaw`.

The plugin asks before each deployment. An approval for production cannot be permanent.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hookbus import HookBlocked
from hookbus.adapters.openclaw import (
    GLOBAL_POLICY,
    ApprovalRequest,
    HookRunner,
    PluginApi,
    Registry,
    ToolCalls,
)  # fmt: skip


def register(api: PluginApi) -> None:
    async def ask(event: Any, ctx: Any) -> Any:
        if event["toolName"] != "deploy_service":
            return None
        environment = event["params"].get("environment")
        environment = environment if isinstance(environment, str) else "unknown"
        is_production = environment == "production"
        return {
            "requireApproval": {
                "title": "Deploy service",
                "description": f"Deploy service to {environment}.",
                "severity": "critical" if is_production else "warning",
                "allowedDecisions": ["allow-once", "deny"]
                if is_production
                else ["allow-once", "allow-always", "deny"],
                "timeoutMs": 120_000,
                "onResolution": lambda decision: print(f"deploy approval resolved: {decision}"),
            }
        }

    api.on("before_tool_call", ask)


async def approve(request: ApprovalRequest) -> str:
    print(
        f"[{request.severity}] {request.title}: {request.description} "
        f"{' | '.join(request.decisions)}"
    )
    return "allow-always"


async def main() -> None:
    registry = Registry()
    registry.load("deploy-policy", register)
    tools = {
        "deploy_service": lambda params: f"deployed to {params['environment']}",
        "read": lambda params: "read",
    }
    calls = ToolCalls(HookRunner(registry, failure_policy=GLOBAL_POLICY), tools, approve=approve)
    print(await calls.call("read", {}))
    for environment in ("staging", "production"):
        try:
            print(await calls.call("deploy_service", {"environment": environment}))
        except HookBlocked as blocked:
            print(f"blocked: {blocked.reason}")


if __name__ == "__main__":
    asyncio.run(main())
