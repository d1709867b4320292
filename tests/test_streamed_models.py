"""A streamed request to a model, without a framework: what leaves live, and what is held back."""

from importlib import metadata

import pytest

from hookbus import Block, Bus, HookBlocked, Replace
from hookbus.adapters._models import hook_models
from hookbus.adapters._patches import Patches
from hookbus.adapters._streams import Forms
from hookbus.adapters._tools import Gate
from hookbus.guards import budget, limit, no_loops, public_hosts
from hookbus.journal import Journal

MODEL = "model_call"


class Model:
    """Answers with the words of the messages, one by one; `made` has those that it was asked for.
    """

    max_tokens = 5

    def __init__(self):
        self.made = []

    def ask(self, messages):
        for part in messages.split():
            self.made.append(part)
            yield part

    async def ask_async(self, messages):
        for part in self.ask(messages):
            yield part


@pytest.fixture
def bus():
    bus, words = Bus(), {"ask": "model_stream", "ask_async": "model_stream"}
    with Patches("pluggy", metadata.version("pluggy")) as patches:
        gate = Gate(patches, bus, words=(MODEL, "model_stream"))
        hook_models(gate.vocabulary, Model, words, Forms(" ".join, str.split))
    yield bus
    patches.restore()


@pytest.fixture(params=["sync", "async"])
def first(request, bus):
    """A function that reads the first part of an answer, and returns what had been made by then."""

    async def read(model):
        if request.param == "sync":
            stream = model.ask("one two")
            next(stream)
            made = [*model.made]
            stream.close()
            return made
        parts = model.ask_async("one two")
        await anext(parts)
        made = [*model.made]
        await parts.aclose()
        return made

    return lambda: read(Model())


@pytest.mark.parametrize("guard", [
    lambda: budget(tokens=1000), lambda: limit(5, hook=MODEL), lambda: no_loops(hook=MODEL),
    lambda: public_hosts(hook=MODEL),
], ids=["budget", "limit", "no_loops", "public_hosts"])  # fmt: skip
async def test_guards_that_judge_the_request_let_the_answer_leave_live(bus, first, guard):
    bus.plug(guard())
    assert await first() == ["one"]


async def test_a_durable_journal_of_models_lets_the_answer_leave_live(bus, first, tmp_path):
    with Journal(tmp_path / "journal.db") as journal:
        journal.durable(MODEL, bus=bus)
        assert await first() == ["one"]
        types = [record.type for record in journal.records()]
        assert types == ["hookbus.intent", "hookbus.outcome"]


@pytest.mark.parametrize("role", ["guard", "modify"])
async def test_what_judges_the_answer_has_all_of_it_before_a_part_leaves(bus, first, role):
    bus.signal("post_model_call").connect(lambda sender: None, role=role)
    assert await first() == ["one", "two"]


async def test_an_around_of_the_program_has_all_of_it_before_a_part_leaves(bus, first):
    bus.signal("around_model_call").connect(lambda sender, call_next: call_next())
    assert await first() == ["one", "two"]


async def test_an_observer_gets_all_of_it_once_it_has_left_live(bus, first):
    seen = []
    bus.signal("post_model_call").connect(
        lambda sender, result: seen.append(result), role="observe"
    )
    assert await first() == ["one"] and seen == []
    assert [*Model().ask("one two")] == ["one", "two"] and seen == ["one two"]


def test_what_replaces_a_streamed_answer_is_made_of_parts_again(bus):
    model = Model()
    with bus.signal("pre_model_call").connected_to(lambda sender: Replace("not now")):
        assert [*model.ask("one two")] == ["not", "now"] and model.made == []
    with bus.signal("post_model_call").connected_to(lambda sender, result: result.upper()):
        assert [*model.ask("one two")] == ["ONE", "TWO"]


def test_a_blocked_answer_leaves_no_part_also_where_parts_are_looked_at(bus):
    seen, left = [], []
    bus.signal("item_model_stream").connect(lambda sender, item: seen.append(item))
    bus.signal("post_model_call").connect(lambda sender, result: Block("no"), role="guard")
    with pytest.raises(HookBlocked, match="no"):
        left.extend(Model().ask("one two"))
    assert seen == ["one", "two"] and left == []
