"""What `instrument` makes hookable of others' modules, of classes whose subclasses have the method,
and of functions that return what is to be awaited or entered.
"""

import asyncio
import sys
import types
from contextlib import asynccontextmanager

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, explain, instrument
from hookbus._instrument.instrument import instrument_with
from hookbus.testing import record


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def library(monkeypatch):
    """A module of others, and one that has imported from it by name."""
    module, user = types.ModuleType("library"), types.ModuleType("user")
    exec("def pay(amount): return amount\nasync def ask(text): return text", vars(module))
    module.limit = 3
    user.transfer = module.pay
    for each in (module, user):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    return module, user


def test_a_function_of_a_module_is_hooked_wherever_it_was_imported_by_name(bus, library):
    module, user = library
    stock = module.pay
    undo = instrument(module, "pay", bus=bus)
    late = module.pay
    bus.signal("pre_pay").connect(lambda function, amount: {"amount": 2 * amount})
    assert [module.pay(1), user.transfer(1), late(1)] == [2, 2, 2]
    user.imported_since = module.pay
    undo()
    assert module.pay is user.transfer is user.imported_since is stock
    assert [module.pay(1), late(1)] == [1, 1]


def test_guards_of_a_function_of_a_module_block_it_plain_or_async(bus, library):
    module, user = library
    instrument(module, {"pay": "payment"}, "ask", bus=bus)
    for name in ("payment", "ask"):
        bus.signal(f"pre_{name}").connect(lambda function: Block("no"), role="guard")
    with pytest.raises(HookBlocked, match="payment was blocked"):
        user.transfer(1)
    with pytest.raises(HookBlocked, match="ask was blocked"):
        asyncio.run(module.ask("hi"))


@pytest.mark.parametrize(
    "name, says",
    [
        ("pya", "library.pya does not exist; did you mean 'pay'?"),
        ("limit", "library.limit is a int, not a function written in Python"),
    ],
)
def test_what_a_module_has_not_is_refused_and_nothing_has_changed(bus, library, name, says):
    module, _ = library
    stock = module.pay
    with pytest.raises(HookError, match=says.replace("?", r"\?")):
        instrument(module, "pay", name, bus=bus)
    assert module.pay is stock and bus.hook_names() == []


class Model:
    pass


class Streaming(Model):
    def stream(self, text):
        yield from text


def test_a_method_that_only_subclasses_have_is_hooked_in_those_that_are_and_will_be(bus):
    undo = instrument(Model, "stream", bus=bus, subclasses=True)

    class Later(Model):
        def stream(self, text):
            yield text

    heard = []
    bus.signal("pre_stream").connect_via(Model, role="observe")(
        lambda model, text: heard.append(type(model).__name__)
    )
    assert [*Streaming().stream("ab"), *Later().stream("c")] == ["a", "b", "c"]
    undo()
    assert heard == ["Streaming", "Later"] and not hasattr(Model, "stream")


def test_a_method_that_nobody_has_is_refused_with_the_name_that_was_meant(bus):
    with pytest.raises(HookError, match="steram does not exist, nor in any existing .* did you"):
        instrument(Streaming, "steram", bus=bus, subclasses=True)


class Client:
    def __init__(self):
        self.told = []

    def ask(self, text):
        async def answer():
            return f"re: {text}"

        return answer()

    @asynccontextmanager
    async def open(self, text):
        self.told.append("entered")
        try:
            yield text
        except ValueError:
            self.told.append("swallowed")
        finally:
            self.told.append("left")

    def plain(self):
        return 1

    async def coroutine(self):
        return 1


@pytest.fixture
def client(bus):
    undo = instrument_with(Client, "ask", "open", "plain", bus=bus, kind="async")
    yield Client()
    undo()


async def entered(client, text):
    async with client.open(text) as value:
        client.told.append(value)
        return value


def test_what_returns_something_to_await_has_async_receivers_and_a_result(bus, client):
    @bus.signal("pre_ask").connect_via(Client, role="guard")
    async def guard(client, text):
        return Block("no") if text == "rm" else None

    bus.signal("post_ask").connect(lambda client, result: result.upper())
    assert asyncio.run(awaited(client.ask("hi"))) == "RE: HI"
    with pytest.raises(HookBlocked, match="ask was blocked by .*guard: no"):
        asyncio.run(awaited(client.ask("rm")))
    assert [row.receiver.rpartition(".")[2] for row in explain(client.ask)][0] == "guard"


async def awaited(value):
    return await value


def test_what_returns_a_context_manager_is_entered_by_the_hooked_call_and_left_once(bus, client):
    bus.signal("pre_open").connect(lambda client, text: {"text": f"{text}!"})
    bus.signal("post_open").connect(lambda client, result: result.upper())
    with record(bus) as fired:
        assert asyncio.run(entered(client, "hi")) == "HI!"
    assert client.told == ["entered", "HI!", "left"] and fired.count("open") == 1


@pytest.mark.parametrize("phase, told", [("pre", []), ("post", ["entered", "left"])])
def test_a_guard_that_blocks_leaves_nothing_entered(bus, client, phase, told):
    bus.signal(f"{phase}_open").connect(lambda client: Block("no"), role="guard")
    with pytest.raises(HookBlocked):
        asyncio.run(entered(client, "hi"))
    assert client.told == told


def test_what_the_block_raises_goes_to_the_context_manager_alone(bus, client):
    bus.signal("error_open").connect(lambda client: client.told.append("heard"), role="observe")

    async def broken():
        async with client.open("hi"):
            raise ValueError

    asyncio.run(broken())
    assert client.told == ["entered", "swallowed", "left"]


def test_a_wrong_kind_of_function_is_an_error(bus, client):
    with pytest.raises(HookError, match="Client.plain returned a int, which cannot be awaited"):
        asyncio.run(awaited(client.plain()))
    with pytest.raises(HookError, match="Client.coroutine is already async: leave out kind="):
        instrument_with(Client, "coroutine", bus=bus, kind="async")
    with pytest.raises(HookError, match="kind='sync' must be 'async'"):
        instrument_with(Client, "plain", bus=bus, kind="sync")


@pytest.mark.parametrize("option", ["kind", "above", "colour"])
def test_the_options_for_adapters_are_not_options_of_instrument(bus, option):
    with pytest.raises(HookError, match=f"^'{option}' is not an option; available: .*subclasses"):
        instrument(Client, "plain", bus=bus, **{option: "async"})
    assert not hasattr(Client.plain, "__hookbus__")


def test_what_cannot_be_hooked_is_said_with_its_class_and_nothing_is(bus):
    class Frozen(type):
        def __setattr__(cls, name, value):
            raise TypeError("it is frozen")

    class Bank(metaclass=Frozen):
        def pay(self, amount):
            return amount

    with pytest.raises(HookError, match="Bank.pay cannot be set: it is frozen"):
        instrument(Bank, "pay", bus=bus)
    with pytest.raises(HookError, match="the hook's name for .*Bank.pay must be an identifier"):
        instrument(Bank, {"pay": "no name"}, bus=bus)
    assert bus.hook_names() == [] and Bank().pay(1) == 1
