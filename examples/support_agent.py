"""A support agent on a SQL database: it may read the database, and a person approves each payment.

A modifier lowers a refund that is higher than the payment.

    python examples/support_agent.py     # answer y or n; no answer in time is a denial

`plan` replaces a model. Replace it with your own function, which gets the customer's message and
the results so far.
"""

import asyncio
import sqlite3

from hookbus import Block, HookBlocked, default_bus, hookable, signal

MOST_CENTS = 5000


class SupportAgent:
    def __init__(self, database):
        self.database = database

    @hookable("tool_call")
    async def call_tool(self, name, arguments, tool):
        return tool(self, **arguments)

    def orders(self, customer: str):
        wanted = "select id, cents from orders where customer = ?"
        return self.database.execute(wanted, (customer,)).fetchall()

    def refund(self, order: int, cents: int):
        update = "update orders set refunded = refunded + ? where id = ?"
        self.database.execute(update, (cents, order))
        return f"refunded {cents / 100:.2f} for order {order}"

    async def answer(self, message, plan):
        results = []
        while (call := plan(message, results)) is not None:
            try:
                results.append(await self.call_tool(*call, TOOLS[call[0]]))
            except HookBlocked as blocked:
                results.append(f"refused: {blocked.reason}")
        return results


# The schema for policies in Cedar is made from the signatures of the tools.
TOOLS = {"orders": SupportAgent.orders, "refund": SupportAgent.refund}


@signal("pre_tool_call").connect_via(SupportAgent, when={"name": "refund"}, on_error="block")
def never_more_than_paid(agent, arguments):
    open_cents = "select cents - refunded from orders where id = ?"
    [paid] = agent.database.execute(open_cents, (arguments["order"],)).fetchone()
    return {"arguments": {**arguments, "cents": min(arguments["cents"], paid)}}


@signal("pre_tool_call").connect_via(SupportAgent, role="guard", timeout=60.0)
def a_person_approves(agent, name, arguments):
    if name != "refund":
        return None
    # A plain `def` with a deadline waits in a separate thread.
    if not 0 < arguments["cents"] <= MOST_CENTS:
        return Block(f"{arguments['cents']} cents are not between 1 and {MOST_CENTS}")
    try:
        question = f"refund {arguments['cents'] / 100:.2f} for order {arguments['order']}? [y/n] "
        is_approved = input(question).strip().lower() == "y"
    except EOFError:
        is_approved = False
    return None if is_approved else Block("denied by a person")


def plan(message, results):
    """Look up the customer's orders, then refund each of them, the first one ten times too high."""
    if not results:
        return "orders", {"customer": message.split()[-1]}
    orders = results[0][len(results) - 1 :]
    if orders:
        times = 10 if len(results) == 1 else 1
        return "refund", {"order": orders[0][0], "cents": orders[0][1] * times}
    return None


if __name__ == "__main__":
    default_bus.require_guard("tool_call")  # no guard, no agent
    database = sqlite3.connect(":memory:")
    columns = "id integer primary key, customer text, cents integer, refunded integer default 0"
    database.execute(f"create table orders ({columns})")
    orders = [("ada", 900), ("ada", 1250), ("bob", 80), ("ada", 99900)]
    database.executemany("insert into orders (customer, cents) values (?, ?)", orders)
    agent = SupportAgent(database)
    for line in asyncio.run(agent.answer("please refund everything for ada", plan)):
        print(line)
    database.close()
