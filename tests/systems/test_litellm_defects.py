"""What LiteLLM's own hooks let pass, and what a guard does in the same place."""

from __future__ import annotations

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

from hookbus import Block, HookBlocked
from hookbus.adapters import litellm as adapter

MESSAGES = [{"role": "user", "content": "hello"}]

pytestmark = pytest.mark.filterwarnings("ignore:Item 'summary' on TypedDict:UserWarning")


class Refusing(CustomLogger):
    """Says no in every hook that comes before a model is asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def log_pre_api_call(self, model, messages, kwargs):
        self.asked.append("log_pre_api_call")
        raise PermissionError("no money left")

    async def async_pre_call_deployment_hook(self, kwargs, call_type):
        self.asked.append("async_pre_call_deployment_hook")
        raise PermissionError("no money left")


@pytest.fixture
def own(monkeypatch):
    own = Refusing()
    monkeypatch.setattr(litellm, "callbacks", [own])
    return own


def answer(**options):
    return litellm.completion("gpt-4o", MESSAGES, mock_response="hi", **options)


def test_a_hook_of_its_own_that_raises_stops_no_plain_call(own):
    assert answer().choices[0].message.content == "hi"
    assert "async_pre_call_deployment_hook" not in own.asked


def test_a_rule_before_the_call_is_not_asked_where_the_first_message_has_no_content(monkeypatch):
    asked = []
    monkeypatch.setattr(litellm, "pre_call_rules", [lambda text: asked.append(text) and False])
    messages = [{"role": "assistant", "tool_calls": []}, *MESSAGES]
    found = litellm.completion("gpt-4o", messages, mock_response="hi")
    assert found.choices[0].message.content == "hi" and asked == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_guard_that_raises_stops_every_call(bus, stream):
    def broken(model):
        raise PermissionError("no money left")

    undo = adapter.install(bus)
    try:
        for hook in ("model_call", "model_stream"):
            bus.signal(f"pre_{hook}").connect(broken, role="guard")
        with pytest.raises(HookBlocked, match="guard failed: PermissionError"):
            answer(stream=stream)
    finally:
        undo()


def test_a_guard_is_asked_whatever_the_messages_are(bus):
    undo = adapter.install(bus)
    try:
        bus.signal("pre_model_call").connect(lambda model: Block("no"), role="guard")
        with pytest.raises(HookBlocked):
            litellm.completion("gpt-4o", [{"role": "assistant", "tool_calls": []}],
                               mock_response="hi")  # fmt: skip
    finally:
        undo()
