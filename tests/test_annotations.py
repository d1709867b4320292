"""Annotations that name their own class, a later one, or an import for type checkers only.

From Python 3.14 on they are evaluated when somebody reads them, so this module must not import
them from `__future__`.
"""

import asyncio
import dataclasses
import inspect
import subprocess
import sys
import textwrap
import typing

import attrs
import cloudpickle
import pytest

from hookbus import (
    Ask,
    Block,
    Bus,
    HookBlocked,
    HookError,
    Replace,
    events,
    explain,
    hook_overrides,
    hookable,
    hookspec,
    instrument,
    load_plugins,
    modes,
    receives,
    report,
)  # fmt: skip
from hookbus._ground.signatures import signature_of
from hookbus.approvals import Approved
from hookbus.guards import together
from hookbus.journal import Journal, replay

if sys.version_info < (3, 14):
    pytest.skip("annotations are evaluated at once before 3.14", allow_module_level=True)

if typing.TYPE_CHECKING:
    from somewhere import Missing

bus = Bus()


class Agent:
    """Hookables of every kind."""

    @hookable(bus=bus)
    def say(self: Agent, msg: Missing, *more: Later, to: list[Later] | None = None) -> Agent:
        return msg

    @hookable(bus=bus)
    async def ask(self, msg: Missing, *, to: Missing.inner[Later] = None) -> Agent | Missing:
        return msg

    @hookable(bus=bus)
    def stream(self, msg: Later) -> typing.Iterator[Missing]:
        yield msg

    @hookable(bus=bus)
    async def feed(self, msg: Later) -> typing.AsyncIterator[Missing]:
        yield msg

    @hookable(bus=bus)
    @classmethod
    def made(cls, msg: Later) -> typing.Self | Agent:
        return msg

    @staticmethod
    @hookable(bus=bus)
    def plain(msg: Missing) -> Later:
        return msg


@hookable(bus=bus, sender="bank", labels=["amount"], identity=lambda bank: "bank")
def pay(bank: Later, amount: Missing) -> Later:
    return amount


@hookable(bus=bus)
def choose(mode: typing.Literal["fast", "safe"], limit: Missing = None) -> Later:
    return mode


@hook_overrides
class Base:
    @hookable(bus=bus)
    def work(self, msg: Base | Missing) -> Later:
        return msg


class Derived(Base):
    def work(self, msg: Derived | Missing) -> Later:
        return msg + "!"


@attrs.define
class Slotted:
    other: Slotted | Missing = None

    @hookable(bus=bus)
    def reply(self, msg: Slotted) -> Missing:
        return msg


@dataclasses.dataclass
class Plain:
    other: Plain | None = None

    @hookable(bus=bus)
    def answer(self, msg: Plain | Missing) -> Missing:
        return msg


class Foreign:
    def run(self, msg: Missing, other: Foreign = None) -> Later:
        return msg


class Later:
    pass


def calls():
    """Yield what each kind of hookable returns for "hi", and the name of its hook."""
    agent = Agent()

    async def feed():
        return [item async for item in agent.feed("hi")]

    yield "say", lambda: agent.say("hi")
    yield "ask", lambda: asyncio.run(agent.ask("hi"))
    yield "stream", lambda: "".join(agent.stream("hi"))
    yield "feed", lambda: "".join(asyncio.run(feed()))
    yield "made", lambda: Agent.made("hi")
    yield "plain", lambda: Agent.plain("hi")
    yield "reply", lambda: Slotted().reply("hi")
    yield "answer", lambda: Plain().answer("hi")
    yield "choose", lambda: choose("hi")
    yield "work", lambda: Base().work("hi")


CALLS = dict(calls())


@pytest.mark.parametrize("hook", CALLS)
def test_every_kind_of_hookable_is_made_called_and_guarded(hook):
    assert CALLS[hook]() == "hi"
    argument = "mode" if hook == "choose" else "msg"

    def louder(sender: Missing, ctx: Later) -> Missing:
        return {argument: "HI"}

    def guard(sender: Missing, ctx: Later) -> Block | Missing:
        return Block("no") if ctx.kwargs[argument] != "HI" else None

    def after(sender: Later, result: Missing) -> Missing:
        return None

    with (
        bus.signal(f"pre_{hook}").connected_to(guard, role="guard"),
        bus.signal(f"post_{hook}").connected_to(after, role="observe"),
    ):
        with pytest.raises(HookBlocked, match="no"):
            CALLS[hook]()
        with bus.signal(f"pre_{hook}").connected_to(louder):
            assert CALLS[hook]() == "HI"


