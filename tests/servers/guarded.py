"""The application of the servers: one tool with guards that have deadlines, as WSGI and as ASGI.

The query selects what the guards do. One allows (`agrees`), blocks (`refuses`) or is late: it
`sleeps`, or `holds` up everything where gevent was imported later. An async one blocks (`awaited`)
or is late (`awaited_late`). The response is one line: the result, or the reason of the block.
"""

import asyncio
import os
import time
from time import sleep as sleep_as_imported

from hookbus import Block, HookBlocked, hookable, signal

DEADLINE = 0.5
SLEEP = 20


@hookable("use_tool")
def use_tool(guard):
    return "the tool ran"


@hookable("use_awaited_tool", async_receivers=True)
def use_awaited_tool(guard):
    return "the tool ran"


@hookable("use_tool_async")
async def use_tool_async(guard):
    return "the tool ran"


def judge(sender, guard):
    if guard == "sleeps":
        time.sleep(SLEEP)
    if guard == "holds":
        sleep_as_imported(2 * DEADLINE)
    return Block("not today") if guard == "refuses" else None


async def judge_awaited(sender, guard):
    if guard == "awaited":
        await asyncio.sleep(0.01)
        return Block("not today, said after a wait")
    if guard == "awaited_late":
        await asyncio.sleep(SLEEP)
    return None


for hook in ("use_tool", "use_tool_async"):
    signal(f"pre_{hook}").connect(judge, role="guard", timeout=DEADLINE)
for hook in ("use_awaited_tool", "use_tool_async"):
    signal(f"pre_{hook}").connect(judge_awaited, role="guard", timeout=DEADLINE)


def run_tool(guard):
    tool = use_awaited_tool if guard.startswith("awaited") else use_tool
    return tool(guard)


if os.environ.get("CALL_AT_IMPORT"):
    use_tool("agrees")


def wsgi(environ, start_response):
    try:
        said = run_tool(environ["QUERY_STRING"])
    except HookBlocked as blocked:
        said = str(blocked)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{said}\n".encode()]


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    try:
        said = await use_tool_async(scope["query_string"].decode())
    except HookBlocked as blocked:
        said = str(blocked)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": f"{said}\n".encode()})
