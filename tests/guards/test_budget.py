"""guards.budget: so many tokens or dollars, reserved before a call and settled after it."""

import asyncio
import math
import os
import threading
from decimal import Decimal
from types import SimpleNamespace

import attrs
import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, baggage, hookable
from hookbus.guards import budget


class Models:
    """Calls a model in one colour; `use` is what it says that it used."""

    def __init__(self, bus, colour):
        self.made, self.use, self.is_async = 0, (0, 0), colour == "async"

        def body(model, messages, options, caller=None):
            self.made += 1
            if isinstance(self.use, BaseException):
                raise self.use
            if not isinstance(self.use, tuple):
                return self.use
            return {"usage": dict(zip(("input_tokens", "output_tokens"), self.use, strict=True))}

        async def body_async(model, messages, options, caller=None):
            await asyncio.sleep(0)
            return body(model, messages, options)

        self.function = hookable("model_call", bus=bus)(body_async if self.is_async else body)

    def __call__(self, max_tokens=10, messages="", model="gpt-4o", **options):
        found = self.function(model, messages, {"max_tokens": max_tokens, **options})
        return asyncio.run(found) if self.is_async else found

    def free(self):
        """Return how many tokens could still be had, at most 1,000 of them."""
        most, least, self.use = 1001, 0, (0, 0)
        while least < most:
            tokens = (least + most + 1) // 2
            try:
                self(tokens - 1, "")  # the empty message is reckoned as one
                least = tokens
            except HookBlocked:
                most = tokens - 1
        return least


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture(params=["sync", "async"])
def model(request, bus):
    return Models(bus, request.param)


def test_what_was_used_counts_and_not_what_was_reserved(model, bus):
    bus.register(budget(tokens=500))
    model.use = (100, 50)
    assert model(200)["usage"]["output_tokens"] == 50
    assert model.free() == 350


def test_what_could_be_too_much_does_not_run_and_costs_nothing(model, bus):
    bus.register(budget(tokens=100))
    for call in (lambda: model(101), lambda: model(10, "x" * 400), lambda: model(60, n=2)):
        with pytest.raises(HookBlocked, match="limit of 100 tokens per session reached") as e:
            call()
        assert e.value.verdict.code == "budget"
    assert model.made == 0 and model.free() == 100


def test_a_model_that_uses_more_than_it_may_uses_up_the_rest(model, bus):
    bus.register(budget(tokens=100))
    model.use = (90, 90)
    model(10)
    assert model.free() == 0


def test_what_raised_or_said_nothing_has_used_what_it_reserved(model, bus):
    bus.register(budget(tokens=1000))
    model.use = OSError("lost")
    with pytest.raises(OSError, match="lost"):
        model(99)
    for silent in ("text", {"usage": None}, {"usage": {"input_tokens": True, "output_tokens": 1}}):
        model.use = silent
        model(99)
    assert model.free() == 600


@pytest.mark.parametrize(
    "say",
    [
        lambda i, o: {"usage": {"prompt_tokens": i, "completion_tokens": o}},
        lambda i, o: SimpleNamespace(usage=SimpleNamespace(input_tokens=i, output_tokens=o)),
        lambda i, o: SimpleNamespace(usage_metadata={"input_tokens": i, "output_tokens": o}),
    ],
)
def test_what_was_used_is_found_where_frameworks_say_it(model, bus, say):
    bus.register(budget(tokens=500))
    model.use = say(30, 20)
    model(300)
    assert model.free() == 450


def test_what_did_not_run_has_used_nothing(model, bus):
    bus.register(budget(tokens=100))
    for phase, verdict, role in (
        ("pre", Block("no"), "guard"),
        ("pre", Replace("cached"), "modify"),
    ):
        signal = bus.signal(f"{phase}_model_call")
        with signal.connected_to(lambda sender, v=verdict: v, role=role):
            try:
                model(90)
            except HookBlocked as blocked:
                assert blocked.reason == "no"
    assert model.made == 0 and model.free() == 100


def test_an_answer_that_a_guard_withholds_was_used(model, bus):
    bus.register(budget(tokens=100))
    model.use = (20, 20)
    with bus.signal("post_model_call").connected_to(lambda sender: Block("no"), role="guard"):
        with pytest.raises(HookBlocked):
            model(50)
    assert model.free() == 60


def test_each_attempt_is_reckoned(model, bus):
    bus.register(budget(tokens=100))

    def twice(sender, call_next):
        async def both():
            await call_next()
            return await call_next()

        return both() if model.is_async else [call_next(), call_next()][1]

    model.use = (10, 10)
    with bus.signal("around_model_call").connected_to(twice):
        model(30)
        assert model.made == 2
    assert model.free() == 60
    with bus.signal("around_model_call").connected_to(twice):
        model.use = (30, 20)
        with pytest.raises(HookBlocked):
            model(30)


def test_sessions_and_users_have_theirs_and_those_without_share_one(model, bus):
    bus.register(budget(tokens=100, per="user"))
    for user in ("ada", "bob", 7, "7"):
        with baggage(user=user):
            assert model.free() == 100
            model.use = (50, 50)
            model(90)
            assert model.free() == 0
    assert model.free() == 100


