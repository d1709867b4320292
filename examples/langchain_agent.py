"""A LangChain agent with two tools, a guard, a redactor and an audit.

Install it with `pip install 'hookbus[langchain]' langchain`. The scripted model needs no API key.
"""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from hookbus import Block, adapters, signal

ACCOUNTS = {"ann": "DE02120300000000202051"}


@tool
def account_of(name: str) -> str:
    """Look up a person's account."""
    return f"{name}: {ACCOUNTS[name]}"


@tool
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


class Scripted(GenericFakeChatModel):
    """Replaces a model. With an API key, write `model = ChatOpenAI(model="gpt-5")`."""

    def bind_tools(self, tools, **options):
        return self


def request(tool, **args):
    call = {"name": tool, "args": args, "id": tool, "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


look_up, pay = request("account_of", name="ann"), request("transfer", amount=500, to="ann")
model = Scripted(messages=iter([look_up, pay, AIMessage("I could not.")]))

if __name__ == "__main__":
    adapters.langchain.install()
    agent = create_agent(model, [account_of, transfer])
    for message in agent.invoke({"messages": ["Send Ann 500."]})["messages"]:
        if message.content:
            print(f"{message.type}: {message.content}")

# It prints:
# audit: account_of({'name': 'ann'}) returned
# audit: transfer({'amount': 500, 'to': 'ann'}) blocked
# human: Send Ann 500.
# tool: ann: <account>
# tool: Error: the call was blocked by small_amounts_only: more than 100 needs a person
# ai: I could not.
