"""What @hookable and instrument make of every kind of callable."""

import abc
import dataclasses
import functools
import gc
import inspect
import pickle
import subprocess
import sys
import textwrap
import weakref
from typing import Protocol

import attrs
import cloudpickle
import pydantic
import pytest

from hookbus import (
    ANY,
    Block,
    Bus,
    HookBlocked,
    HookError,
    default_bus,
    explain,
    hookable,
    instrument,
    report,
)
from hookbus.exceptions import HookWarning


@pytest.fixture
def bus():
    return Bus()


class Pickled:
    @hookable("pickled_reply")
    def reply(self, msg):
        return msg


@hookable("pickled_function")
def pickled_function(x):
    return x


def hooked_kinds(bus):
    class Agent:
        @hookable(bus=bus)
        def plain(self, msg, *, loud=False):
            "Say it."
            return (msg, loud)

        @hookable(bus=bus)
        async def coroutine(self, msg, *, loud=False):
            return (msg, loud)

        @hookable(bus=bus)
        def generator(self, msg, *, loud=False):
            yield (msg, loud)

        @hookable(bus=bus)
        async def async_generator(self, msg, *, loud=False):
            yield (msg, loud)

    return Agent


async def outcome_of(call):
    if inspect.isawaitable(call):
        return await call
    if inspect.isasyncgen(call):
        return [item async for item in call][0]
    return list(call)[0] if inspect.isgenerator(call) else call


@pytest.mark.parametrize("kind", ["plain", "coroutine", "generator", "async_generator"])
@pytest.mark.parametrize("listening", [False, True])
async def test_a_hooked_function_does_what_the_bare_one_does(bus, kind, listening):
    agent = hooked_kinds(bus)()
    if listening:
        bus.signal(f"post_{kind}").connect(lambda agent: None, role="observe")
        bus.signal(f"pre_{kind}").connect(lambda agent: None)
    assert await outcome_of(getattr(agent, kind)("hi", loud=True)) == ("hi", True)
    assert await outcome_of(getattr(agent, kind)(msg="hi")) == ("hi", False)


@pytest.mark.parametrize("listening", [False, True])
def test_a_hooked_function_looks_like_the_bare_one(bus, listening):
    agent_class = hooked_kinds(bus)
    if listening:
        bus.events.connect(lambda bus, event: None)
    colours = [
        ("plain", (False, False, False)), ("coroutine", (True, False, False)),
        ("generator", (False, True, False)), ("async_generator", (False, False, True)),
    ]  # fmt: skip
    for name, expected in colours:
        function = getattr(agent_class, name)
        said = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
        assert tuple(ask(function) for ask in said) == expected
        assert str(inspect.signature(function)) == "(self, msg, *, loud=False)"
        assert str(inspect.signature(getattr(agent_class(), name))) == "(msg, *, loud=False)"
        assert function.__name__ == name and function.__module__ == __name__
        assert function.__qualname__ == f"hooked_kinds.<locals>.Agent.{name}"
    assert agent_class.plain.__doc__ == "Say it."
    assert "Say it." in inspect.getsource(agent_class.plain)
    assert inspect.isfunction(agent_class.plain)


@pytest.mark.parametrize("kind", ["plain", "coroutine", "generator", "async_generator"])
@pytest.mark.parametrize("listening", [False, True])
def test_a_wrong_call_raises_at_the_call_with_the_bare_message(bus, kind, listening):
    agent_class = hooked_kinds(bus)
    if listening:
        bus.signal(f"pre_{kind}").connect(lambda agent: None)
    bare = getattr(agent_class, kind).__wrapped__
    for args, kwargs in [((), {}), (("a", "b"), {}), (("a",), {"quiet": 1}), (("a",), {"msg": 1})]:
        with pytest.raises(TypeError) as expected:
            bare(agent_class(), *args, **kwargs)
        with pytest.raises(TypeError) as got:
            getattr(agent_class(), kind)(*args, **kwargs)
        assert str(got.value) == str(expected.value)


