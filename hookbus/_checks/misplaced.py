"""Log guards on signals that belong to no hook, and guards for senders that do not have the hook. A
guard is logged at the first call of the hook that was probably meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._connections.failures import WARNING, log
from .._connections.phases import PHASES
from .._connections.receiver import Connected
from .._connections.senders import describe
from .._hooks.hook import Hook
from .._hooks.statics import class_of
from .._hooks.switchboard import Switchboard
from .fit import may_call

if TYPE_CHECKING:
    from .._connections.protocols import Signal

NEAR: Final = 0.75
"""How similar two names must be, from 0 to 1: `reply` and `replay` have 0.9, `read_file` and
`write_file` 0.7.
"""


class MisplacedGuards:
    """The signals with a guard that suits no declared hook of its sender. Without such signals,
    calls perform no check.
    """

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._signals: dict[str, Signal] = {}

    def wait(self, signal: Signal) -> None:
        """Make the hooks that this signal may be meant for check the signal at their next call."""
        self._signals[signal.name] = signal
        board = self._board
        is_named = signal.phase is not None and board.declared(signal.hook)
        for name in [signal.hook] if is_named else board.hook_names():
            for hook in board.declared(name):
                if hook.is_looked_at:
                    hook.is_looked_at = False
                    board.discard_plans(hook)
                    board.route(hook)

    def expect(self, hook: Hook) -> None:
        """If such signals exist, make a new hook check them at its first call."""
        hook.is_looked_at = not self._signals

    def look(self, hook: Hook) -> None:
        """Log the guards that were probably meant for the hook that is being called."""
        hook.is_looked_at = True
        for name, signal in list(self._signals.items()):
            guards = [r for r in signal.connections() if r.role == "guard" and r.is_enabled]
            declared = self._board.declared(signal.hook) if signal.phase is not None else []
            if declared:
                is_over = hook in declared
                texts = [self._of_strangers(g, hook, declared) for g in guards if is_over]
            else:
                texts = [_of_name(guard, signal, hook) for guard in guards if not signal._was_asked]
                is_over = signal._was_asked or any(texts)
            if is_over:
                self._signals.pop(name, None)
            for text in filter(None, texts):
                log(WARNING, text)
        self._board.route(hook)

    def _of_strangers(self, guard: Connected, hook: Hook, declared: list[Hook]) -> str | None:
        """Return a message if the sender of a guard has none of these hooks. `hook` is the hook
        that is being called.
        """
        sender = guard.sender() if guard.sender is not None else None
        if sender is None or may_call(sender, declared):
            return None
        if hook.settings.sender:
            return (
                f"{guard.label} guards {describe(sender)}, which is never the sender of "
                f"{hook.name}: connect it to the {hook.settings.sender} that is made from it"
            )
        owner = hook.body.__qualname__
        if hook.looks_like_method:
            cls = class_of(hook, self._board.looked_at.owners)
            owner = owner.rpartition(".")[0] if cls is None else cls.__qualname__
        return (
            f"{guard.label} guards {describe(sender)}, which has no hookable {hook.name!r}. The "
            f"hook was called on {owner}: connect the guard to {owner}"
        )


def _of_name(guard: Connected, signal: Signal, hook: Hook) -> str | None:
    """Return a message if nothing emits a guard's signal and the signal was probably meant for this
    hook.
    """
    likely = likely_target(signal, hook.name)
    return likely and (
        f"{guard.label} is connected to {signal.name}, which no hook emits, but {hook.name} was "
        f"called: did you mean {likely!r}?"
    )


def likely_target(signal: Signal, hook: str) -> str | None:
    """Return the signal of the hook that was probably meant instead of this signal, or None."""
    from difflib import get_close_matches  # only needed for wrong names

    if signal.phase is not None:
        is_near = get_close_matches(signal.hook, [hook], cutoff=NEAR)
        return f"{signal.phase}_{hook}" if is_near else None
    if signal.name == hook:
        return f"pre_{hook}"
    if signal.name.endswith(f"_{hook}"):
        return f"{_phase_of(signal.name.removesuffix(f'_{hook}')) or 'pre'}_{hook}"
    if signal.name.startswith(f"{hook}_"):
        phase = _phase_of(signal.name.removeprefix(f"{hook}_"))
        return phase and f"{phase}_{hook}"
    for phase in PHASES:  # other spellings: preReply, PRE_REPLY, replypre
        if _bare(signal.name) in (_bare(f"{phase}{hook}"), _bare(f"{hook}{phase}")):
            return f"{phase}_{hook}"
    near = get_close_matches(signal.name, [f"{phase}_{hook}" for phase in PHASES], cutoff=NEAR)
    return near[0] if near else None


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


_WORDS: Final = {
    "before": "pre", "begin": "pre", "start": "pre", "on": "pre", "after": "post", "done": "post",
    "end": "finally", "failed": "error", "exception": "error", "wrap": "around", "each": "item",
}  # fmt: skip
"""Words that other systems use for the phases."""


def _phase_of(word: str) -> str | None:
    """Return the phase that a word probably means, or None."""
    from difflib import get_close_matches

    word = word.lower()
    near = get_close_matches(word, PHASES, n=1)
    return _WORDS.get(word) or (near[0] if near else None)
