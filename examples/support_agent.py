"""A support agent on a SQL database: it may read, it asks a person before it pays, and a wrong
argument is narrowed.

    python examples/support_agent.py     # answer y or n; no answer in time, or no terminal, is a no

`plan` stands where a model would: give it your own, which gets the customer's words and what the
tools have said so far.
"""

import asyncio
import sqlite3

from hookbus import Block, HookBlocked, default_bus, hookable, signal

MOST_CENTS = 5000


class SupportAgent:
    def __init__(self, database):
        self.database = database

    @hookable("tool")
    async def tool(self, name, arguments):
        return getattr(self, f"tool_{name}")(**arguments)

    def tool_orders(self, customer):
        wanted = "select id, cents from orders where customer = ?"
        return self.database.execute(wanted, (customer,)).fetchall()

    def tool_refund(self, order, cents):
        update = "update orders set refunded = refunded + ? where id = ?"
        self.database.execute(update, (cents, order))
        return f"refunded {cents / 100:.2f} for order {order}"

    async def answer(self, words, plan):
        said = []
        while (wish := plan(words, said)) is not None:
            try:
                said.append(await self.tool(*wish))
            except HookBlocked as blocked:
                said.append(f"refused: {blocked.reason}")
        return said


@signal("pre_tool").connect_via(SupportAgent, when={"name": "refund"}, on_error="block")
def never_more_than_paid(agent, arguments):
    open_cents = "select cents - refunded from orders where id = ?"
    [paid] = agent.database.execute(open_cents, (arguments["order"],)).fetchone()
    return {"arguments": {**arguments, "cents": min(arguments["cents"], paid)}}


@signal("pre_tool").connect_via(SupportAgent, role="guard", timeout=60.0)
def a_person_agrees(agent, name, arguments):
    if name != "refund":
        return None
    # A plain `def` with a deadline: it waits in a thread of its own.
    if not 0 < arguments["cents"] <= MOST_CENTS:
        return Block(f"{arguments['cents']} cents are not between 1 and {MOST_CENTS}")
    try:
        asked = f"refund {arguments['cents'] / 100:.2f} for order {arguments['order']}? [y/n] "
        agreed = input(asked).strip().lower() == "y"
    except EOFError:
        agreed = False
    return None if agreed else Block("a person said no")


def plan(words, said):
    """Look up the orders of whom the words name, then ask for a refund of each, ten times too high
    for the first."""
    if not said:
        return "orders", {"customer": words.split()[-1]}
    orders = said[0][len(said) - 1 :]
    if orders:
        times = 10 if len(said) == 1 else 1
        return "refund", {"order": orders[0][0], "cents": orders[0][1] * times}
    return None


if __name__ == "__main__":
    default_bus.require_guard("tool")  # no guard, no agent
    database = sqlite3.connect(":memory:")
    columns = "id integer primary key, customer text, cents integer, refunded integer default 0"
    database.execute(f"create table orders ({columns})")
    orders = [("ada", 900), ("ada", 1250), ("bob", 80), ("ada", 99900)]
    database.executemany("insert into orders (customer, cents) values (?, ?)", orders)
    agent = SupportAgent(database)
    for line in asyncio.run(agent.answer("please refund everything for ada", plan)):
        print(line)
    database.close()
