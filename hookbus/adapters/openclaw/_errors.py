"""Exceptions and log messages for failing handlers, with OpenClaw's wording."""

from __future__ import annotations

from collections.abc import Sequence

from hookbus import HookError


class HandlerError(HookError):
    """A handler of a hook that fails closed has failed. The handler's exception is the `__cause__`.

    Attributes:
        hook: the name of the hook.
        plugin_id: the plugin that registered the handler.
    """

    text: str
    hook: str
    plugin_id: str

    def __init__(self, text: str, hook: str, plugin_id: str) -> None:
        super().__init__(text, hook, plugin_id)
        self.text, self.hook, self.plugin_id = text, hook, plugin_id

    def __str__(self) -> str:
        return self.text


class HandlerErrors(ExceptionGroup[HandlerError]):
    """Several observers failed in one call; `exceptions` holds the `HandlerError` of each."""

    def __str__(self) -> str:
        return str(self.message)

    def derive(self, excs: Sequence[HandlerError]) -> HandlerErrors:  # type: ignore[override]
        """Return a group with some of the exceptions, `excs`. Python calls this method to split
        groups."""
        return HandlerErrors("; ".join(map(with_causes, excs)), excs)


class HandlerTimeout(HookError):
    """A handler exceeded its deadline. It was cancelled, and its result is ignored."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"timed out after {milliseconds(seconds)}ms")


def milliseconds(seconds: float) -> int:
    """Return seconds as whole milliseconds, at least one."""
    return max(1, int(seconds * 1000 + 1e-6))


def failure(
    hook: str, plugin_id: str, error: BaseException, *, is_sync: bool = False
) -> HandlerError:
    """Return the error for a failed handler, which the caller raises from the handler's
    exception."""
    said = _named(error) if is_sync else one_line(error)
    return HandlerError(f"[hooks] {hook} handler from {plugin_id} failed: {said}", hook, plugin_id)


def _named(error: BaseException) -> str:
    is_plain = type(error) is Exception or isinstance(error, HookError)
    name = "Error" if is_plain else type(error).__name__
    return f"{name}: {error}" if str(error) else name


def one_line(error: BaseException) -> str:
    """Return the messages of an exception and its causes as one line of at most 500 characters,
    without control characters."""
    printable = "".join(
        " " if ord(char) <= 31 or ord(char) in (127, 0x2028, 0x2029) else char
        for char in with_causes(error)
    )
    units = " ".join(printable.split()).encode("utf-16-le", "surrogatepass")[
        :1000
    ]  # 500 as TypeScript counts them
    return units.decode("utf-16-le", "ignore") or "unknown error"


def first_line(error: BaseException) -> str:
    """Return the first line of the messages of an exception and its causes."""
    return with_causes(error).split("\n")[0].strip() or "unknown error"


def with_causes(error: BaseException) -> str:
    """Return the message of an exception, and different messages of its causes."""
    text = str(error) or type(error).__name__
    waiting = _causes(error)
    seen = {id(error)}
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        waiting += _causes(cause)
        if str(cause) and str(cause) not in text:
            text += f" | {cause}"
    return text


def _causes(error: BaseException) -> list[BaseException]:
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return [*([error.__cause__] if error.__cause__ is not None else []), *members]
