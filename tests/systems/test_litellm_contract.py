"""LiteLLM's chat completions: whole and streamed, plain and async, of a program and the Router."""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
from importlib import metadata
from typing import Any

import litellm
import litellm.main
import pytest
from litellm import CustomLLM, CustomStreamWrapper, ModelResponse, Router
from litellm.types.utils import GenericStreamingChunk

from hookbus import Block, Bus, HookBlocked, HookError, Replace
from hookbus.adapters import litellm as adapter
from hookbus.events import Finished
from hookbus.testing import record

from .contract import attributes_of, changes
from .tool_contract import ToolContract

MESSAGES = [{"role": "user", "content": "say a pin"}]
PIN = "pin-4711"
TILL = {"model": "till/a"}

pytestmark = pytest.mark.filterwarnings("ignore:Item 'summary' on TypedDict:UserWarning")


def saying(text: str) -> ModelResponse:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return ModelResponse(choices=[choice])


class Provider(CustomLLM):
    """Says a pin, in two parts where it is streamed. What it was sent stays in `sent`."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Any] = []
        self.fails = 0

    def completion(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.sent.append(kwargs["messages"])
        if self.fails:
            self.fails -= 1
            raise ConnectionError("the line is down")
        return saying(PIN)

    def streaming(self, *args: Any, **kwargs: Any) -> Any:
        self.sent.append(kwargs["messages"])
        for text, is_last in ((PIN[:4], False), (PIN[4:], True)):
            yield GenericStreamingChunk(
                text=text, is_finished=is_last, finish_reason="stop" if is_last else "", index=0,
                tool_use=None, usage=None,
            )  # fmt: skip

    async def acompletion(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.completion(*args, **kwargs)

    async def astreaming(self, *args: Any, **kwargs: Any) -> Any:
        for part in self.streaming(*args, **kwargs):
            yield part


@pytest.fixture
def provider(monkeypatch):
    provider = Provider()
    monkeypatch.setattr(
        litellm, "custom_provider_map", [{"provider": "till", "custom_handler": provider}]
    )
    monkeypatch.setattr(litellm, "_custom_providers", ["till"])
    monkeypatch.setattr(litellm, "provider_list", [*litellm.provider_list, "till"])
    return provider


@pytest.fixture
def on(bus):
    undo = adapter.install(bus)
    yield bus
    undo()


def router(**options: Any) -> Router:
    models = [
        {"model_name": name, "litellm_params": {"model": f"till/{name}"}} for name in ("a", "b")
    ]
    return Router(model_list=models, retry_after=0, **options)


FRONT = types.ModuleType("a_program")
"""A program that has imported the functions by name, under names of its own."""
FRONT.ask, FRONT.aask = litellm.completion, litellm.acompletion

WAYS = {
    "completion": lambda **given: litellm.completion("till/a", **given),
    "by place": lambda messages, **given: litellm.completion("till/a", messages, **given),
    "main": lambda **given: litellm.main.completion(model="till/a", **given),
    "imported": lambda **given: FRONT.ask(model="till/a", **given),
    "router": lambda **given: router().completion(model="a", **given),
    "acompletion": lambda **given: litellm.acompletion(model="till/a", **given),
    "amain": lambda **given: litellm.main.acompletion(model="till/a", **given),
    "aimported": lambda **given: FRONT.aask(model="till/a", **given),
    "arouter": lambda **given: router().acompletion(model="a", **given),
}


@pytest.fixture(autouse=True)
def program(monkeypatch):
    monkeypatch.setitem(sys.modules, "a_program", FRONT)


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param


async def ask(way: str, stream: bool, **options: Any) -> str:
    """Ask as a program does, and return the text of the answer."""
    given = {"messages": [dict(each) for each in MESSAGES], "stream": stream, **options}
    answer = WAYS[way](**given)
    answer = await answer if inspect.isawaitable(answer) else answer
    if not stream:
        return str(answer.choices[0].message.content)
    assert isinstance(answer, CustomStreamWrapper)
    parts = [part async for part in answer] if "a" == way[0] else [*answer]
    return "".join(part.choices[0].delta.content or "" for part in parts)


def hook(stream: bool) -> str:
    return "model_stream" if stream else "model_call"


async def test_every_call_is_asked_about_once_and_answers_as_before(on, provider, way, stream):
    asked = []

    @on.signal(f"pre_{hook(stream)}").connect_via(role="guard", when=TILL)
    def look(model, messages, options, caller):
        asked.append((model, messages, options["stream"], caller))

    assert await ask(way, stream) == PIN
    assert asked == [("till/a", MESSAGES, stream, None)] and len(provider.sent) == 1


async def test_a_refused_call_asks_no_model_and_says_who_and_why(on, provider, way, stream):
    asked = []

    @on.signal(f"pre_{hook(stream)}").connect_via(role="guard", name="budget")
    def budget(model):
        asked.append(model)
        return Block("no money left")

    with pytest.raises(HookBlocked, match="blocked by budget: no money left"):
        await ask(way, stream)
    assert provider.sent == [] and asked == ["till/a"]


async def test_an_async_guard_refuses_a_plain_call_too(on, provider, way):
    @on.signal("pre_model_call").connect_via(role="guard")
    async def budget(model):
        await asyncio.sleep(0)
        return Block("no money left")

    with pytest.raises(HookBlocked, match="no money left"):
        await ask(way, False)
    assert provider.sent == []


async def test_a_guard_that_breaks_closes_and_leaks_nothing(on, provider, way, stream):
    @on.signal(f"pre_{hook(stream)}").connect_via(role="guard")
    def broken(model):
        raise LookupError("the policy is in /secret/file")

    with pytest.raises(HookBlocked, match="guard failed") as refused:
        await ask(way, stream)
    assert provider.sent == [] and "/secret/file" not in str(refused.value)


async def test_changed_messages_arrive(on, provider, way, stream):
    said = [{"role": "user", "content": "say nothing"}]
    on.signal(f"pre_{hook(stream)}").connect(lambda model: {"messages": said})
    await ask(way, stream)
    assert [each[0]["content"] for each in provider.sent] == ["say nothing"]


async def test_a_changed_answer_is_what_the_program_gets(on, provider, way):
    @on.signal("post_model_call").connect_via(on_error="block")
    def redact(model, result):
        answer = result.model_copy(deep=True)
        answer.choices[0].message.content = "****"
        return answer

    assert await ask(way, False) == "****"


async def test_an_answer_can_come_from_elsewhere(on, provider, way):
    cached = saying("cached")
    on.signal("pre_model_call").connect(lambda model: Replace(cached), when=TILL)
    assert await ask(way, False) == "cached" and provider.sent == []


async def test_parts_of_a_stream_can_be_changed(on, provider, way):
    @on.signal("item_model_stream").connect_via(on_error="block")
    def redact(model, item):
        part = item.model_copy(deep=True)
        part.choices[0].delta.content = "*" * len(part.choices[0].delta.content or "")
        return part

    assert await ask(way, True) == "*" * len(PIN)


async def test_a_guard_of_the_parts_ends_a_stream(on, provider, way):
    @on.signal("item_model_stream").connect_via(role="guard")
    def no_numbers(model, item):
        return Block("no numbers") if "4711" in (item.choices[0].delta.content or "") else None

    with pytest.raises(HookBlocked, match="no numbers"):
        await ask(way, True)


async def test_the_fields_of_a_stream_are_those_of_litellm(on, provider):
    stream = litellm.completion("till/a", MESSAGES, stream=True)
    assert stream.model == "a" and stream.custom_llm_provider == "till"
    assert "".join(part.choices[0].delta.content or "" for part in stream) == PIN


async def test_a_stream_that_is_left_ends_its_call(on, provider):
    with record(on) as fired:
        async for _ in (stream := await litellm.acompletion("till/a", MESSAGES, stream=True)):
            break
        await stream.aclose()
    assert [each.hook for each in fired.of(Finished)] == ["model_call"]


@pytest.mark.parametrize("way", ["completion", "acompletion"])
async def test_retries_of_a_call_ask_no_guard_again(on, provider, way):
    asked = []
    on.signal("pre_model_call").connect(lambda model: asked.append(model), role="guard", when=TILL)
    provider.fails = 1
    assert await ask(way, False, num_retries=2) == PIN
    assert asked == ["till/a"] and len(provider.sent) == 2


@pytest.mark.parametrize("way", ["completion", "acompletion"])
async def test_the_router_neither_retries_a_refusal_nor_asks_another_model_nor_cools_down(
    on, provider, way, stream
):
    asked = []

    @on.signal(f"pre_{hook(stream)}").connect_via(role="guard")
    def no(model, messages):
        asked.append(model)
        return Block("no") if "pin" in messages[0]["content"] else None

    routed = router(num_retries=3, fallbacks=[{"a": ["b"]}], allowed_fails=0, cooldown_time=60)
    with pytest.raises(HookBlocked, match="no"):
        answer = getattr(routed, way)(model="a", messages=MESSAGES, stream=stream)
        await answer if inspect.isawaitable(answer) else answer
    assert asked == ["till/a"] and provider.sent == []
    harmless = [{"role": "user", "content": "hello"}]
    answer = getattr(routed, way)(model="a", messages=harmless)
    assert (await answer if inspect.isawaitable(answer) else answer).choices
    assert asked[1:] == ([] if stream else ["till/a"])


async def test_another_model_that_the_router_falls_back_to_is_asked_about(on, provider):
    asked = []
    on.signal("pre_model_call").connect(
        lambda model: asked.append(model), role="observe", name="hear"
    )
    provider.fails = 1
    routed = router(num_retries=0, fallbacks=[{"a": ["b"]}])
    await routed.acompletion(model="a", messages=MESSAGES)
    assert asked == ["till/a", "till/b"]


async def test_of_twenty_calls_at_once_all_are_asked_and_ten_refused(on, provider):
    @on.signal("pre_model_call").connect_via(role="guard", when=TILL)
    async def odd(model, messages):
        await asyncio.sleep(0)
        return Block("odd") if int(messages[0]["content"]) % 2 else None

    sends = [[{"role": "user", "content": str(i)}] for i in range(20)]
    found = await asyncio.gather(
        *(litellm.acompletion("till/a", each) for each in sends), return_exceptions=True
    )
    assert [isinstance(each, HookBlocked) for each in found] == [False, True] * 10
    assert sorted(int(each[0]["content"]) for each in provider.sent) == [*range(0, 20, 2)]


def test_uninstall_leaves_no_trace(provider):
    before = attributes_of("litellm"), dict(vars(FRONT))
    undo = adapter.install(bus := Bus())
    during = changes(before[0], attributes_of("litellm"))
    undo()
    undo()
    assert "litellm.completion" in during and changes(before[0], attributes_of("litellm")) == []
    assert dict(vars(FRONT)) == before[1] and bus.hook_names() == []


async def test_after_uninstall_nobody_is_asked(provider, way, stream):
    asked = []
    undo = adapter.install(bus := Bus())
    try:
        bus.signal(f"pre_{hook(stream)}").connect(
            lambda model: asked.append(model), role="observe", name="hear"
        )
        kept = litellm.completion
        await ask(way, stream)
    finally:
        undo()
    await ask(way, stream)
    kept("till/a", MESSAGES)
    assert asked == ["till/a"]


def test_installing_twice_and_an_unknown_version_are_refused(monkeypatch):
    undo = adapter.install(Bus())
    try:
        with pytest.raises(HookError, match="already runs on hookbus"):
            adapter.install(Bus())
    finally:
        undo()
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    with pytest.raises(HookError, match=r"0\.0\.1 is installed, and this adapter supports"):
        adapter.install(Bus())


@pytest.mark.parametrize("name", [
    "litellm.chat_completions.dispatch.completion", "litellm.main.acompletion",
    "litellm.integrations.custom_guardrail.is_guardrail_intervention",
])  # fmt: skip
def test_a_name_that_is_gone_is_named_and_nothing_is_changed(monkeypatch, name):
    home, _, attribute = name.rpartition(".")
    before = litellm.completion
    monkeypatch.delattr(sys.modules[home], attribute)
    with pytest.raises(HookError, match=f"no longer has {name}, which this adapter replaces"):
        adapter.install(Bus())
    assert litellm.completion is before


class TestThePage:
    adapter = "litellm"
    test_the_page_prints_what_it_says = ToolContract.test_the_page_prints_what_it_says
