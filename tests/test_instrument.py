"""What `instrument` makes hookable of others' modules, of classes whose subclasses have the method,
and of functions that return what is to be awaited or entered.
"""

import asyncio
import sys
import types

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, instrument


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
    def plain(self):
        return 1


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
