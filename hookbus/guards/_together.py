"""Run several guards concurrently."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from .. import Ask, Block, HookContext, HookError
from .._ground.errors import did_you_mean
from .._ground.signatures import signature_of
from ._ready import Hooks, ReadyGuard, is_remembering


class together(ReadyGuard):
    """Runs guards concurrently. The first block decides the call and cancels the other guards.

    The guards run concurrently only on async hooks. On a sync hook the guards run one after the
    other. If a guard fails or returns anything except None, `Block` or `Ask`, the call is blocked.
    If several guards ask, their questions are combined into one.

    Args:
        guards: two or more guards: ready-made guards, or sync or async functions with the
            parameters of a receiver, such as the sender, arguments or `ctx`. Receivers of a
            ready-made guard for other phases are registered unchanged.
        hook: the hook for guards that are functions: a name, several names, or a glob. A ready-made
            guard keeps its own hook.

    Raises:
        HookError: if there are fewer than two guards, or if an object is not a guard.
    """

    def __init__(self, *guards: Any, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        if len(guards) < 2:
            raise HookError("together() needs at least two guards")
        self.remembers = any(
            each.remembers if isinstance(each, ReadyGuard) else is_remembering(each)
            for each in guards
        )
        judges: dict[tuple[str, float], list[_Judge]] = {}
        for guard in guards:
            for name, function, options in self._receivers_of(guard):
                if name.startswith("pre_") and options.get("role") == "guard":
                    key = name.removeprefix("pre_"), options.get("priority", 0)
                    judges.setdefault(key, []).append(_Judge(function, options.get("timeout")))
                else:  # it has its own options
                    setattr(self, f"_receiver_{len(vars(self))}", function)
        for (name, priority), several in judges.items():
            self._judge_by(several, name, priority)

    def _judge_by(self, judges: list[_Judge], hook: str, priority: float) -> None:
        """Register the guards of one hook that have the same priority."""
        judge = _side_by_side(judges)
        sources = [each.findings for each in judges if each.findings is not None]
        judge.findings = lambda: [text for each in sources for text in each()]
        deadlines = [each.timeout for each in judges if each.timeout is not None]
        timeout = {"timeout": sum(deadlines)} if deadlines else {}
        self.on("pre", judge, hook, role="guard", priority=priority, name="together", **timeout)

    def _receivers_of(self, guard: Any) -> list[tuple[str, Callable[..., Any], dict[str, Any]]]:
        if isinstance(guard, ReadyGuard):
            return guard.receivers
        if not callable(guard) or isinstance(guard, type):
            raise HookError(f"together() needs ready-made guards or functions, not {guard!r:.60}")
        return [(f"pre_{each}", guard, {"role": "guard"}) for each in self.hooks]


class _Judge:
    """One of the combined guards.

    Attributes:
        findings: the guard's function that returns findings for `report`, or None.
        timeout: the guard's own deadline in seconds, or None.
    """

    def __init__(self, function: Callable[..., Any], timeout: float | None) -> None:
        self._function, self.timeout = function, timeout
        self.findings = getattr(function, "findings", None)
        parameters = list(signature_of(function).parameters.values())
        if not parameters:
            raise HookError(f"{function!r:.60} needs a sender parameter: write (sender, ...)")
        self._asks = [each for each in parameters[1:] if each.kind is not Parameter.VAR_POSITIONAL]

    def judge(self, sender: Any, ctx: HookContext) -> Any:
        by_place, by_name = self._given(ctx)
        return self._function(sender, *by_place, **by_name)

    async def judge_async(self, sender: Any, ctx: HookContext) -> Block | Ask | None:
        async with asyncio.timeout(self.timeout):
            if self.timeout is None or inspect.iscoroutinefunction(self._function):
                answer = self.judge(sender, ctx)
            else:
                answer = await asyncio.to_thread(self.judge, sender, ctx)
            if inspect.isawaitable(answer):
                answer = await answer
        return _checked(answer)

    def _given(self, ctx: HookContext) -> tuple[list[Any], dict[str, Any]]:
        offered = {**ctx.kwargs, "ctx": ctx, "baggage": ctx.baggage}
        by_place, by_name = list[Any](), dict[str, Any]()
        for each in self._asks:
            if each.kind is Parameter.VAR_KEYWORD:
                by_name |= {name: value for name, value in ctx.kwargs.items()
                            if name not in {asked.name for asked in self._asks}}  # fmt: skip
            elif each.name not in offered and each.default is Parameter.empty:
                raise HookError(
                    f"there is no argument {each.name!r}{did_you_mean(each.name, list(offered))}"
                )
            elif each.name in offered and each.kind is Parameter.POSITIONAL_ONLY:
                by_place.append(offered[each.name])
            elif each.name in offered:
                by_name[each.name] = offered[each.name]
        return by_place, by_name


def _side_by_side(judges: list[_Judge]) -> Any:
    """Return a receiver that runs the guards, one by one on a sync hook, and otherwise
    concurrently."""

    def judge(sender: Any, ctx: HookContext) -> Any:
        if ctx.is_async:
            return _first(judges, sender, ctx)
        asks = list[Ask]()
        for each in judges:
            answer = each.judge(sender, ctx)
            if inspect.iscoroutine(answer):
                answer.close()
                raise HookError("an async guard cannot run on a sync hook: write a plain def")
            if isinstance(_checked(answer), Block):
                return answer
            asks += [answer] if isinstance(answer, Ask) else []
        return _asked(asks)

    return judge


async def _first(judges: list[_Judge], sender: Any, ctx: HookContext) -> Block | Ask | None:
    """Return the first `Block`. Other guards that are still running are cancelled and awaited."""
    tasks = [asyncio.ensure_future(each.judge_async(sender, ctx)) for each in judges]
    try:
        for next_done in asyncio.as_completed(tasks):
            if isinstance(answer := await next_done, Block):
                return answer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    answers = [task.result() for task in tasks]
    return _asked([each for each in answers if isinstance(each, Ask)])


def _checked(answer: Any) -> Block | Ask | None:
    if answer is None or isinstance(answer, (Block, Ask)):
        return answer
    kind = type(answer).__name__
    raise HookError(f"a guard returned a {kind}: return None, Block(reason) or Ask(question)")


def _asked(asks: list[Ask]) -> Ask | None:
    """Combine several questions into one."""
    if len(asks) < 2:
        return asks[0] if asks else None
    details = [dict(each.details) for each in asks if each.details]
    return Ask(
        " And: ".join(each.question for each in asks), code=asks[0].code,
        details={"questions": details} if details else None,
    )  # fmt: skip
