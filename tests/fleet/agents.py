"""An agent for tests, with everything that a fleet can do."""

from hookbus import Ask, Block, Bus, guards, hookable
from hookbus.fleet import Fleet
from hookbus.journal import Journal


class Agent:
    """A bus with every guard that a fleet has, and a journal that it ships."""

    def __init__(self, url, schema, path, blind=60):
        self.bus = Bus()
        self.fleet = Fleet(url, schema=schema, program="payer", member=path.name, blind=blind)
        self.journal = Journal(path)
        self.journal.attach(self.bus)
        self.shipping = self.fleet.ship(self.journal)
        self.fleet.join(self.bus)
        self.bus.approver(self.fleet.approvals())
        self.bus.register(guards.rate_limit(5, per="tool", storage=self.fleet, hook="search"))
        self.bus.register(guards.budget(tokens=100, storage=self.fleet))

        @hookable("tool_call", bus=self.bus)
        def call(name, arguments):
            return "ran"

        @hookable(bus=self.bus)
        def search(name):
            return "found"

        @hookable("model_call", bus=self.bus)
        def model(model, messages, options):
            return {"usage": {"input_tokens": 1, "output_tokens": 9}}

        @hookable(bus=self.bus, identity=lambda sender: "the bank")
        def pay(number):
            return number

        @self.bus.signal("pre_tool_call").connect_via(role="guard")
        def check_locally(sender, name):
            return Block("not here", code="local") if name == "secret" else None

        @self.bus.signal("pre_pay").connect_via(role="guard")
        def check(sender, number):
            return Ask("pay?")

        self.call = lambda name="pay_bill": call(name, {})
        self.search = lambda: search("x")
        self.ask_model = lambda: model("gpt-4o", "", {"max_tokens": 9})
        self.pay = pay

    def close(self):
        self.fleet.close()
        self.journal.close()
