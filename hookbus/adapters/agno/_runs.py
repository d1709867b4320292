"""Runs the hooks of an agent's or team's run: `run_input` before the model is called, and
`run_output` after the model has answered."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from importlib import import_module
from typing import Any

from hookbus import HookBlocked

from ..._ground.signatures import signature_of
from .._own_hooks import Hook, title_of
from .._patches import Patches
from ._hookables import sender_of
from ._hooks import AroundHook, Registry, is_async_hook
from ._levels import Level


class RunHooks:
    """The hooks of one run, as receivers see them in their argument `call`.

    Attributes:
        owner: the agent or team.
        sender: the sender of the run's hooks: the owner, or an object in its place.
        arguments: all arguments that a hook can have, by name.
        subject: the input or output of the run.
    """

    def __init__(
        self, level: Level, given: dict[str, Any], *, is_async: bool, strict: bool
    ) -> None:
        self._level, self._given, self._is_async, self._strict = level, given, is_async, strict
        self.owner, self._hooks = given[level.name], tuple(given["hooks"])
        self.sender = sender_of(self.owner, level.cls)
        self.subject = given[level.hook]
        context, debug_mode = given["run_context"], given["debug_mode"]
        self.arguments = {
            level.hook: self.subject, "run_context": context, level.name: self.owner,
            "session": given["session"], "user_id": given["user_id"],
            "debug_mode": debug_mode if debug_mode is not None else self.owner.debug_mode,
            "metadata": context.metadata if context else None, **given["kwargs"],
        }  # fmt: skip
        self._tasks = given["background_tasks"]
        self._all_in_background = (
            self.owner._run_hooks_in_background is True and self._tasks is not None
        )
        self._waiting: list[Hook] = []
        self._is_finished = False

    def __repr__(self) -> str:
        return f"<{self._level.hook} of {self._level.name}>"

    def ask_around(self, own: AroundHook, kwargs: Any, call_next: Hook) -> Any:
        """Call one of the run's own hooks, and then the rest of the run."""
        # If a receiver has replaced the object, the hook gets the new one.
        self.arguments[self._level.hook] = kwargs[self._level.hook]
        ask = self._ask_async if self._is_async else self._ask
        return ask(own.index, self._hooks[own.index], call_next)

    def _ask(self, index: int, hook: Hook, call_next: Hook) -> Generator[Any, None, None]:
        if not self._is_queued(hook):
            yield from self._told(self._level.started, hook)
            try:
                if self._can_run(hook):
                    self._take(hook, hook(**self._asked_for(hook)))
                    yield from self._told(self._level.completed, hook)
            except Exception as error:
                self._failed(index, hook, error)
            finally:
                self._reset()
        # A hook changes the input in place, so guards are called again with the changed input.
        yield from call_next(**{self._level.hook: self.arguments[self._level.hook]})

    async def _ask_async(
        self, index: int, hook: Hook, call_next: Hook
    ) -> AsyncGenerator[Any, None]:
        if not self._is_queued(hook):
            for event in self._told(self._level.started, hook):
                yield event
            try:
                answer = hook(**self._asked_for(hook))
                if inspect.iscoroutinefunction(hook) or (
                    self._strict and inspect.isawaitable(answer)
                ):
                    await answer
                for event in self._told(self._level.completed, hook):
                    yield event
            except Exception as error:
                self._failed(index, hook, error)
            finally:
                self._reset()
        async for event in call_next(**{self._level.hook: self.arguments[self._level.hook]}):
            yield event

    # -- one hook ----------------------------------------------------------------------------------

    def _is_queued(self, hook: Hook) -> bool:
        """Defer a hook that should run in the background, and return whether it was deferred."""
        module = self._level.module
        if self._all_in_background:
            if module.is_guardrail_hook(hook):
                return False
            self._waiting.append(hook)
            return True
        if self._tasks is None or not module.should_run_hook_in_background(hook):
            return False
        self._queue(hook, module.copy_args_for_background(self.arguments))
        return True

    def _queue(self, hook: Hook, arguments: dict[str, Any]) -> None:
        self._tasks.add_task(hook, **self._level.module.filter_hook_args(hook, arguments))

    def _asked_for(self, hook: Hook) -> dict[str, Any]:
        asked: dict[str, Any] = self._level.module.filter_hook_args(hook, self.arguments)
        return asked

    def _can_run(self, hook: Hook) -> bool:
        if self._is_async or not (
            is_async_hook(hook) if self._strict else inspect.iscoroutinefunction(hook)
        ):
            return True
        if self._strict:
            raise TypeError(f"{title_of(hook)} is async and cannot be called in run(): use arun()")
        import_module("agno.utils.log").log_warning(
            f"Async hook '{title_of(hook)}' cannot be used with sync run(). Use arun() instead. "
            "Skipping hook."
        )
        return False

    def _take(self, hook: Hook, answer: Any) -> None:
        if self._strict and inspect.isawaitable(answer):
            getattr(answer, "close", lambda: None)()
            raise TypeError(f"{title_of(hook)} is async and cannot be called in run(): use arun()")

    def _told(self, make: Callable[..., Any], hook: Hook) -> Generator[Any, None, None]:
        if not self._given["stream_events"] or self._all_in_background:
            return
        level = self._level
        response = self._given["run_response" if self._level.is_input else "run_output"]
        name = level.module.get_hook_name(hook)
        named = (
            {"run_input": self.arguments["run_input"], "pre_hook_name": name}
            if level.is_input
            else {"post_hook_name": name}
        )
        yield level.module.handle_event(
            run_response=response, event=make(from_run_response=response, **named),
            events_to_skip=self.owner.events_to_skip, store_events=self.owner.store_events,
        )  # fmt: skip

    def _failed(self, index: int, hook: Hook, error: Exception) -> None:
        """Raise an exception that stops a run. Log any other exception, or raise it too with
        `strict=True`."""
        module, level = self._level.module, self._level
        if isinstance(error, (module.InputCheckError, module.OutputCheckError)):
            raise error
        if self._strict:
            raise level.check_error(
                f"{level.title} {title_of(hook)} failed: {type(error).__name__}"
            ) from error
        if self._all_in_background:
            module.log_exception(
                f"Background guardrail '{module.get_hook_name(hook)}' execution failed"
            )
        else:
            module.log_exception(f"{level.title} #{index + 1} execution failed")

    def _reset(self) -> None:
        if not self._all_in_background:
            self._level.set_debug(self.owner, debug_mode=self._given["debug_mode"])

    # -- after the last ----------------------------------------------------------------------------

    def finish(self, subject: Any) -> Iterable[Any]:
        """Store the final input or output, after all hooks have run. Yield no events."""
        self._is_finished = True
        if subject is not self.subject:
            # The run holds the original object: copy the receiver's replacement into it.
            vars(self.subject).update(vars(subject))
        if self._all_in_background:
            copies = self._level.module.copy_args_for_background(self.arguments)
            for hook in self._waiting:
                self._queue(hook, copies)
        elif self._level.is_input:
            self._given["run_response"].input = self.subject
        return ()

    def stop(self, reason: object) -> Exception:
        """Return the exception that stops a blocked run. If the output was blocked, remove its
        content."""
        if not self._level.is_input:
            self.subject.content = None
        error: Exception = self._level.check_error(str(reason))
        return error

    def check(self) -> None:
        """Stop the run if a receiver yielded other items instead of calling the rest of the run."""
        if not self._is_finished:
            raise self.stop(f"a receiver stopped {self._level.hook}")


