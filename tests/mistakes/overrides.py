"""Overrides, `require_guard` and `require_guard=True`: mistakes that leave calls unguarded."""

from hookbus import Block, default_bus, hookable

from ._told import Topic

TOPIC = Topic("Overrides and required guards", {})


def no_keys(agent): ...


def connected(bus, sender, name="pre_reply", **options):
    return bus.signal(name).connect(no_keys, sender=sender, role="guard", **options)


@TOPIC.mistake("an override that does not call `super()`")
def an_override_that_nothing_sees(bus, Agent):
    class Child(Agent):
        def reply(self, msg): ...

    connected(bus, Child)


@TOPIC.mistake("an override that calls `super()`")
def an_override_that_adds(bus, Agent):
    class Child(Agent):
        def reply(self, msg):
            return super().reply(msg) + "!"

    connected(bus, Child)


@TOPIC.mistake("an override that calls `super()`, defined after the guard was connected")
def an_override_that_comes_later(bus, Agent):
    connected(bus, Agent)

    class Child(Agent):
        def reply(self, msg):
            return super().reply(msg) + "!"

    return lambda: Child().reply("hi")


@TOPIC.mistake('`require_guard("reply")`, and there is no guard')
def required_and_bare(bus, Agent):
    bus.require_guard("reply")


@TOPIC.mistake('`require_guard("replay")`: a typo')
def required_with_a_typo(bus, Agent):
    bus.require_guard("replay")


@TOPIC.mistake('`require_guard("tool_call")`, and no adapter is installed yet')
def required_before_it_is_declared(bus, Agent):
    bus.require_guard("tool_call")


@TOPIC.mistake('`require_guard`, and the guard lacks `role="guard"`')
def required_of_a_modifier(bus, Agent):
    def no_drops(agent, msg):
        return Block("no") if "drop" in msg else None

    bus.signal("pre_reply").connect(no_drops, sender=Agent)
    bus.require_guard("reply")


@TOPIC.mistake("`require_guard`, and the guard is on `default_bus`, the hook on another bus")
def required_of_another_bus(bus, Agent):
    default_bus.signal("pre_look_up").connect(no_keys, role="guard")

    @hookable(bus=bus)
    def look_up(msg): ...

    try:
        bus.require_guard("look_up")
    finally:
        default_bus.signal("pre_look_up").disconnect(no_keys)


@TOPIC.mistake("`require_guard`, and the guard is on a subclass only")
def required_of_a_subclass(bus, Agent):
    class Child(Agent): ...

    connected(bus, Child)
    bus.require_guard("reply")


@TOPIC.mistake("`require_guard`, and the guard has a `when=`")
def required_with_a_condition(bus, Agent):
    connected(bus, Agent, when={"msg": "*KEY*"})
    bus.require_guard("reply")


@TOPIC.mistake("`require_guard`, and the guard is on `post_reply`")
def required_after(bus, Agent):
    connected(bus, Agent, "post_reply")
    bus.require_guard("reply")


@TOPIC.mistake("`require_guard`, and the guard is in shadow mode")
def required_in_shadow(bus, Agent):
    connected(bus, Agent, shadow=True)
    bus.require_guard("reply")


@TOPIC.mistake("`require_guard`, and an override bypasses the guard")
def required_and_overridden(bus, Agent):
    connected(bus, Agent)

    class Child(Agent):
        def reply(self, msg): ...

    assert issubclass(Child, Agent)  # it lives
    bus.require_guard("reply")


@TOPIC.mistake("`require_guard=True`, and no guard is connected")
def guarded_by_nobody(bus, Agent):
    @hookable("pay", bus=bus, require_guard=True)
    def pay(amount): ...

    return lambda: pay(500)
