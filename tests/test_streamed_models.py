"""A streamed request to a model, without a framework: what leaves live, and what is held back."""

from contextlib import suppress
from importlib import metadata

import pytest

from hookbus import Block, Bus, HookBlocked, Replace
from hookbus.adapters._asides import Aside, aside_of
from hookbus.adapters._models import hook_models
from hookbus.adapters._patches import Patches
from hookbus.adapters._streams import Forms
from hookbus.adapters._tools import Gate
from hookbus.guards import budget, no_loops, public_hosts, rate_limit
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
    lambda: budget(tokens=1000), lambda: rate_limit(5, hook=MODEL), lambda: no_loops(hook=MODEL),
    lambda: public_hosts(hook=MODEL),
], ids=["budget", "rate_limit", "no_loops", "public_hosts"])  # fmt: skip
async def test_guards_that_judge_the_request_let_the_answer_leave_live(bus, first, guard):
    bus.register(guard())
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


class Reports(Aside):
    """Reports go to the model's own listeners, which are a list here."""

    def report(self, each):
        self.model.listeners.append(each)

    def report_changed(self, each, answer):
        if each.startswith("whole"):
            self.report(f"whole {answer}")

    def report_failed(self, each, error):
        if each.startswith("whole"):
            self.report(f"failed: {error}")


class Reporting:
    """A model that reports each part of its answer, and all of it, while it is asked."""

    def __init__(self):
        self.listeners = []

    def emit(self, report):
        aside = aside_of(self)
        (self.listeners if aside is None else aside.reports).append(report)

    def stream(self, messages):
        for part in messages.split():
            self.emit(part)
            yield part
        self.emit(f"whole {messages}")

    def ask(self, messages):
        return " ".join(self.stream(messages))

    async def ask_async(self, messages):
        return self.ask(messages)

    async def stream_async(self, messages):
        for part in self.stream(messages):
            yield part


WAYS = {"ask": MODEL, "ask_async": MODEL, "stream": "model_stream", "stream_async": "model_stream"}


@pytest.fixture
def reporting(bus):
    """A bus on which a model runs that reports its answers to its own listeners."""
    with Patches("blinker", metadata.version("blinker")) as patches:
        gate = Gate(patches, bus, words=(MODEL, "model_stream"))
        forms = Forms(" ".join, str.split)
        hook_models(gate.vocabulary, Reporting, WAYS, forms, aside=Reports)
    yield bus
    patches.restore()


@pytest.fixture(params=WAYS)
def listened(request):
    """A function that asks a model in one way; it returns what the model's listeners were told."""
    model, way = Reporting(), request.param

    async def ask():
        with suppress(HookBlocked):
            answer = getattr(model, way)("one two")
            if way == "stream":
                list(answer)
            elif way == "stream_async":
                [part async for part in answer]
            elif way == "ask_async":
                await answer
        return model.listeners

    return ask


async def test_listeners_of_a_framework_hear_of_an_answer_that_guards_agree_with(
    reporting, listened
):
    heard = []
    reporting.signal("post_model_call").connect(
        lambda model: heard.append([*model.listeners]), role="guard"
    )
    assert await listened() == ["one", "two", "whole one two"]
    assert heard == [[]]


async def test_listeners_of_a_framework_hear_live_where_nothing_judges_the_answer(
    reporting, listened
):
    heard = []
    reporting.signal("post_model_call").connect(
        lambda model: heard.append([*model.listeners]), role="observe"
    )
    assert await listened() == ["one", "two", "whole one two"]
    assert heard == [["one", "two", "whole one two"]]


async def test_of_a_blocked_answer_listeners_of_a_framework_hear_only_that_it_failed(
    reporting, listened
):
    reporting.signal("post_model_call").connect(lambda model: Block("two words"), role="guard")
    told = await listened()
    assert len(told) == 1 and told[0].startswith("failed: ") and "two words" in told[0]


async def test_a_listener_that_fails_does_not_replace_the_refusal(
    reporting, listened, monkeypatch, caplog
):
    def broken(self, each, error):
        raise LookupError("the listener is gone")

    monkeypatch.setattr(Reports, "report_failed", broken)
    reporting.signal("post_model_call").connect(lambda model: Block("two words"), role="guard")
    assert await listened() == []
    assert "a failed answer of a model could not be reported: LookupError" in caplog.text
    assert "listener is gone" not in caplog.text


async def test_of_a_changed_answer_listeners_of_a_framework_hear_what_it_has_become(
    reporting, listened
):
    reporting.signal("post_model_call").connect(lambda model, result: result.upper())
    assert await listened() == ["whole ONE TWO"]


def test_of_a_repeated_request_listeners_of_a_framework_hear_the_answer_that_counts(reporting):
    reporting.signal("around_model_call").connect(
        lambda model, call_next: [call_next(), call_next()][1]
    )
    model = Reporting()
    assert model.ask("one two") == "one two"
    assert model.listeners == ["failed: the model was called again", "one", "two", "whole one two"]
