"""Whether a receiver has its turn: `when=` and `once=`; and that each has it once."""

import weakref

import pytest

from hookbus import Block, HookBlocked, Replace, hookable

# -- when, once ------------------------------------------------------------------------------------


def test_when_is_judged_at_the_receivers_turn_on_the_arguments_as_they_are(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: {"msg": "bash -c ls"}, priority=1)
    bus.signal("pre_reply").connect(
        lambda a: Block("no shell"), role="guard", when={"msg": "bash*"}
    )
    with pytest.raises(HookBlocked, match="no shell"):
        agent.reply("echo")


def test_a_glob_is_of_the_whole_text(bus, agent):
    bus.signal("pre_reply").connect(lambda a: Block("no"), role="guard", when={"msg": "rm"})
    for text in ("rmdir", "rm -r", "a rm", "rm\n"):
        assert agent.reply(text) == f"re: {text}"
    with pytest.raises(HookBlocked):
        agent.reply("rm")


def test_when_takes_a_predicate_and_compares_globs_by_their_text(bus, agent, ran):
    bus.signal("pre_reply").connect(
        lambda a: ran.append("predicate"), when=lambda msg: msg == "a", name="p", role="observe"
    )
    bus.signal("pre_reply").connect(
        lambda a: ran.append("glob"), when={"temperature": "0.*"}, name="g", role="observe"
    )
    agent.reply("a"), agent.reply("b", temperature=1)
    assert ran == ["predicate", "glob", ("body", "a"), ("body", "b")]


def test_a_guard_whose_when_fails_blocks(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: None, role="guard", when=lambda msg: 1 / 0)
    with pytest.raises(HookBlocked, match="ZeroDivisionError"):
        agent.reply("a")


def test_many_modifiers_that_ask_for_different_things_each_get_theirs(bus, agent, ran):
    def asks(number):
        def message(a, msg):
            return {"msg": f"{msg}{number}"}

        def context(a, ctx):
            ctx.kwargs["msg"] += f"{number}"

        def temperature(a, *, temperature):
            return {"temperature": temperature + 1}

        def everything(a, **named):
            return {"msg": f"{named['msg']}{number}"}

        return message, context, temperature, everything

    for number in range(5):
        for receiver in asks(number):
            bus.signal("pre_reply").connect(receiver)
    bus.signal("pre_reply").connect(lambda a, temperature: ran.append(temperature), role="observe")
    assert agent.reply("") == "re: 000111222333444" and ran[0] == 5.7


def test_of_many_modifiers_none_is_asked_once_one_has_decided(bus, agent, ran):
    def numbered(number):
        def receiver(a, msg):
            ran.append(number)
            return Replace("decided") if number == 3 else None

        return receiver

    for number in range(20):
        bus.signal("pre_reply").connect(numbered(number))
    bus.signal("pre_reply").connect(lambda a, ctx: ran.append("later"))
    assert agent.reply("a") == "decided" and ran == [0, 1, 2, 3]


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_of_many_methods_of_the_agent_each_is_asked_and_none_keeps_it_alive(bus, ran, role):
    def numbered(number):
        return lambda self, agent, msg: ran.append((number, self is agent, msg))

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg): ...

    looks = {f"look_{number}": numbered(number) for number in range(20)}
    agent = type("Watched", (Agent,), looks)()
    for name in looks:
        bus.signal("pre_reply").connect(getattr(agent, name), agent, role=role)
    agent.reply("hi")
    assert ran == [(number, True, "hi") for number in range(20)]
    gone = weakref.ref(agent)
    del agent
    assert gone() is None


def test_an_async_when_is_a_failure_of_its_receiver(bus, agent, ran):
    async def when(msg):
        return False

    bus.signal("pre_reply").connect(lambda a: {"msg": "changed"}, when=when)
    assert agent.reply("a") == "re: a"
    bus.signal("pre_reply").connect(lambda a: None, role="guard", when=when)
    with pytest.raises(HookBlocked, match="guard failed"):
        agent.reply("b")
    assert ran == [("body", "a")]


def test_a_guard_that_is_not_asked_says_nothing(bus, agent):
    bus.signal("pre_reply").connect(lambda a, msg: {"msg": msg.upper()})
    for role in ("guard", "observe"):
        bus.signal("pre_reply").connect(lambda a: Block("no"), role=role, when={"msg": "other"})
    assert agent.reply("a") == "re: A"


# -- exactly once ----------------------------------------------------------------------------------


def test_super_diamonds_recursion_and_explicit_parent_calls_fire_as_they_should(bus, ran):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self, n):
            return [n, *(self.reply(n - 1) if n else [])]

    class Left(Base):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return super().reply(n)

    class Right(Base):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return super().reply(n)

    class Diamond(Left, Right):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return super().reply(n)

    bus.signal("pre_reply").connect(lambda a, n: ran.append(n), role="observe")
    assert Diamond().reply(2) == [2, 1, 0] and ran == [2, 1, 0]
    ran.clear()
    assert (
        Base.reply(Diamond(), 0) == [0] and ran == []
    )  # of the MRO, the first hookable alone runs the hooks
    assert Right().reply(0) == [0] and ran == [0]


def test_hooks_of_one_name_on_two_attributes_are_two_hooks(bus, ran):
    class Agent:
        @hookable("act", bus=bus)
        def one(self):
            return self.two()

        @hookable("act", bus=bus)
        def two(self):
            return 2

    bus.signal("pre_act").connect(lambda a: ran.append(1), role="observe")
    assert Agent().one() == 2 and ran == [1, 1]
