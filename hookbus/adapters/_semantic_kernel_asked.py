"""Hooks Semantic Kernel's handling of a model's requests for functions, including unknown
functions.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from hookbus import HookBlocked

from ._parts import Held
from ._tools import Gate
from ._unknown import call_of

ASKED: Final[ContextVar[Asked | None]] = ContextVar("hookbus_asked", default=None)


class Asked:
    """A model's request for a function.

    Attributes:
        is_to_go_on: whether the function would have ended the model's turn but was blocked, so that
            the turn must continue.
    """

    is_to_go_on = False

    def __init__(self, content: Any) -> None:
        self.content = content

    def is_for(self, function: Any) -> bool:
        names = self.content.plugin_name or None, self.content.function_name
        return names == (function.plugin_name or None, function.name)


async def note_request(
    gate: Gate, stock: Any, kernel: Any, function_call: Any, *args: Any, **kwargs: Any
) -> Any:
    asked = Asked(function_call)
    with Held(ASKED, asked):
        ended = await stock(kernel, function_call, *args, **kwargs)
    # A hand-off ends the turn, even if it did not happen.
    return None if asked.is_to_go_on else ended


async def call_missing_function(
    gate: Gate, stock: Any, own: Any, function_call: Any, chat_history: Any, **options: Any
) -> Any:
    run = functools.partial(stock, own, function_call, chat_history, **options)
    if _is_there(own, function_call, options.get("function_behavior")):
        return await run()
    name = function_call.function_name or function_call.name or ""
    call = call_of(name, function_call.arguments, function_call.id, own, None)
    before = len(chat_history.messages)

    async def body(arguments: dict[str, Any]) -> Any:
        await run()
        return str(chat_history.messages.pop().items[0].result)

    try:
        text = await gate.run_async(call, body)
    except HookBlocked as blocked:
        text = gate.say(blocked)
    del chat_history.messages[before:]
    contents = import_module("semantic_kernel.contents").FunctionResultContent
    result = contents.from_function_call_content_and_result(
        function_call_content=function_call, result=text
    )
    chat_history.add_message(message=result.to_chat_message_content())
    return None


def _is_there(own: Any, asked: Any, behavior: Any) -> bool:
    try:
        own.get_function(asked.plugin_name, asked.function_name)
    except Exception:  # any error that the kernel reports to its model
        return False
    filters = getattr(behavior, "filters", None)
    known = own.get_list_of_function_metadata(filters) if filters else ()
    return not filters or asked.name in {each.fully_qualified_name for each in known}