def test_a_hookable_has_the_annotations_of_the_bare_function():
    bare = Agent.say.__wrapped__
    assert Agent.say.__annotate__ is bare.__annotate__
    with pytest.raises(NameError, match="Missing"):
        inspect.signature(Agent.say)
    parameters = signature_of(Agent.say).parameters
    assert parameters["self"].annotation is Agent and parameters["more"].annotation is Later
    assert parameters["msg"].annotation.__forward_arg__ == "Missing"


def test_every_kind_of_receiver_may_name_what_is_not_there():
    heard, agent = [], Agent()

    def before(sender: Agent, msg: Missing, to: Later = None) -> dict[str, Missing]:
        return {"msg": msg + "1"}

    def around(sender: Agent, call_next: Missing, msg: Later) -> Missing:
        return call_next() + "2"

    def after(sender: Agent, result: Missing) -> Missing:
        return result + "3"

    def rescue(sender: Agent, error: Missing) -> Replace | Missing:
        return None

    def finally_(sender: Agent, ctx: Missing) -> None:
        heard.append(ctx.outcome)

    def item(sender: Agent, item: Missing) -> Missing:
        return item + "4"

    def only_short(msg: Missing) -> bool:
        return len(msg) < 5

    def listener(bus: Missing, event: Later) -> None:
        heard.append(event.hook)

    with (
        bus.signal("pre_say").connected_to(before, when=only_short),
        bus.signal("around_say").connected_to(around),
        bus.signal("post_say").connected_to(after),
        bus.signal("error_say").connected_to(rescue),
        bus.signal("finally_say").connected_to(finally_),
        bus.signal("item_stream").connected_to(item),
        bus.events.connected_to(listener, kinds=(events.Finished,)),
    ):
        assert agent.say("hi") == "hi123" and agent.say("hello") == "hello23"
        assert list(agent.stream("hi")) == ["hi4"]
        assert "around" in str(explain(agent.say)) and "rescue" in str(report(bus))
    assert heard == ["returned", "say", "returned", "say", "stream"]


def test_mistakes_are_still_found_by_name():
    def asks(sender: Missing, mesage: Later) -> None: ...

    def no_sender() -> Missing: ...

    with pytest.raises(HookError, match="did you mean 'msg'"):
        bus.signal("pre_say").connect(asks)
    with pytest.raises(HookError, match="has no parameter for the sender"):
        bus.signal("pre_say").connect(no_sender)
    with bus.signal("pre_choose").connected_to(lambda sender: None, when={"mode": "fsat"}):
        assert "can never match" in str(report(bus))
    with bus.signal("pre_choose").connected_to(lambda sender: None, when={"mode": "fa*"}):
        assert "can never match" not in str(report(bus))


def test_overrides_senders_approvals_and_what_is_instrumented():
    assert Derived().work("hi") == "hi!" and pay(Later(), 5) == 5
    undo = instrument(Foreign, {"run": "run_foreign"}, bus=bus)

    def guard(sender: Missing, msg: Missing = None, amount: Missing = None) -> Block | Missing:
        return Block("no")

    def asks(sender: Missing, amount: Later) -> Ask | Missing:
        return Ask("sure?", bind=())

    def approver(request: Missing) -> Approved | Missing:
        return Approved("ada")

    try:
        for name, call in {
            "run_foreign": lambda: Foreign().run("hi"), "work": lambda: Derived().work("hi"),
        }.items():  # fmt: skip
            with bus.signal(f"pre_{name}").connected_to(guard, role="guard"):
                with pytest.raises(HookBlocked):
                    call()
        bus.approver(approver)
        with bus.signal("pre_pay").connected_to(asks, role="guard"):
            assert pay(Later(), 5) == 5
    finally:
        bus.approver(None)
        undo()


