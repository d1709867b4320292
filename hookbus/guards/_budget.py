"""Limit the tokens or the cost of model calls."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from decimal import Decimal
from typing import Any, Final, Literal

from .. import Block, HookBlocked, HookContext, HookError
from .._ground.errors import details_of
from ._accounts import (
    STORAGE_SECONDS,
    Amount,
    LocalAccounts,
    Reserved,
    SharedAccounts,
    Storage,
    check_storage,
)
from ._look import walk
from ._outermost import Outermost
from ._parts import Property, parts_of
from ._ready import LAST, Hooks, ReadyGuard, Unnamed, either, library, live

_log: Final = logging.getLogger("hookbus")

BYTES_A_TOKEN: Final = 2
"""An overestimate of the tokens: English has about four bytes per token, and CJK text three."""

_MOST: Final = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens",
    "max_new_tokens", "max_tokens_to_sample", "num_predict",
)  # fmt: skip
_ANSWERS: Final = (
    "n", "best_of", "candidate_count", "candidateCount", "num_return_sequences",
)  # fmt: skip
_USAGE: Final = ("usage", "usage_metadata", "usage_details", "token_usage")
_IN: Final = (
    "input_tokens", "prompt_tokens", "inputTokens", "prompt_token_count", "input_token_count",
)  # fmt: skip
_OUT: Final = (
    "output_tokens", "completion_tokens", "outputTokens", "candidates_token_count",
    "output_token_count",
)  # fmt: skip


class budget(ReadyGuard):
    """A guard that limits the tokens or the cost of model calls.

    Before a call, it reserves the estimated input, one token per two bytes, and
    `options["max_tokens"]` or the model's own `max_tokens`. A call without either is blocked. After
    the call, it charges the amount that the result's `usage` reports. If a call raises an
    exception, is cancelled or reports no usage, the full reservation is charged. A call that did
    not run is not charged.

    Args:
        tokens: the maximum number of tokens, input and output together.
        money: the maximum in US dollars, at the prices in genai-prices. A call to a model without a
            known price is blocked.
        per: `"session"` or `"user"`, as set by `with baggage(session=..., user=...)`. All calls
            without a session (or user) share one budget.
        storage: a `hookbus.fleet.Fleet`, to share the budget between processes and machines.
            Reservations of a killed process remain charged. If it is None, the budget applies only
            to this guard in this process.
        hook: the hook to limit: a name, several names, or a glob. Each hook needs the arguments
            `model`, `messages` and `options`. A nested call with the same model, messages and
            options is not charged again.

    Raises:
        HookError: for an invalid amount, or if neither amount is given.
    """

    remembers = True

    def __init__(
        self, tokens: int | None = None, money: float | Decimal | None = None,
        per: Literal["session", "user"] = "session", storage: Storage | None = None, *,
        hook: Hooks = "model_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if tokens is None and money is None:
            raise HookError("budget() needs a limit: pass tokens= or money=")
        if per not in ("session", "user"):
            raise HookError(f"per={per!r:.40} must be 'session' or 'user'")
        most, counts = Amount(_whole(tokens), _dollars(money)), check_storage(storage)
        self._accounts: LocalAccounts | SharedAccounts = LocalAccounts(most)
        if counts is not None:
            name = f"budget {' '.join(self.hooks)} {per} {most.tokens} {most.money}"
            self._accounts = SharedAccounts(most, counts, name)
        self._is_shared = counts is not None
        self._price = None if money is None else _prices()
        self._per = per
        self._key = f"hookbus budget {id(self)}"
        self._outermost = Outermost(self)
        self._streamed = f"{self._key} of a stream"
        options: dict[str, Any] = {"timeout": STORAGE_SECONDS} if self._is_shared else {}
        self.on("pre", self._reserve_of(), role="guard", priority=LAST, **options)
        around = live(either(self._attempt, self._attempt_async))
        self.on("around", around, priority=LAST)
        self.on("finally", self._release_of(), role="observe", **options)

    def _reserve_of(self) -> Callable[..., Block | None]:
        unnamed = Unnamed(self._per)

        def reserve(
            sender: Any, model: Any, messages: Any, options: Any, ctx: HookContext
        ) -> Block | None:
            asked = _name_of(model), {"messages": messages, "options": options}
            if not self._outermost.takes(ctx, call=asked):
                return None  # the enclosing call is charged
            estimated = _estimated(messages), _most_output(options, model)
            if estimated[1] is None:
                return Block("the call must set max_tokens to fit a budget", code="budget")
            try:
                most = self._amount(_name_of(model), estimated[0], estimated[1])
            except LookupError:
                return Block("the price of the model is unknown", code="budget")
            whose = ctx.baggage.get(self._per)
            if whose is None:
                unnamed.note()
            account = "" if whose is None else f"{type(whose).__name__} {whose}"
            try:
                reserved = self._accounts.reserve(account, most, _name_of(model))
            except HookError as error:
                return Block(
                    f"the budget is not known: {error}", code="budget", details=details_of(error)
                )
            if isinstance(reserved, str):
                return Block(f"limit of {reserved} per {self._per} reached", code="budget")
            ctx.state.setdefault(self._key, []).append(reserved)
            return None

        reserve.findings = unnamed.findings  # type: ignore[attr-defined]
        return reserve

    def _attempt(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        try:
            result = call_next()
        except BaseException as error:
            self._ended(ctx, error)
            raise
        if isinstance(result, (Generator, AsyncGenerator)):  # charged when the call ends
            ctx.state[self._streamed] = ctx.state[self._key].pop()
            return result
        self._ended(ctx, None, result)
        return result

    async def _attempt_async(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        try:
            result = await call_next()
        except BaseException as error:
            self._ended(ctx, error)  # a failed attempt keeps its reservation: nothing is sent
            raise
        if self._is_shared:
            await asyncio.to_thread(self._ended, ctx, None, result)
        else:
            self._ended(ctx, None, result)
        return result

    def _ended(self, ctx: HookContext, error: BaseException | None, result: Any = None) -> None:
        """Charge an attempt that has ended, by the usage that it reports or, without a report, by
        its reservation."""
        if isinstance(error, HookBlocked) and error.hook == ctx.hook:
            return  # it did not run
        if not ctx.state.get(self._key):
            return  # it is a nested call
        reserved: Reserved = ctx.state[self._key].pop()
        usage = None if error is not None else _usage(result)
        if usage is not None:
            self._settle(reserved, self._amount(reserved.model, *usage))

    def _release_of(self) -> Callable[..., None]:
        def release(sender: Any, ctx: HookContext) -> None:
            streamed: Reserved | None = ctx.state.pop(self._streamed, None)
            usage = None if streamed is None else _usage(ctx.result)
            if streamed is not None and usage is not None:
                self._settle(streamed, self._amount(streamed.model, *usage))
            for reserved in ctx.state.pop(self._key, ()):
                self._settle(reserved, Amount())

        return release

    def _settle(self, reserved: Reserved, used: Amount) -> None:
        try:
            self._accounts.settle(reserved, used)
        except HookError as error:
            _log.warning("a budget keeps the whole reservation of a call: %s", error)

    def _amount(self, model: str | None, sent: int, received: int) -> Amount:
        price = Decimal() if self._price is None else self._price(model, sent, received)
        return Amount(sent + received, price)


def _estimated(messages: Any) -> int:
    try:
        written = json.dumps(messages, default=_written, ensure_ascii=False)
    except (ValueError, RecursionError):  # circular references
        written = json.dumps(messages, default=repr, ensure_ascii=False)
    return math.ceil(len(written.encode("utf-8", "surrogatepass")) / BYTES_A_TOKEN)


def _written(value: Any) -> Any:
    """Return the content to count for a message that is not JSON: its parts, or its repr if it has
    no parts."""
    parts = parts_of(value) or list(getattr(value, "__dict__", {}).items())
    if not parts:
        return repr(value)
    return [each for part in parts for each in part if type(each) is not Property]


def _most_output(options: Any, model: Any) -> int | None:
    """Return the maximum number of output tokens that the options or the model set."""
    settings = [(name, value) for name, _, value, _ in
             walk(options or {}, "", lambda above, name: name) if value is not None]  # fmt: skip
    limits: list[Any] = [value for name, value in settings if name in _MOST]
    if not limits:
        limits = [value for name in _MOST if _is_count(value := getattr(model, name, None))]
    several: list[int] = [value for name, value in settings if name in _ANSWERS]
    if not limits or not all(map(_is_count, [*limits, *several])):
        return None
    most: int = max(limits)
    return most * max([1, *several])


def _name_of(model: Any) -> str | None:
    if isinstance(model, str):
        return model
    for name in ("model_name", "model", "model_id"):
        if isinstance(found := getattr(model, name, None), str):
            return found
    return None


def _usage(result: Any) -> tuple[int, int] | None:
    """Return the input and output tokens that a result reports, in the format of any framework."""
    for name in _USAGE:
        usage = _of(result, name)
        inputs, outputs = ([_of(usage, each) for each in names] for names in (_IN, _OUT))
        counts = [next(filter(_is_count, found), None) for found in (inputs, outputs)]
        if counts[0] is not None and counts[1] is not None:
            return counts[0], counts[1]
    return None


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _prices() -> Callable[[str | None, int, int], Decimal]:
    prices = library("genai_prices", "budget")

    def price(model: str | None, input_tokens: int, output_tokens: int) -> Decimal:
        if model is None:
            raise LookupError("the model has no name")
        usage = prices.Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        try:
            found = prices.calc_price(usage, model_ref=model)
        except LookupError:
            provider, slash, name = model.replace(":", "/", 1).partition("/")
            if not slash:
                raise
            found = prices.calc_price(usage, model_ref=name, provider_id=provider)
        total: Decimal = found.total_price
        return total

    return price


def _whole(tokens: Any) -> int | None:
    if tokens is not None and (not _is_count(tokens) or tokens < 1):
        raise HookError(f"tokens={tokens!r:.40} must be a whole number of at least 1")
    return tokens  # type: ignore[no-any-return]


def _dollars(money: Any) -> Decimal | None:
    if money is None:
        return None
    is_number = isinstance(money, (int, float, Decimal)) and not isinstance(money, bool)
    if not is_number or not math.isfinite(money) or money <= 0:
        raise HookError(f"money={money!r:.40} must be a number of dollars greater than 0")
    return Decimal(str(money))
