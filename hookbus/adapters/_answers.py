"""Convert models' answers between streamed parts and whole answers, in the types of each
framework.
"""

from __future__ import annotations

import json
from copy import deepcopy
from importlib import import_module
from typing import Any

from hookbus import HookError

from ._streams import Forms

# -- Google's ADK: a whole answer comes after its parts, where it has some -------------------------


def _text_of(response: Any) -> str:
    parts = getattr(response.content, "parts", None) or ()
    return "".join(part.text or "" for part in parts)


def _adk_whole(items: list[Any]) -> Any:
    """Return the complete answers, or all items if the complete answers do not contain the text of
    all parts."""
    wholes = [item for item in items if not item.partial]
    said = "".join(_text_of(item) for item in wholes)
    in_parts = "".join(_text_of(item) for item in items if item.partial)
    if not wholes or in_parts not in said:
        return items
    return wholes[0] if len(wholes) == 1 else wholes


def _adk_items(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


ADK = Forms(_adk_whole, _adk_items)


# -- AgentScope 2: the last part has the whole answer, as with most models -------------------------


def _complete(parts: list[Any]) -> Any:
    if parts[-1].is_last:
        return parts[-1]
    blocks = [block for part in parts for block in part.content]
    return import_module("agentscope.model").ChatResponse(blocks, is_last=True)


def _delta_and_complete(answer: Any) -> list[Any]:
    """Return a part with the content of an answer, followed by the complete answer. Agents show
    only the text of parts."""
    response = import_module("agentscope.model").ChatResponse
    if isinstance(answer, str):
        text = import_module("agentscope.message").TextBlock(text=answer)
        answer = response([text], is_last=True)
    delta = response(deepcopy(answer.content), is_last=False, id=answer.id)
    return [delta, answer] if answer.content else [answer]


AGENTSCOPE2 = Forms(_complete, _delta_and_complete)


# -- Agent Framework -------------------------------------------------------------------------------


def _updates(answer: Any) -> list[Any]:
    home = import_module("agent_framework")
    if isinstance(answer, str):
        text = home.Content.from_text(answer)
        return [home.ChatResponseUpdate(contents=[text], role="assistant")]
    shared = {"response_id": answer.response_id, "conversation_id": answer.conversation_id,
              "model": answer.model}  # fmt: skip
    updates = [
        home.ChatResponseUpdate(
            contents=each.contents, role=each.role, author_name=each.author_name,
            message_id=each.message_id, finish_reason=answer.finish_reason, **shared,
        )
        for each in answer.messages
    ]  # fmt: skip
    if answer.usage_details and updates:
        updates[-1].contents.append(home.Content.from_usage(answer.usage_details))
    return updates


def agent_framework() -> Forms:
    """Return the `Forms` for the answers of Agent Framework's models."""
    return Forms(import_module("agent_framework").ChatResponse.from_updates, _updates)


# -- the OpenAI Agents SDK: events, the last of which has the whole answer -------------------------


def _response(events: list[Any]) -> Any:
    ended = [each for each in events if each.type in ("response.completed", "response.incomplete")]
    if not ended:
        raise HookError("the stream of the model ended without an answer that guards can check")
    response = ended[-1].response
    done = [each.item for each in events if each.type == "response.output_item.done"]
    usage = import_module("agents.usage").Usage(requests=1)
    if response.usage is not None:
        usage.input_tokens = response.usage.input_tokens
        usage.output_tokens = response.usage.output_tokens
        usage.total_tokens = response.usage.total_tokens
    items = import_module("agents.items")
    return items.ModelResponse(
        output=response.output or done, usage=usage, response_id=response.id
    )


def _completed(answer: Any) -> list[Any]:
    responses = import_module("openai.types.responses")
    usage = answer.usage
    response = responses.Response.model_construct(
        id=answer.response_id or "hookbus", created_at=0.0, model="", object="response",
        output=answer.output, parallel_tool_calls=False, tool_choice="auto", tools=[],
        usage=responses.ResponseUsage.model_construct(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens, input_tokens_details=usage.input_tokens_details,
            output_tokens_details=usage.output_tokens_details,
        ),
    )  # fmt: skip
    return [responses.ResponseCompletedEvent.model_construct(
        type="response.completed", response=response, sequence_number=0
    )]  # fmt: skip


OPENAI = Forms(_response, _completed)


# -- Semantic Kernel: lists, a message for each choice ---------------------------------------------


def _messages(items: list[Any]) -> Any:
    contents = import_module("semantic_kernel.contents")
    by_choice: dict[int, Any] = {}
    for item in items:
        for part in item:
            held = by_choice.get(part.choice_index)
            by_choice[part.choice_index] = part if held is None else held + part
    return [
        contents.ChatMessageContent(
            role=each.role, ai_model_id=each.ai_model_id, metadata=each.metadata,
            finish_reason=each.finish_reason, inner_content=each.inner_content, name=each.name,
            items=[
                contents.TextContent(text=part.text)
                if isinstance(part, contents.StreamingTextContent) else part
                for part in each.items
            ],
        )
        for _, each in sorted(by_choice.items())
    ]  # fmt: skip


def _messages_in_parts(answer: Any) -> list[Any]:
    contents = import_module("semantic_kernel.contents")
    found = answer if isinstance(answer, list) else [answer]
    return [[
        contents.StreamingChatMessageContent(
            role=each.role, choice_index=index, ai_model_id=each.ai_model_id,
            metadata=each.metadata, finish_reason=each.finish_reason, name=each.name,
            items=[
                contents.StreamingTextContent(text=part.text, choice_index=index)
                if isinstance(part, contents.TextContent) else part
                for part in each.items
            ],
        )
        for index, each in enumerate(found)
    ]]  # fmt: skip


SEMANTIC_KERNEL = Forms(_messages, _messages_in_parts)


# -- Strands: events of blocks; it has no other answers --------------------------------------------


def _blocks(events: list[Any]) -> dict[str, Any]:
    """Return the message, the finish reason and the usage, as plain data."""
    answer: dict[str, Any] = {"role": "assistant", "content": []}
    for event in events:
        for kind, value in event.items():
            _add_event(answer, kind, value)
    return answer


def _add_event(answer: dict[str, Any], kind: str, value: Any) -> None:
    content = answer["content"]
    if kind == "messageStart":
        answer["role"] = value["role"]
    elif kind == "contentBlockStart":
        content.append(dict(value.get("start") or {}))
    elif kind == "contentBlockDelta":
        if not content or content[-1].get(_ENDED):
            content.append({})
        for name, delta in value["delta"].items():
            content[-1][name] = _joined(content[-1].get(name), delta)
    elif kind == "contentBlockStop":
        if content:
            content[-1][_ENDED] = True
    elif kind == "messageStop":
        for block in content:
            block.pop(_ENDED, None)
        answer["stop_reason"] = value["stopReason"]
    elif kind == "metadata":
        answer["usage"] = value.get("usage")
    else:  # guards check unknown values, too
        answer[kind] = value


_ENDED = "contentBlockStop"


def _joined(held: Any, delta: Any) -> Any:
    if held is None:
        return dict(delta) if isinstance(delta, dict) else delta
    if isinstance(held, dict):
        return {**held, **{name: _joined(held.get(name), each) for name, each in delta.items()}}
    return held + delta if isinstance(held, (str, bytes, list)) else delta


def _block_events(answer: Any) -> list[Any]:
    if isinstance(answer, str):
        answer = {"content": [{"text": answer}]}
    events: list[Any] = [{"messageStart": {"role": answer.get("role", "assistant")}}]
    calls = False
    for block in answer["content"]:
        use = block.get("toolUse")
        calls = calls or use is not None
        start = {} if use is None else {"toolUse": {k: use[k] for k in use if k != "input"}}
        events.append({"contentBlockStart": {"start": start}})
        if use is None:
            deltas = [{name: each} for name, each in block.items()]
        else:
            given = use.get("input", "")
            text = given if isinstance(given, str) else json.dumps(given)
            deltas = [{"toolUse": {"input": text}}]
        events += [{"contentBlockDelta": {"delta": delta}} for delta in deltas]
        events.append({"contentBlockStop": {}})
    reason = answer.get("stop_reason") or ("tool_use" if calls else "end_turn")
    events.append({"messageStop": {"stopReason": reason}})
    if answer.get("usage"):
        events.append({"metadata": {"usage": answer["usage"], "metrics": {"latencyMs": 0}}})
    return events


STRANDS = Forms(_blocks, _block_events)
