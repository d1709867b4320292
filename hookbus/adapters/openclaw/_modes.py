"""The modes of OpenClaw's hooks, which determine the called handlers, their order, and the
result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hookbus import Bus, hookspec
from hookbus.modes import Receiver, Reject, Steps

from ._dispatch import Dispatch, current
from ._errors import first_line, one_line
from ._hooks import ClawHook
from ._merges import plain
from ._values import MISSING, get, is_truthy

Run = Callable[[Dispatch, Sequence[Receiver[Any]]], Steps[Any, Any]]


def mode_of(hook: ClawHook) -> Callable[[Sequence[Receiver[Any]]], Steps[Any, Any]]:
    """Return the mode of a hook. The name of the mode describes the hook's rule."""
    run: Run = {"claim": claim, "sync": chain, "evaluate": evaluate, "observe": observe}.get(
        hook.kind, merge
    )

    def mode(receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
        dispatch = current(hook.name)
        return (yield from run(dispatch, receivers))

    mode.__name__ = mode.__qualname__ = f"{hook.kind}: {hook.rule}"
    return mode


def declare(hook: ClawHook, bus: Bus) -> Any:
    """Declare a hook on a bus as a hookspec with the same name."""

    def question(event: Any, ctx: Any) -> Any: ...

    async def question_later(event: Any, ctx: Any) -> Any: ...

    asked = question if hook.kind == "sync" else question_later
    asked.__qualname__ = hook.name  # the name of the sender in events and reports
    return hookspec(mode_of(hook), name=hook.name, bus=bus)(asked)


def merge(dispatch: Dispatch, receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
    """Call handlers in order and merge their results, until one ends the run."""
    for receiver in receivers:
        dispatch.assert_active()
        [answer] = yield [receiver]
        wrong = answer.error or dispatch.take(receiver.name, answer.value)
        if isinstance(wrong, str):
            yield Reject(answer, wrong)
            wrong = TypeError(wrong)
        if wrong is not None:
            dispatch.fail(receiver.name, wrong)
        dispatch.assert_active()
        if dispatch.hook.is_over(dispatch.merged):
            dispatch.logger.debug(
                "[hooks] %s decided by %s; skipping remaining handlers",
                dispatch.hook.name,
                receiver.name,
            )
            break
    return plain(dispatch.merged)


def claim(dispatch: Dispatch, receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
    """Call handlers in order until one handles the event."""
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.error is not None:
            dispatch.fail(receiver.name, answer.error)
        elif is_truthy(get(answer.value, "handled")):
            return answer.value
    return None


def chain(dispatch: Dispatch, receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
    """Call handlers in order with the latest message until a handler blocks, and return the last
    message."""
    dispatch.merged, is_write = (
        get(dispatch.event, "message"),
        dispatch.hook.name == "before_message_write",
    )
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.error is not None:
            dispatch.fail(receiver.name, answer.error)
        elif is_write and is_truthy(get(answer.value, "block")):
            return {"block": True}
        elif is_truthy(get(answer.value, "message")):
            dispatch.merged = get(answer.value, "message")
    if not receivers:
        return None
    return {} if dispatch.merged is MISSING else {"message": dispatch.merged}


def observe(dispatch: Dispatch, receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
    """Call all handlers concurrently, and return None."""
    answers = yield receivers
    dispatch.fail_together(
        [(answer.receiver, answer.error) for answer in answers if answer.error is not None]
    )


def evaluate(dispatch: Dispatch, receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
    """Call all handlers concurrently. Return each outcome, including failures, with its plugin."""
    outcomes = []
    for answer in (yield receivers):
        registration = dispatch.registry.find(dispatch.hook.name, answer.receiver)
        plugin = dispatch.plugin_of(answer.receiver)
        outcome: dict[str, Any] = {
            "evaluatorId": (registration and registration.registration_id) or plugin,
            "pluginId": plugin,
        }
        known = dispatch.registry.plugins.get(plugin)
        outcome |= {"pluginVersion": known.version} if known and known.version else {}
        if answer.error is not None:
            said = one_line(answer.error)
            dispatch.logger.error(
                "[hooks] %s handler from %s failed: %s", dispatch.hook.name, plugin, said
            )
            outcome |= {"status": "error", "error": first_line(answer.error)}
        elif is_truthy(answer.value):
            outcome |= {"status": "completed", "result": answer.value}
        else:
            outcome |= {"status": "skipped"}
        outcomes.append(outcome)
    return outcomes
