"""A refused call of LangChain is not made again, and not made of another model."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import langchain

WAYS = "invoke", "ainvoke", "batch", "abatch"


class Model(GenericFakeChatModel):
    name: str = "first"


def model(name="first"):
    return Model(messages=iter(AIMessage(f"{name} answered") for _ in range(9)), name=name)


@pytest.fixture
def bus():
    bus = Bus()
    undo = langchain.install(bus)
    yield bus
    undo()


@pytest.fixture
def asked(bus):
    """The names of the models that a guard was called for; it refuses what says "no"."""
    asked = []

    @bus.signal("pre_model_call").connect_via(role="guard")
    def not_a_word(model, messages):
        asked.append(model.name)
        return Block("refused") if "no" in messages[-1].content else None

    return asked


def ask(way, runnable, *texts, **options):
    """Return the answers of a runnable, or what of them was raised."""
    if way == "invoke":
        return [runnable.invoke(text) for text in texts]
    if way == "batch":
        return runnable.batch([*texts], **options)

    async def main():
        if way == "ainvoke":
            return [await runnable.ainvoke(text) for text in texts]
        return await runnable.abatch([*texts], **options)

    return asyncio.run(main())


def failing(names):
    """A model's step that breaks down once it has been asked."""

    def fail(text):
        names.append(text)
        raise ConnectionError("down")

    return RunnableLambda(fail)


@pytest.mark.parametrize("way", WAYS)
def test_with_retry_makes_no_second_attempt(bus, asked, way):
    with pytest.raises(HookBlocked, match="refused"):
        ask(way, model().with_retry(wait_exponential_jitter=False), "no")
    assert asked == ["first"]


@pytest.mark.parametrize("way", WAYS)
def test_with_fallbacks_asks_no_other_model(bus, asked, way):
    with pytest.raises(HookBlocked, match="refused"):
        ask(way, model().with_fallbacks([model("second")]), "no")
    assert asked == ["first"]


def test_a_stream_with_fallbacks_asks_no_other_model(bus, asked):
    chain = model().with_fallbacks([model("second")])
    with pytest.raises(HookBlocked, match="refused"):
        list(chain.stream("no"))
    assert asked == ["first"]
    assert "".join(part.content for part in chain.stream("yes")) == "first answered"


async def test_an_async_stream_with_fallbacks_asks_no_other_model(bus, asked):
    chain = model().with_fallbacks([model("second")])
    with pytest.raises(HookBlocked, match="refused"):
        [part async for part in chain.astream("no")]
    assert asked == ["first"]
    assert "".join([part.content async for part in chain.astream("yes")]) == "first answered"


@pytest.mark.parametrize("way", ["batch", "abatch"])
@pytest.mark.parametrize("stack", ["retry", "fallbacks"])
def test_of_a_batch_only_what_was_refused_is_given_up(bus, asked, stack, way):
    broken = []

    def at_first(text):
        if text == "later" and "later" not in broken:
            broken.append(text)
            raise ConnectionError("down")
        return text

    chain = RunnableLambda(at_first) | model()
    chain = (chain.with_retry(wait_exponential_jitter=False) if stack == "retry"
             else chain.with_fallbacks([model("second")]))  # fmt: skip
    found = ask(way, chain, "later", "no", "yes", return_exceptions=True)
    assert [getattr(each, "content", type(each)) for each in found] == [
        "first answered" if stack == "retry" else "second answered", HookBlocked, "first answered",
    ]  # fmt: skip
    assert len(asked) == 3


@pytest.mark.parametrize("way", WAYS)
def test_what_fails_is_still_retried_and_put_to_another_model(bus, asked, way):
    tried = []
    chain = failing(tried).with_retry(wait_exponential_jitter=False, stop_after_attempt=2)
    found = ask(way, chain.with_fallbacks([model("second")]), "yes")
    assert found[0].content == "second answered"
    assert tried == ["yes", "yes"] and asked == ["second"]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_names_refusals_handles_them(bus, asked, way):
    polite = RunnableLambda(lambda text: "sorry")
    chain = model().with_fallbacks([polite], exceptions_to_handle=(HookBlocked,))
    assert ask(way, chain, "no") == ["sorry"] and asked == ["first"]
    again = model().with_retry(
        retry_if_exception_type=(HookBlocked,), wait_exponential_jitter=False, stop_after_attempt=2
    )
    with pytest.raises(Exception, match=r"refused|RetryError"):
        ask(way, again, "no")
    assert asked == ["first"] * 3


def test_a_node_with_a_retry_policy_is_not_run_again(bus, asked):
    def answer(state):
        return {"messages": [model().invoke("no")]}

    graph = StateGraph(MessagesState)
    policy = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False)
    graph.add_node("answer", answer, retry_policy=policy)
    graph.add_edge(START, "answer").add_edge("answer", END)
    with pytest.raises(HookBlocked, match="refused"):
        graph.compile().invoke({"messages": ["hi"]})
    assert asked == ["first"]
