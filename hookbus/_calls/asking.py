"""Parts of the story: asking modifiers, guards and observers, and what their answers mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ..exceptions import HookError
from .call import Answered, Call, GivenUp, Over
from .context import VERDICTS, Block, Drop, ReadOnly, Replace
from .drive import Step
from .plan import Seat
from .turns import Answer, Turn

Part = Generator[Step, Any, Any]


def ask(
    call: Call, seat: Seat, answered: Answered, read: Callable[[Any], Any], view: Mapping[str, Any] | None = None,
    is_again: bool = False, **offered: Any,
) -> Part:  # fmt: skip
    """Give one receiver its turn: return its answer as `read` understands it, None where it was not asked or failed open.

    One that is asked again inside an around, and is cancelled there, ends that attempt by raising GivenUp, not the call.
    """
    view = ReadOnly(call.kwargs) if view is None else view
    is_cancel = False
    try:
        function = call.asked(seat, answered, view, offered)
        if function is None:
            return None
        turn = call.turn(seat, function, view, offered)
    except BaseException as error:  # by the receiver's role, like every failure
        failure: BaseException = error
    else:
        answer = yield turn
        if is_again:
            _give_up(call, answer)
        try:
            if answer.error is None:
                understood = read(call.read(seat, answer, view))
                answered.add(seat.receiver.key)
                return understood
            failure, is_cancel = answer.error, answer.is_cancel
        except Exception as wrong:
            failure = wrong
    call.failed(seat, failure, is_cancel=is_cancel)
    return None


def _give_up(call: Call, answer: Answer) -> None:
    """End an attempt where its call has ended meanwhile, or where an around, or the caller, has cancelled it."""
    if call.late is not None:
        raise GivenUp(call.late)
    if answer.is_cancel and answer.error is not None and call.hook.is_async:
        raise GivenUp(answer.error)


def wrong_return(seat: Seat, value: Any, allowed: str) -> NoReturn:
    raise HookError(f"{seat.receiver.label} on {seat.signal.name} returned a {type(value).__name__}; return {allowed}")


def modify_arguments(call: Call, seat: Seat, answered: Answered) -> Part:
    """Ask a modifier of `pre` and keep what it changed; return its `Replace`, if it gave one."""
    draft = dict(call.kwargs)

    def read(value: Any) -> tuple[Any, dict[str, Any]]:
        # Copied before it is checked: the receiver still has the draft.
        changed = dict(draft)
        if isinstance(value, Mapping):
            changed.update(value)
            value = None
        elif value is not None and not isinstance(value, (Block, Replace)):
            wrong_return(seat, value, "None, a mapping of arguments, Replace(result) or Block(reason)")
        if isinstance(value, Replace):
            check_items(call, seat, value)
        call.signature.check(changed)
        return value, changed

    answer = yield from ask(call, seat, answered, read, view=draft)
    if answer is None:
        return None
    verdict, changed = answer
    if isinstance(verdict, Block):
        call.block(seat, verdict)
    call.tell_changes(seat, call.kwargs, changed)
    call.kwargs = changed
    if verdict is not None:
        call.tell_change(seat, "result", None, verdict.result)
    return verdict


def check_items(call: Call, seat: Seat, verdict: Replace) -> None:
    """Refuse a `Replace` for a stream that has no items to give."""
    if call.hook.is_stream:
        kinds = ("__iter__", "__aiter__") if call.hook.is_async else ("__iter__",)
        if not any(hasattr(type(verdict.result), kind) for kind in kinds):
            wrong_return(seat, verdict.result, "Replace(iterable): the hook is a stream")


def revise(call: Call, seat: Seat, answered: Answered, name: str, value: Any) -> Part:
    """Ask a modifier of `post` or `item` about a value; return the value as it is to go on, or `Drop`."""

    def read(answer: Any) -> Any:
        if isinstance(answer, Drop) and seat.phase != "item":
            wrong_return(seat, answer, "None, the new result, Replace(result) or Block(reason)")
        return answer if answer is None or isinstance(answer, VERDICTS) else Replace(answer)

    verdict = yield from ask(call, seat, answered, read, **{name: value})
    if isinstance(verdict, Block):
        call.block(seat, verdict)
    if isinstance(verdict, Drop):
        call.tell_change(seat, name, value, None)
        return verdict
    if verdict is None or verdict.result is value:
        return value
    call.tell_change(seat, name, value, verdict.result)
    return verdict.result


def guard(call: Call, seats: Iterable[Seat], kwargs: Mapping[str, Any] | None = None, **offered: Any) -> Part:
    """Ask the guards in order; the first block is final. With `kwargs` they are asked again, about an attempt of an around."""
    answered: Answered = set()
    for seat in seats:

        def read(answer: Any, seat: Seat = seat) -> Block | None:
            if answer is not None and not isinstance(answer, Block):
                wrong_return(seat, answer, "None or Block(reason): a guard changes nothing")
            return answer

        view = ReadOnly(call.kwargs if kwargs is None else kwargs)
        verdict = yield from ask(call, seat, answered, read, view, kwargs is not None, **offered)
        if verdict is not None:
            call.block(seat, verdict)


def observe(call: Call, seats: tuple[Seat, ...], **offered: Any) -> Part:
    """Let the observers look, side by side; all are settled before the call goes on."""
    yield from side_by_side(call, seats, _decide_nothing, **offered)


def side_by_side(call: Call, seats: Sequence[Seat], read: Callable[[Seat, Any], Any], **offered: Any) -> Part:
    """Begin the turns of several receivers in order, and let each fail by its role once all are settled."""
    answered: Answered = set()
    begun = [(seat, *_begin(call, seat, answered, offered)) for seat in seats]
    turns = [started for _, _, started in begun if isinstance(started, Turn)]
    answers = deque((yield turns) if turns else ())
    # A call that is cancelled already is not cancelled by whoever raises a CancelledError in `finally`.
    may_cancel = call.outcome != "cancelled" or len(answers) > len(turns)
    is_over = False
    for seat, view, started in begun:
        error, is_cancel = (started, False) if isinstance(started, BaseException) else (None, False)
        if isinstance(started, Turn):
            answer = answers.popleft()
            error, is_cancel = answer.error or _misread(call, seat, answer, view, read), answer.is_cancel and may_cancel
        if error is not None:
            is_over |= _ends_call(call, seat, error, is_cancel=is_cancel)
    for cancel in answers:  # of the call itself, while it waited for them
        is_over |= _ends_call(call, seats[-1], cancel.error, is_cancel=True)
    if is_over:
        raise Over


def _begin(
    call: Call, seat: Seat, answered: Answered, offered: Mapping[str, Any]
) -> tuple[ReadOnly, Turn | BaseException | None]:
    """Return what an observer sees, and its turn, its failure, or None where it is not asked."""
    view = ReadOnly(call.kwargs)
    try:
        function = call.asked(seat, answered, view, offered)
        if function is None:
            return view, None
        answered.add(seat.receiver.key)  # side by side, to have begun is to answer
        return view, call.turn(seat, function, view, offered)
    except BaseException as error:  # by the receiver's role, like every failure
        return view, error


def _ends_call(call: Call, seat: Seat, error: BaseException, *, is_cancel: bool = False) -> bool:
    try:
        call.failed(seat, error, is_cancel=is_cancel)
    except Over:
        return True
    return False


def _misread(
    call: Call, seat: Seat, answer: Answer, view: ReadOnly, read: Callable[[Seat, Any], Any]
) -> Exception | None:
    """Read an answer, or return what is wrong with it."""
    try:
        read(seat, call.read(seat, answer, view))
    except Exception as misuse:
        return misuse
    return None


def _decide_nothing(seat: Seat, value: Any) -> None:
    if isinstance(value, VERDICTS) or (seat.phase == "pre" and isinstance(value, Mapping)):
        wrong_return(seat, value, "nothing: an observer decides nothing; connect it as a guard or a modifier")
