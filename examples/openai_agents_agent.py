"""Two agents of the OpenAI Agents SDK with a hand-off, a guard, a redactor and an audit.

Install it with `pip install 'hookbus[openai-agents]'`. Scripts replace the models, so you need no
API key.
"""

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from hookbus import Block, adapters, signal

ACCOUNTS = {"ann": "DE02120300000000202051"}


@function_tool
def account_of(name: str) -> str:
    """Look up a person's account."""
    return f"{name}: {ACCOUNTS[name]}"


@function_tool
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
def audit(tool, name, arguments, kind, ctx):
    print(f"audit: {kind} {name}({arguments}) {ctx.outcome}")


def request(tool, **args):
    return [function_call(tool, args, call_id=tool)]


# With a key, leave out `model=`, or write `model="gpt-5"`.
look_up, pay = request("account_of", name="ann"), request("transfer", amount=500, to="ann")
scripted = ScriptedModel([look_up, pay, [assistant_message("I could not.")]])
clerk = Agent("clerk", model=scripted, tools=[account_of, transfer])
boss = Agent("boss", model=ScriptedModel([request("transfer_to_clerk")]), handoffs=[clerk])

if __name__ == "__main__":
    set_tracing_disabled(True)
    adapters.openai_agents.install()
    result = Runner.run_sync(boss, "Send Ann 500.")
    for item in result.to_input_list():
        if "output" in item:
            print(f"tool: {item['output']}")
    print(f"{result.last_agent.name}: {result.final_output}")

# It prints:
# audit: handoff transfer_to_clerk({}) returned
# audit: function account_of({'name': 'ann'}) returned
# audit: function transfer({'amount': 500, 'to': 'ann'}) blocked
# tool: {"assistant": "clerk"}
# tool: ann: <account>
# tool: Error: the call was blocked by small_amounts_only: more than 100 needs a person
# clerk: I could not.