def test_money_is_reckoned_by_the_price_of_the_model(model, bus):
    bus.register(budget(money=0.01))
    model.use = (1000, 100)
    named = SimpleNamespace(model_name="gpt-4o")
    for name in ("gpt-4o", "openai/gpt-4o", named):  # 0.0035 dollars each
        with baggage(session=str(name)):
            model(600, model=name)
            model(600, model=name)
            with pytest.raises(HookBlocked, match=r"limit of \$0.01 per session reached"):
                model(600, model=name)


@pytest.mark.parametrize("name", ["a model that nobody sells", "openai/none", None, object()])
def test_a_model_without_a_price_is_blocked(model, bus, name):
    bus.register(budget(money=Decimal("1")))
    with pytest.raises(HookBlocked, match="the price of the model is unknown"):
        model(model=name)
    assert model.made == 0


def test_an_answer_of_any_length_is_blocked_and_the_model_itself_may_say_how_long(bus):
    bus.register(budget(tokens=100))
    model = Models(bus, "sync")
    for options in ({}, None, {"max_tokens": None}, {"max_tokens": "10"}):
        with pytest.raises(HookBlocked, match="the call must set max_tokens to fit a budget"):
            model.function("gpt-4o", "", options)
    model.function(SimpleNamespace(max_tokens=10), "", {})
    model.function("gpt-4o", "", {"model_settings": {"max_output_tokens": 10}})
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        model.function("gpt-4o", "", {"max_tokens": 10, "extra": {"max_completion_tokens": 101}})


def test_a_stream_has_used_what_it_reserved(bus):
    bus.register(budget(tokens=100, hook="model_stream"))

    @hookable("model_stream", bus=bus)
    def stream(model, messages, options):
        yield "a"
        yield "b"

    assert list(stream("m", "", {"max_tokens": 59})) == ["a", "b"]
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        list(stream("m", "", {"max_tokens": 59}))


def test_it_is_never_over_in_threads_side_by_side_and_in_tasks():
    count = 100_000 if os.environ.get("HOOKBUS_LONG") else 4_000
    bus, spent = Bus(), []
    bus.register(budget(tokens=1000))

    @hookable("model_call", bus=bus)
    def model_call(model, messages, options):
        spent.append(options["max_tokens"] // 2)
        return {"usage": {"input_tokens": 0, "output_tokens": spent[-1]}}

    def many():
        for i in range(count // 8):
            try:
                model_call("m", "", {"max_tokens": 2 + i % 20})
            except HookBlocked:
                continue

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 970 <= sum(spent) <= 1000

    bus.register(budget(tokens=500, hook="other_call"))

    @hookable("other_call", bus=bus)
    async def other_call(model, messages, options):
        await asyncio.sleep(0)
        spent.append(options["max_tokens"] // 2)
        return {"usage": {"input_tokens": 0, "output_tokens": spent[-1]}}

    async def main():
        calls = (other_call("m", "", {"max_tokens": 2 + i % 20}) for i in range(count))
        return await asyncio.gather(*calls, return_exceptions=True)

    spent.clear()
    asyncio.run(main())
    assert sum(spent) <= 500 and spent


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs a limit"),
        ({"tokens": 0}, "tokens=0"),
        ({"tokens": True}, "tokens=True"),
        ({"tokens": 1.5}, "tokens=1.5"),
        ({"money": 0}, "money=0"),
        ({"money": math.nan}, "money=nan"),
        ({"money": "5"}, "money='5'"),
        ({"tokens": 1, "per": "tool"}, "per='tool'"),
    ],
)
def test_an_amount_that_is_none_is_refused(options, words):
    with pytest.raises(HookError, match=words):
        budget(**options)


@pytest.mark.parametrize("options", [
    {"max_tokens": 10, "inferenceConfig": {"maxTokens": 1_000_000}},
    {"max_tokens": 100, "extra_body": {"n": 50}}, {"max_tokens": 100, "best_of": 50},
    {"generation_config": {"maxOutputTokens": 100, "candidateCount": 50}},
    {"max_tokens": 1e9}, {"max_tokens": 10, "n": "50"},
])  # fmt: skip
def test_whatever_makes_an_answer_longer_is_reserved_or_blocks(options):
    bus = Bus()
    bus.register(budget(tokens=1_000))

    class Model:
        max_tokens = 10

        @hookable("model_call", bus=bus)
        def ask(self, model, messages, options):
            return {"usage": {"input_tokens": 1, "output_tokens": 1}}

    model = Model()
    model.ask(model, "hi", {"max_tokens": 10, "n": 1})
    with pytest.raises(HookBlocked):
        model.ask(model, "hi", options)


@attrs.define(repr=False)
class Message:
    content: str


class Plain:
    def __init__(self, content):
        self.content, self.owner = content, self


@pytest.mark.parametrize("message", [Message("x" * 10_000), SimpleNamespace(content="x" * 10_000)])
def test_a_message_is_counted_whole_however_it_is_shown(message):
    bus = Bus()
    bus.register(budget(tokens=1_000))

    @hookable("model_call", bus=bus)
    def model_call(model, messages, options):
        return None

    model_call("m", [Message("hi")], {"max_tokens": 10})
    model_call("m", [Plain("it leads back to itself")], {"max_tokens": 10})
    with pytest.raises(HookBlocked, match="1000 tokens"):
        model_call("m", [message], {"max_tokens": 10})
