"""An agent and an MCP server: a guard runs at the server, and a redactor at the client.

Install it with `pip install 'hookbus[mcp]'`. A script replaces the model, so you need no API key.
"""

import asyncio

from mcp import Client
from mcp.server import MCPServer

from hookbus import Block, adapters, signal

ACCOUNTS = {"ann": "DE02120300000000202051"}
server = MCPServer("bank")


@server.tool()
def account_of(name: str) -> dict[str, str]:
    """Look up a person's account."""
    return {"name": name, "account": ACCOUNTS[name]}


@server.tool()
def transfer(amount: int, to: str) -> str:
    """Transfer money."""
    return f"transferred {amount} to {to}"


@signal("pre_tool_call").connect_via(role="guard", when={"name": "transfer", "kind": "function"})
def small_amounts_only(tool, arguments):
    return Block("more than 100 needs a person") if arguments["amount"] > 100 else None


@signal("post_tool_call").connect_via(on_error="block", when={"name": "account_of", "kind": "mcp"})
def no_account_numbers(session, result):
    return {**result, "account": "<account>"}


@signal("finally_tool_call").connect_via()
def audit(sender, kind, name, arguments, ctx):
    print(f"audit, {kind}: {name}({arguments}) {ctx.outcome}")


def scripted(messages, tools):
    """Replace a model: return a tool call or an answer."""
    calls = [("account_of", {"name": "ann"}), ("transfer", {"amount": 500, "to": "ann"})]
    return calls[len(messages) - 1] if len(messages) <= len(calls) else "I could not."


async def main(model):
    messages = ["Send Ann 500."]
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        while not isinstance(answer := model(messages, tools), str):
            result = await client.call_tool(*answer)
            messages.append(result.content[0].text)
            print(f"tool, error={result.is_error}: {messages[-1]}")
    print(answer)


if __name__ == "__main__":
    adapters.mcp.install()
    asyncio.run(main(scripted))  # with a key: a function that calls your provider's model

# It prints:
# audit, function: account_of({'name': 'ann'}) returned
# audit, mcp: account_of({'name': 'ann'}) returned
# tool, error=False: {"name": "ann", "account": "<account>"}
# audit, function: transfer({'amount': 500, 'to': 'ann'}) blocked
# audit, mcp: transfer({'amount': 500, 'to': 'ann'}) returned
# tool, error=True: Error: the call was blocked by small_amounts_only: more than 100 needs a person
# I could not.
