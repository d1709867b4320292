"""Mistakes that only the author can recognize: hookbus reports nothing."""

from contextlib import suppress

from hookbus import Block, HookBlocked, hookable, receives

from ._told import Topic

TOPIC = Topic("What hookbus cannot detect", {})


@TOPIC.mistake("a guard whose condition is wrong")
def a_condition_that_is_wrong(bus, Agent):
    def no_keys(agent, msg):
        return Block("a key") if msg == "KEY" else None

    bus.signal("pre_reply").connect(no_keys, sender=Agent, role="guard")
    return lambda: Agent().reply("my KEY")


@TOPIC.mistake("a call that bypasses the hookable")
def a_call_past_the_hook(bus, Agent):
    class Bank:
        @hookable(bus=bus)
        def pay(self, amount):
            return self._pay(amount)

        def _pay(self, amount):
            return amount

    bus.signal("pre_pay").connect(lambda bank: Block("no"), sender=Bank, role="guard")
    bank = Bank()
    with suppress(HookBlocked):
        bank.pay(1)
    return lambda: bank._pay(500)


@TOPIC.mistake("a module that is never imported, or an object that is never registered")
def a_plugin_that_is_never_plugged_in(bus, Agent):
    class Plugin:
        @receives("pre_reply", role="guard")
        def no_keys(self, agent): ...

    Plugin()
    return lambda: Agent().reply("KEY")
