"""Advice never affects a call, even if its package cannot be loaded."""

import asyncio
import sys

import pytest

from hookbus import Block, Bus, HookBlocked, hookable


@pytest.fixture(autouse=True, params=[ImportError, OSError, RecursionError, AttributeError])
def missing(request, monkeypatch):
    """The package cannot be loaded, for example because no file descriptor is left."""

    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name.startswith("hookbus._advice"):
                raise request.param("out of order")

    for name in [name for name in sys.modules if name.startswith("hookbus._advice")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def search(bus):
    @hookable("search", bus=bus)
    def search(options):
        return dict(options)

    return search


def test_an_observer_that_misuses_hookbus_does_not_affect_the_call(bus, search):
    @bus.signal("pre_search").connect_via(role="observe")
    def look(search, ctx):
        ctx.kwargs["options"] = {}

    assert search({"limit": 3}) == {"limit": 3}


def test_a_guard_that_raises_a_refusal_blocks(bus, search):
    @bus.signal("pre_search").connect_via(role="guard")
    def refuse(search):
        raise PermissionError("secret")

    with pytest.raises(HookBlocked, match="guard failed: PermissionError"):
        search({})


def test_a_guard_that_raises_something_that_is_not_an_exception_blocks(bus, search):
    @bus.signal("pre_search").connect_via(role="guard")
    def refuse(search):
        raise "no"

    with pytest.raises(HookBlocked, match="guard failed: TypeError"):
        search({})


def test_a_result_that_is_replaced_by_a_bool_is_replaced(bus, search):
    bus.signal("post_search").connect(lambda search, result: False)
    assert search({"limit": 3}) is False


def test_an_around_that_drops_a_key_drops_it(bus, search):
    @bus.signal("around_search").connect_via()
    def around(search, call_next):
        return call_next(options={"page": 2})

    assert search({"limit": 3}) == {"page": 2}


def test_a_modifier_that_replaces_a_dict_replaces_it(bus, search):
    bus.signal("pre_search").connect(lambda search: {"options": {"page": 2}})
    assert search({"limit": 3}) == {"page": 2}


@pytest.mark.parametrize("role", ["guard", "modify"])
def test_a_plain_receiver_of_an_async_hook_is_called(bus, role):
    @hookable(bus=bus)
    async def fetch(address):
        return address

    called = []
    bus.signal("pre_fetch").connect(lambda fetch: called.append(1), role=role)
    assert asyncio.run(fetch("here")) == "here"
    assert called == [1]


def test_a_plain_guard_of_an_async_hook_blocks(bus):
    @hookable(bus=bus)
    async def fetch(address):
        return address

    bus.signal("pre_fetch").connect(lambda fetch: Block("no"), role="guard")
    with pytest.raises(HookBlocked, match="no"):
        asyncio.run(fetch("here"))
