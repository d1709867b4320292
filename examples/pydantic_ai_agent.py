"""A Pydantic AI agent with two tools, a guard, a redactor and an audit.

Install it with `pip install 'hookbus[pydantic-ai]'`. A script replaces the model, so you need no
API key.
"""

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from hookbus import Block, adapters, signal

ACCOUNTS = {"ann": "DE02120300000000202051"}

script = iter([
    ToolCallPart("account_of", {"name": "ann"}),
    ToolCallPart("transfer", {"amount": 500, "to": "ann"}),
    TextPart("I could not."),
])  # fmt: skip
model = FunctionModel(lambda messages, info: ModelResponse([next(script)]))
# With a key, write agent = Agent("openai:gpt-5")
agent = Agent(model)


@agent.tool_plain
def account_of(name: str) -> str:
    """Look up a person's account."""
    return f"{name}: {ACCOUNTS[name]}"


@agent.tool_plain
def transfer(amount: int, to: str) -> str:
    """Transfer money."""
    return f"transferred {amount} to {to}"


@signal("pre_tool_call").connect_via(role="guard", when={"name": "transfer"})
def small_amounts_only(tool, arguments):
    return Block("more than 100 needs a person") if arguments["amount"] > 100 else None


@signal("post_tool_call").connect_via(on_error="block")
def no_account_numbers(tool, result):
    for number in ACCOUNTS.values():
        result = result.replace(number, "<account>")
    return result


@signal("finally_tool_call").connect_via()
def audit(tool, name, arguments, ctx):
    print(f"audit: {name}({arguments}) {ctx.outcome}")


if __name__ == "__main__":
    adapters.pydantic_ai.install()
    for message in agent.run_sync("Send Ann 500.").all_messages():
        for part in message.parts:
            if part.part_kind != "tool-call":
                print(f"{part.part_kind}: {part.content}")

# It prints:
# audit: account_of({'name': 'ann'}) returned
# audit: transfer({'amount': 500, 'to': 'ann'}) blocked
# user-prompt: Send Ann 500.
# tool-return: ann: <account>
# tool-return: Error: the call was blocked by small_amounts_only: more than 100 needs a person
# text: I could not.