def test_questions_their_answers_and_modes_may_name_what_is_not_there():
    own = Bus()

    def longest(answers: Missing) -> Later:
        return max(answers, key=len)

    @hookspec(longest, bus=own)
    def name_of(message: Missing, limit: Later = 3) -> Missing:
        """What is it called?"""

    @hookspec(modes.merge(names=rule), bus=own)
    def names_of(message: Missing) -> Later:
        """What is it called?"""

    class Plugin:
        @receives("name_of")
        def short(self: Plugin, message: Missing) -> Missing:
            return message[:1]

        @receives("name_of")
        def long(self, message: Missing, limit: Later) -> Plugin:
            return message[:limit]

        @receives("names_of")
        def names(self, message: Missing) -> dict[str, Missing]:
            return {"names": message}

    own.register(Plugin())
    assert name_of("hello") == "hel" and names_of("hello") == {"names": "hello"}


def rule(before: Missing, after: Later) -> Missing:
    return after


def test_a_plugin_and_guards_side_by_side_may_name_what_is_not_there(tmp_path):
    home = tmp_path / "plugins" / "stamp"
    home.mkdir(parents=True)
    (home / "hookbus-plugin.toml").write_text(
        'format = 1\nid = "stamp"\nversion = "1.0"\nhooks = ["pre_say"]\n'
    )
    (home / "plugin.py").write_text(textwrap.dedent("""
        def stamp(agent: Missing, msg: Later) -> Missing:
            return {"msg": msg + "+"}

        def register(api: Missing) -> Later:
            api.connect("pre_say", stamp)

        class Later: ...
    """))

    def one(sender: Missing, msg: Later) -> Block | Missing:
        return Block("one") if msg == "stop+" else None

    def two(sender: Missing, ctx: Later) -> Block | Missing:
        return None

    with load_plugins(bus, user=str(tmp_path / "plugins")) as plugins:
        unregister = bus.register(together(one, two, hook="say"))
        assert [row.status for row in plugins.rows()] == ["loaded"]
        assert Agent().say("hi") == "hi+"
        with pytest.raises(HookBlocked, match="one"):
            Agent().say("stop")
        unregister()


def test_guards_of_a_replay_may_name_what_is_not_there(tmp_path):
    own = Bus(values=True)

    class Teller:
        @hookable("pay", bus=own)
        def pay(self: Teller, amount: Missing) -> Later:
            return amount

    def modest(teller: Missing, amount: Later) -> Block | Missing:
        return Block("much") if amount > 1 else None

    def only_odd(amount: Missing) -> bool:
        return amount % 2

    with Journal(tmp_path / "journal.db") as journal:
        journal.attach(own)
        for amount in range(4):
            Teller().pay(amount)
        own.signal("pre_pay").connect(modest, role="guard", when=only_odd)
        found = replay(journal, own)
    assert [each.arguments["amount"] for each in found.differences] == [3]


def test_a_hookable_with_such_annotations_is_shipped_by_value():
    source = textwrap.dedent("""
        from hookbus import hookable

        class Shipped:
            @hookable
            def say(self, msg: Later, other: list[Shipped] = None) -> Shipped:
                return msg

        class Later: ...
    """)
    namespace = {"__name__": "__main__"}
    exec(source, namespace)
    load = "import sys, pickle; print(pickle.load(sys.stdin.buffer)().say('hi'))"
    done = subprocess.run(
        [sys.executable, "-c", load], input=cloudpickle.dumps(namespace["Shipped"]),
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == b"hi\n"


class Broken:
    """Annotations that raise something else than a NameError."""

    def divides(self, msg: 1 / 0) -> Missing: ...
    def adds(self, msg: "Broken" | None) -> Missing: ...
    def looks(self, msg: asyncio.missing) -> Missing: ...


@pytest.mark.parametrize("name", ["divides", "adds", "looks"])
def test_an_annotation_that_cannot_be_evaluated_at_all_is_nobodys_failure(name):
    function = vars(Broken)[name]
    assert list(signature_of(function).parameters) == ["self", "msg"]
    own = Bus()
    shell = hookable(name, bus=own)(function)
    own.signal(f"pre_{name}").connect(lambda sender, msg: Block(msg), role="guard")
    with pytest.raises(HookBlocked, match="hello"):
        shell(Broken(), "hello")


def test_what_has_no_signature_to_read_is_still_refused():
    with pytest.raises(TypeError):
        signature_of(5)
    with pytest.raises(ValueError, match="no signature"):
        signature_of(dict)
