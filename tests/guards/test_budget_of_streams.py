"""guards.budget: what streamed answers of models cost."""

import asyncio
import itertools
from contextlib import aclosing, closing
from importlib import metadata

import pytest

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters._models import hook_models
from hookbus.adapters._patches import Patches
from hookbus.adapters._streams import Forms
from hookbus.adapters._tools import Gate
from hookbus.guards import budget

from .test_budget import Models


@pytest.fixture
def bus():
    return Bus()


class Streaming:
    """A model of a framework, which answers in parts: texts, and at the end what it used."""

    max_tokens = 50

    def __init__(self):
        self.parts, self.closed = ["a", "b", {"input_tokens": 10, "output_tokens": 5}], 0

    def ask(self, messages):
        try:
            for part in self.parts:
                if isinstance(part, Exception):
                    raise part
                yield part
        finally:
            self.closed += 1

    async def ask_async(self, messages):
        for part in self.ask(messages):
            yield part


def whole_of(parts):
    usage = [part for part in parts if isinstance(part, dict)]
    return {"text": "".join(part for part in parts if isinstance(part, str)),
            "usage": usage[-1] if usage else None}  # fmt: skip


@pytest.fixture(params=["sync", "async"])
def streaming(request, bus):
    """A function that reads a streamed answer, at most some of its parts, and its model."""
    words = {"ask": "model_stream", "ask_async": "model_stream"}
    model, is_async = Streaming(), request.param == "async"
    with Patches("pluggy", metadata.version("pluggy")) as patches:
        gate = Gate(patches, bus, words=("model_call", "model_stream"))
        hook_models(gate.vocabulary, Streaming, words, Forms(whole_of, lambda answer: [answer]))

    async def read_async(most):
        found = []
        async with aclosing(model.ask_async("")) as parts:
            async for part in parts:
                found.append(part)
                if len(found) == most:
                    break
        return found

    def read(most=100):
        if is_async:
            return asyncio.run(read_async(most))
        with closing(model.ask("")) as parts:
            return list(itertools.islice(parts, most))

    yield read, model
    patches.restore()


@pytest.fixture(params=["live", "held back"])
def used(request, bus):
    """A function that returns what a budget of 1,000 tokens has used of it."""
    spent = budget(tokens=1000)
    bus.register(spent)
    if request.param == "held back":  # until a guard has judged the answer as a whole
        bus.signal("post_model_call").connect(lambda sender, result: None, role="guard")

    def used():
        models = Models(bus, "sync")
        return 1000 - models.free()

    return used


def test_a_streamed_answer_costs_what_it_says_that_it_used(streaming, used):
    read, model = streaming
    assert len(read()) == 3 and model.closed == 1
    assert used() == 15


def test_a_streamed_answer_without_usage_costs_what_was_reserved(streaming, used):
    read, model = streaming
    model.parts = ["a", "b"]
    assert read() == ["a", "b"]
    assert used() == 51  # and the empty message is reckoned as one


def test_a_stream_that_breaks_off_costs_what_was_reserved(streaming, used):
    read, model = streaming
    model.parts[1:2] = [OSError("lost")]
    with pytest.raises(OSError, match="lost"):
        read()
    assert model.closed == 1 and used() == 51


def test_a_stream_that_its_reader_leaves_costs_what_was_reserved(streaming, bus):
    bus.register(budget(tokens=1000))
    read, model = streaming
    assert read(1) == ["a"] and model.closed == 1
    assert 1000 - Models(bus, "sync").free() == 51


def test_a_stream_that_a_guard_blocks_costs_nothing(streaming, used, bus):
    read, model = streaming
    with bus.signal("pre_model_call").connected_to(lambda model: Block("no"), role="guard"):
        with pytest.raises(HookBlocked, match="no"):
            read()
    assert model.closed == 0 and used() == 0


def test_a_stream_that_would_be_too_much_is_not_asked_for(streaming, bus):
    bus.register(budget(tokens=100))
    read, model = streaming
    model.parts = ["a"]
    read()
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        read()
    assert model.closed == 1
