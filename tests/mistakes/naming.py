"""Options of constructors: each has a name, and a wrong one is refused in the same way."""

from hookbus import Ask, Block, Bus, guards, hookable, instrument
from hookbus.approvals import Store
from hookbus.journal import Journal

from ._told import Topic

TOPIC = Topic("Options", {})


def made(row, make):
    TOPIC.mistake(row)(lambda bus, Agent: make(Agent) and None)


made("`Bus(timout=2.0)`", lambda Agent: Bus(timout=2.0))
made("`@hookable(guard=True)`", lambda Agent: hookable(guard=True))
made(
    '`instrument(Agent, "reply", subclases=True)`',
    lambda Agent: instrument(Agent, "reply", subclases=True),
)
made('`Block("a key", reslt="...")`', lambda Agent: Block("a key", reslt="..."))
made('`Block("a key", "...")`: the result by position', lambda Agent: Block("a key", "..."))
made('`Ask("pay?", cod="money")`', lambda Agent: Ask("pay?", cod="money"))
made("`guards.rate_limit(9, pr=60)`", lambda Agent: guards.rate_limit(9, pr=60))
made('`Journal("j.db", durabilty="full")`', lambda Agent: Journal("j.db", durabilty="full"))
made('`Store("approvals.db", expire=60)`', lambda Agent: Store("approvals.db", expire=60))


@TOPIC.mistake("`Bus(timeout=500)`: milliseconds")
def a_bus_that_waits_for_minutes(bus, Agent):
    Bus(timeout=500)