def test_bare_and_named_decoration_and_the_owner_of_a_hook(bus):
    class Agent:
        @hookable("answer", bus=bus)
        def reply(self):
            return 1

        @hookable(bus=bus)
        def act(self):
            return 2

    seen = []
    bus.signal("pre_answer").connect(lambda agent: seen.append("answer"), role="observe")
    bus.signal("pre_act").connect(lambda agent: seen.append("act"), role="observe")
    Agent().reply(), Agent().act()
    assert seen == ["answer", "act"]


def test_the_sender_is_the_instance_the_class_or_the_function(bus):
    class Agent:
        @hookable("under", bus=bus)
        @classmethod
        def above_classmethod(cls, x):
            return cls, x

        @classmethod
        @hookable("over", bus=bus)
        def below_classmethod(cls, x):
            return cls, x

        @staticmethod
        @hookable("static", bus=bus)
        def static(x):
            return x

        @hookable("static_above", bus=bus)
        @staticmethod
        def static_above(x):
            return x

        @hookable("method", bus=bus)
        def method(this, x):
            return x

    @hookable("function", bus=bus)
    def function(x):
        return x

    class Child(Agent):
        pass

    senders = {}
    for name in ("under", "over", "static", "static_above", "method", "function"):
        bus.signal(f"pre_{name}").connect(
            lambda sender, name=name: senders.__setitem__(name, sender), role="observe"
        )
    child = Child()
    assert Child.above_classmethod(1) == (Child, 1)
    assert child.below_classmethod(2) == (Child, 2)
    assert (Agent.static(3), child.static_above(child), child.method(5), function(6)) == (
        3, child, 5, 6,
    )  # fmt: skip
    assert senders == {
        "under": Child, "over": Child, "static": Agent.static, "static_above": Agent.static_above,
        "method": child,
        "function": function,
    }  # fmt: skip


def test_class_made_by_dataclass_attrs_pydantic_abc_and_protocol(bus):
    class Base(abc.ABC):
        @hookable("reply", bus=bus)
        @abc.abstractmethod
        def reply(self, msg): ...

    class Spoken(Protocol):
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return "protocol " + msg

    class Concrete(Base):
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return "abc " + msg

    class Implements(Spoken):
        pass

    @dataclasses.dataclass
    class Data:
        name: str = "dataclass"

        @hookable("reply", bus=bus)
        def reply(self, msg):
            return f"{self.name} {msg}"

    @attrs.define
    class Slotted(Data):
        name: str = "attrs"

        @hookable("reply", bus=bus)
        def reply(self, msg):
            return super().reply(msg)

    class Model(pydantic.BaseModel):
        name: str = "pydantic"

        @hookable("reply", bus=bus)
        def reply(self, msg):
            return f"{self.name} {msg}"

    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg.upper()})
    with pytest.raises(TypeError, match="abstract"):
        Base()
    made = [cls() for cls in (Concrete, Implements, Data, Slotted, Model)]
    assert [agent.reply("hi") for agent in made] == [
        "abc HI", "protocol HI", "dataclass HI", "attrs HI", "pydantic HI",
    ]  # fmt: skip


def test_a_mixin_brings_its_hook(bus):
    class Mixin:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    class Agent(Mixin):
        pass

    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": "mixed"}, sender=Agent)
    assert (Agent().reply("hi"), Mixin().reply("hi")) == ("mixed", "hi")


def test_decorating_twice_is_one_hook_and_two_names_are_refused(bus):
    @hookable("x", bus=bus)
    @hookable("x", bus=bus)
    def once(a):
        return a

    count = []
    bus.signal("pre_x").connect(lambda f: count.append(1), role="observe")
    once(1)
    assert count == [1]
    with pytest.raises(HookError, match="already hookable as 'x'"):
        hookable("y", bus=bus)(once)


@pytest.mark.parametrize("thing", [property(lambda self: 1), int, len, 3, "text".upper])
def test_what_is_not_a_function_is_refused(thing):
    with pytest.raises(HookError, match="hookable cannot take"):
        hookable("x")(thing)