def replace_runs(patches: Patches, registry: Registry, *, strict: bool) -> None:
    """Replace the functions in which Agno runs the hooks of agents and teams."""
    for name, prefix in (("agent", ""), ("team", "_")):
        for hook, phase in (("run_input", "pre"), ("run_output", "post")):
            level = Level.of(name, hook)
            for a_if_async in ("", "a"):
                function = f"{prefix}{a_if_async}execute_{phase}_hooks"
                make = _replaced_async if a_if_async else _replaced
                patches.replace(
                    level.module, function, make(patches, registry, level, function, strict)
                )


def _begin(
    patches: Patches, registry: Registry, level: Level, signature: inspect.Signature, strict: bool,
    is_async: bool, args: Any, kwargs: Any,
) -> RunHooks | None:  # fmt: skip
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if not patches.is_live or bound.arguments["hooks"] is None:
        return None
    run = RunHooks(level, bound.arguments, is_async=is_async, strict=strict)
    registry.sync(run.sender.owner, f"around_{level.hook}", run._hooks)
    return run


def _replaced(
    patches: Patches, registry: Registry, level: Level, function: str, strict: bool
) -> Any:
    stock = getattr(level.module, function)
    signature = signature_of(stock)

    def execute_hooks(*args: Any, **kwargs: Any) -> Generator[Any, None, None]:
        run = _begin(patches, registry, level, signature, strict, False, args, kwargs)
        if run is None:
            yield from stock(*args, **kwargs)
            return
        try:
            yield from run.sender.call(level.hook, run.subject, call=run, **_shown(run))
        except HookBlocked as blocked:
            raise run.stop(blocked) from blocked
        run.check()

    return execute_hooks


def _replaced_async(
    patches: Patches, registry: Registry, level: Level, function: str, strict: bool
) -> Any:
    stock = getattr(level.module, function)
    signature = signature_of(stock)

    async def execute_hooks(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        run = _begin(patches, registry, level, signature, strict, True, args, kwargs)
        events = stock(*args, **kwargs) if run is None else run.sender.call(
            f"a{level.hook}", run.subject, call=run, **_shown(run)
        )  # fmt: skip
        try:
            async for event in events:
                yield event
        except HookBlocked as blocked:
            if run is None:
                raise
            raise run.stop(blocked) from blocked
        finally:
            await events.aclose()
        if run is not None:
            run.check()

    return execute_hooks


def _shown(run: RunHooks) -> dict[str, Any]:
    return {name: run.arguments[name] for name in ("session", "run_context", "user_id", "metadata")}