@pytest.mark.parametrize("name", ["not-a-name", "", "1st", "a b"])
def test_a_hook_name_must_be_an_identifier(name):
    with pytest.raises(HookError, match="identifier"):
        hookable(name)(lambda x: x)


def test_a_decorator_that_hides_that_a_method_is_async_is_warned_of():
    import functools

    async def inner(x):
        return x

    @functools.wraps(inner)
    def outer(x):
        return inner(x)

    with pytest.warns(HookWarning, match="is async below a decorator, but sync above it: put"):
        hookable("hidden", bus=Bus())(outer)


def says(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def says_nothing(function):
    return lambda *args: function(*args)


BELOW = {
    "wraps": says, "says nothing": says_nothing, "lru_cache": functools.lru_cache,
    "partialmethod": functools.partialmethod,
    "property": property, "cached_property": functools.cached_property,
}  # fmt: skip


@pytest.mark.parametrize("scope", ["Agent", "agent"])
@pytest.mark.parametrize("below", BELOW)
def test_a_method_below_another_decorator_is_guarded_for_its_class_and_its_instances(
    bus, below, scope
):
    class Agent:
        @BELOW[below]
        @hookable("reply", bus=bus)
        def reply(self):
            return "body"

    class Special(Agent):
        pass

    def reply(agent):
        return agent.reply if "property" in below else agent.reply()

    for agent in (Agent(), Special()):
        sender = Agent if scope == "Agent" else agent
        with (
            bus.signal("pre_reply").connected_to(lambda agent: Block("no"), sender, role="guard"),
            pytest.raises(HookBlocked),
        ):
            reply(agent)
        assert reply(agent) == "body"


def test_a_method_below_another_decorator_is_hooked_once_though_it_calls_super(bus):
    asked = []

    class Agent:
        @says
        @hookable("reply", bus=bus)
        def reply(self):
            return "body"

    class Special(Agent):
        @says
        @hookable("reply", bus=bus)
        def reply(self):
            return super().reply()

    bus.signal("pre_reply").connect(
        lambda agent: asked.append(type(agent)), sender=Agent, role="guard", name="ask"
    )
    for _ in range(20):
        Special().reply()
    assert asked == [Special] * 20
    assert "not hooked" not in str(report(bus))
    assert [row.receiver for row in explain(Special.reply)] == ["ask"]


def test_a_staticmethod_below_another_decorator_stays_a_function(bus):
    senders = []

    class Agent:
        @staticmethod
        @says_nothing
        @hookable("reply", bus=bus)
        def reply(of):
            return of

    bus.signal("pre_reply").connect(
        lambda sender: senders.append(type(sender).__name__), role="observe", name="note"
    )
    Agent.reply(Agent())
    assert senders == ["function"]


def test_functions_pickle_by_name_and_default_signals_too():
    assert pickle.loads(pickle.dumps(pickled_function)) is pickled_function
    assert pickle.loads(pickle.dumps(Pickled().reply))("x") == "x"
    assert pickle.loads(pickle.dumps(default_bus)) is default_bus
    assert pickle.loads(
        pickle.dumps(default_bus.signal("pre_pickled_reply"))
    ) is default_bus.signal("pre_pickled_reply")
    with pytest.raises(HookError, match="only default_bus"):
        pickle.dumps(Bus())


def test_a_class_shipped_by_value_is_guarded_where_it_wakes_up():
    script = textwrap.dedent("""
        import sys, cloudpickle
        from hookbus import Block, HookBlocked, signal
        signal("pre_shipped").connect(lambda agent, msg: Block("no"), role="guard")
        agent = cloudpickle.loads(bytes.fromhex(sys.argv[1]))()
        try:
            agent.reply("hi")
        except HookBlocked as error:
            print(error.reason)
    """)
    # A class that lives in no importable module is what cloudpickle ships by value.
    scope = {"hookable": hookable, "__name__": "__main__"}
    exec(
        'class Agent:\n    @hookable("shipped")\n    def reply(self, msg):\n        return msg\n',
        scope,
    )
    shipped = cloudpickle.dumps(scope["Agent"]).hex()
    ran = subprocess.run(
        [sys.executable, "-c", script, shipped], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("no\n", "")


@pytest.mark.parametrize("connected", ["Agent", "agent"])
def test_a_class_shipped_while_it_is_guarded_is_guarded_where_it_wakes_up(connected):
    ship = textwrap.dedent("""
        import sys, cloudpickle
        from hookbus import hookable, signal
        class Agent:
            @hookable("shipped")
            def reply(self, msg):
                return msg
        agent = Agent()
        signal("pre_shipped").connect(lambda agent: None, sender=CONNECTED, role="guard")
        sys.stdout.buffer.write(cloudpickle.dumps(agent))
    """).replace("CONNECTED", connected)
    wake = textwrap.dedent("""
        import sys, cloudpickle
        from hookbus import Block, HookBlocked, signal
        agent = cloudpickle.load(sys.stdin.buffer)
        print(agent.reply("hi"))
        for sender in (type(agent), agent):
            no = lambda agent: Block("no")
            with signal("pre_shipped").connected_to(no, sender=sender, role="guard"):
                try:
                    agent.reply("hi")
                except HookBlocked as error:
                    print(error.reason)
    """)
    shipped = subprocess.run([sys.executable, "-c", ship], capture_output=True, timeout=60)
    ran = subprocess.run(
        [sys.executable, "-c", wake], input=shipped.stdout, capture_output=True, timeout=60
    )
    assert (ran.stdout.decode(), ran.stderr.decode()) == ("hi\nno\nno\n", "")


def test_class_receivers_hold_for_copies(bus):
    import copy

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    bus.signal("pre_reply").connect(lambda agent: Block("no"), sender=Agent, role="guard")
    for agent in (Agent(), copy.copy(Agent()), copy.deepcopy(Agent())):
        with pytest.raises(HookBlocked):
            agent.reply()


# -- instrument ------------------------------------------------------------------------------------


def foreign():
    class Foreign:
        def reply(self, msg):
            return msg

        @classmethod
        def make(cls, x):
            return cls, x

        @staticmethod
        def util(x):
            return x

        def _acting(self):
            return "acted"

        size = 3

    class Sub(Foreign):
        def reply(self, msg):
            return "sub " + msg

    return Foreign, Sub


def test_instrument_hooks_named_methods_and_undo_restores_every_attribute(bus):
    cls, _ = foreign()
    before = dict(vars(cls))
    undo = instrument(cls, "reply", "make", "util", {"_acting": "acting"}, bus=bus)
    fired = []
    for name in ("reply", "make", "util", "acting"):
        bus.signal(f"pre_{name}").connect(
            lambda sender, name=name: fired.append(name), role="observe"
        )
    assert (cls().reply("a"), cls.make(1), cls.util(2), cls()._acting()) == (
        "a", (cls, 1), 2, "acted",
    )  # fmt: skip
    assert fired == ["reply", "make", "util", "acting"]
    undo()
    undo()
    assert dict(vars(cls)) == before
    cls().reply("a")
    assert len(fired) == 4 and bus.hook_names() == []


def test_instrument_reaches_present_and_future_overrides(bus):
    cls, sub = foreign()
    before = dict(vars(cls)), dict(vars(sub))
    undo = instrument(cls, "reply", bus=bus, subclasses=True)

    class Later(sub):
        def reply(self, msg):
            return "later " + super().reply(msg)

    own = vars(Later)["reply"].__wrapped__
    fired = []
    bus.signal("pre_reply").connect(
        lambda agent, msg: fired.append(type(agent).__name__), role="observe"
    )
    assert (sub().reply("a"), Later().reply("b"), cls().reply("c")) == ("sub a", "later sub b", "c")
    assert fired == ["Sub", "Later", "Foreign"]
    undo()
    assert (dict(vars(cls)), dict(vars(sub))) == before
    assert vars(Later)["reply"] is own


def test_instrument_leaves_overrides_alone_unless_asked(bus):
    cls, sub = foreign()
    before, fired = dict(vars(sub)), []
    instrument(cls, "reply", bus=bus)
    bus.signal("pre_reply").connect(lambda agent: fired.append(agent), role="observe")
    assert dict(vars(sub)) == before and sub().reply("a") == "sub a" and fired == []


def test_the_undo_of_instrument_leaves_what_was_hookable_and_what_others_put_in_front(bus):
    cls, _ = foreign()

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    fired, undo = [], instrument(cls, "reply", bus=bus)
    own, instrumented = vars(Agent)["reply"], cls.reply
    bus.signal("pre_reply").connect(lambda agent: fired.append(type(agent)), role="observe")
    cls.reply = lambda self, msg: "in front of " + instrumented(self, msg)
    instrument(Agent, "reply", bus=bus)()
    undo()
    assert vars(Agent)["reply"] is own and cls().reply("a") == "in front of a"
    assert Agent().reply("a") == "a" and fired == [Agent]


def test_instrument_keeps_an_init_subclass_of_the_class(bus):
    made = []

    class Base:
        def __init_subclass__(cls, *, tag, **kwargs):
            super().__init_subclass__(**kwargs)
            made.append((cls.__name__, tag))

        def reply(self):
            return 1

    before = dict(vars(Base))
    undo = instrument(Base, "reply", bus=bus, subclasses=True)

    class Child(Base, tag="x"):
        def reply(self):
            return 2

    assert made == [("Child", "x")]
    assert hasattr(vars(Child)["reply"], "__hookbus__")
    undo()
    assert dict(vars(Base)) == before


def test_instrumenting_what_is_inherited_hooks_only_this_class(bus):
    cls, _ = foreign()

    class Heir(cls):
        pass

    undo = instrument(Heir, "_acting", bus=bus)
    fired = []
    bus.signal("pre__acting").connect(lambda agent: fired.append(type(agent)), role="observe")
    Heir()._acting(), cls()._acting()
    assert fired == [Heir]
    undo()
    assert "_acting" not in vars(Heir)


@pytest.mark.parametrize(
    ("cls", "methods", "says"),
    [
        (foreign()[0], ["replay"], "does not exist; did you mean 'reply'"),
        (foreign()[0], ["size"], "is a int, not a function"),
        (foreign()[0], [], "names no method"),
        (foreign()[0], [{"reply": "not a name"}], "identifier"),
        (dict, ["get"], "not a function written in Python"),
        ("text", ["get"], "takes a class"),
    ],
)
def test_instrument_refuses_what_it_cannot_hook_and_changes_nothing(bus, cls, methods, says):
    before = dict(vars(cls)) if isinstance(cls, type) else None
    good = ["reply"] if before and "reply" in before and methods else []
    with pytest.raises(HookError, match=says):
        instrument(cls, *good, *methods, bus=bus)
    assert before is None or dict(vars(cls)) == before
    assert bus.hook_names() == []


def test_an_override_that_is_not_hooked_is_reported_and_a_guard_on_it_warns(bus):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    class Bypass(Base):
        def reply(self):
            return self.model.reply()

    class Passes(Base):
        def reply(self):
            return super().reply()

    class Explicit(Base):
        def reply(self):
            return Base.reply(self)

    with pytest.warns(HookWarning, match="does not guard all of") as warned:
        bus.signal("pre_reply").connect(lambda agent: None, sender=Base, role="guard")
    assert {warning.filename for warning in warned} == {__file__}
    said = " ".join(str(report(bus)).split())
    assert "Bypass.reply, which overrides a hookable: no receiver sees it" in said
    for name in ("Passes", "Explicit"):
        seen = "receivers see only what it passes to super()"
        assert f"{name}.reply, which overrides a hookable: {seen}" in said


def test_a_modifier_that_blocks_warns_of_overrides_even_after_an_equal_one_that_does_not(bus):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    class Bypass(Base):
        def reply(self):
            return 2

    signal = bus.signal("pre_reply")
    signal.connect(lambda agent: None, sender=Base)
    with pytest.warns(HookWarning, match="does not guard all of .*Bypass.reply"):
        signal.connect(lambda agent: None, sender=Base, on_error="block")
    assert Bypass().reply() == 2


def test_an_override_that_only_says_it_wraps_its_parents_method_is_reported_as_any_other(bus):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    class Pretends(Base):
        @functools.wraps(Base.reply)
        def reply(self):
            return 2

    class Alias(Base):
        reply = Base.reply

    with pytest.warns(HookWarning, match="does not guard all of .*Pretends.reply"):
        bus.signal("pre_reply").connect(lambda agent: None, sender=Base, role="guard")
    assert "Pretends.reply, which overrides a hookable" in str(report(bus)) and "Alias" not in str(
        report(bus)
    )


def test_a_guard_on_a_covered_class_does_not_warn(bus, recwarn):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    bus.signal("pre_reply").connect(lambda agent: None, sender=Base, role="guard")
    bus.signal("pre_reply").connect(lambda agent: None, sender=ANY, role="guard", name="other")
    assert not recwarn.list


def test_a_class_whose_method_uses_super_is_collected_though_its_calls_were_hooked():
    bus, alive = Bus(), []

    def work():
        class Agent:
            @hookable("reply", bus=bus)
            def reply(self):
                super()
                return 1

        agent = Agent()
        bus.signal("pre_reply").connect(lambda agent: None, sender=Agent)
        bus.signal("post_reply").connect(lambda agent: None, sender=agent)
        for _ in range(20):
            agent.reply()
        alive.append(weakref.ref(Agent))

    work()
    gc.collect()
    assert alive[0]() is None


@pytest.mark.parametrize("scope", ["anyone", "its class", "the object"])
def test_what_is_held_of_an_undone_method_is_a_plain_passage_whoever_listens(bus, scope):
    ran = []

    class Agent:
        def reply(self):
            return 1

    agent = Agent()
    undo = instrument(Agent, "reply", bus=bus)
    held = Agent.reply
    sender = {"anyone": ANY, "its class": Agent, "the object": agent}[scope]
    bus.signal("pre_reply").connect(lambda agent: ran.append(1), sender=sender)
    held(agent)
    undo()
    assert held(agent) == agent.reply() == 1
    assert ran == [1]


@pytest.mark.parametrize("listens", [False, True])
def test_the_locals_of_a_method_are_its_own(bus, listens):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return locals()

        @hookable("more", bus=bus)
        def more(self, msg):
            super()
            return {name for name in locals() if name != "__class__"}

    if listens:
        bus.signal("pre_reply").connect(lambda agent: None, sender=Agent)
        bus.signal("pre_more").connect(lambda agent: None, sender=Agent)
    agent = Agent()
    for _ in range(20):
        assert agent.reply("hi") == {"self": agent, "msg": "hi"}
        assert agent.more("hi") == {"self", "msg"}


def test_an_override_on_another_bus_leaves_the_hooks_of_its_parent_alone(bus):
    other, seen = Bus(), []

    class Base:
        @hookable("reply", bus=bus)
        def reply(self):
            return "base"

    class Child(Base):
        @hookable("reply", bus=other)
        def reply(self):
            return super().reply()

    bus.signal("pre_reply").connect(lambda agent: seen.append("base"), sender=Base)
    other.signal("pre_reply").connect(lambda agent: seen.append("child"))
    assert Child().reply() == "base" and seen == ["child", "base"]


def test_a_hookable_is_on_one_bus(bus):
    reply = hookable("reply", bus=bus)(lambda agent: None)
    assert hookable("reply", bus=bus)(reply) is reply
    with pytest.raises(HookError, match="already hookable"):
        hookable("reply", bus=Bus())(reply)
