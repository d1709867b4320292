"""Write calls as a trace in Chrome's format, for Perfetto, speedscope and `chrome://tracing`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from .._ground.keywords import named_options
from .._ground.locks import Lock
from .._outgoing.exporting import Exporter
from .._views.values import title
from ..events import HIDDEN, Event, Finished, Started
from ._file import Lines
from ._open_calls import OpenCalls

__all__ = ["ChromeTrace"]


def __dir__() -> list[str]:
    return sorted(__all__)


@attrs.define(eq=False)
class _Call:
    name: str
    began: float
    args: dict[str, Any]
    lane: _Lane


@attrs.define(eq=False)
class _Lane:
    """One track of the trace, with calls nested in each other.

    Attributes:
        number: the number of the track.
        name: the name of its task or thread.
        beside: all tracks of its task or thread, including this one.
        calls: the calls in flight, outermost first.
        until: the time when the latest written call ended.
    """

    number: int
    name: str
    beside: list[_Lane]
    calls: list[_Call] = attrs.Factory(list)
    until: float = 0.0


@named_options
class ChromeTrace(Exporter):
    """Writes each call to a trace file as it ends. Each task and thread has a track, with nested
    calls inside their caller and the actions of receivers as marks.

    Calls of one task that overlap without being nested, such as two streams that are read
    alternately, get separate tracks. You can open the file at any time, even after a crash of the
    process.

    Args:
        path: the file, readable by its owner only. An existing file is overwritten.

    Raises:
        OSError: if the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lines, self._lock = Lines(path, anew=True), Lock()
        self._calls = OpenCalls[_Call]()
        self._tasks: WeakKeyDictionary[Any, list[_Lane]] = WeakKeyDictionary()
        self._tracks = 0
        self._began = time.perf_counter()
        self._lines.write("[")
        began = time.strftime("%Y-%m-%d %H:%M:%S %z")
        self._write("process_name", "M", 0, args={"name": f"hookbus from {began}"})

    def __call__(self, bus: Any, event: Event) -> None:
        self.is_used = True
        now = time.perf_counter() - self._began
        with self._lock:
            self._lines.check_open()
            if isinstance(event, Started):
                self._begin(event, now)
            elif isinstance(event, Finished):
                self._end(event, now)
            else:
                self._mark(event, now)

    def close(self) -> None:
        """Disconnect the exporter from every bus, write the calls in flight, and close the file.
        """
        self._disconnect()
        now = time.perf_counter() - self._began
        with self._lock:
            if not self._lines.is_open:
                return
            try:
                for call in self._calls.clear():
                    self._leave(call, now, {"outcome": "running"})
                self._write("closed", "M", 0, end="")
                self._lines.write("]")
            finally:
                self._lines.close()

    def _begin(self, event: Started, now: float) -> None:
        task = _running_task()
        runs = task if task is not None else threading.current_thread()
        lanes = self._tasks.setdefault(runs, [])
        lane = _free(lanes, self._calls.of(event.parent_id))
        if lane is None:
            lane = self._lane(lanes, task.get_name() if task is not None else runs.name)
        call = _Call(title(event.hook, event.labels), now, event.as_dict(), lane)
        lane.calls.append(call)
        for forgotten in self._calls.begin(event.call_id, call):
            self._leave(forgotten, now, {"outcome": "not known"})

    def _end(self, event: Finished, now: float) -> None:
        call = self._calls.end(event.call_id)
        if call is None:
            return
        ended = {"outcome": event.outcome, "seconds": event.seconds}
        if event.error is not None:
            ended["error"] = event.as_dict()["error"]
        if event.result is not HIDDEN:
            ended["result"] = event.as_dict()["result"]
        self._leave(call, now, ended)

    def _mark(self, event: Event, now: float) -> None:
        call = self._calls.of(event.call_id)
        name = " ".join(filter(None, (getattr(event, "receiver", None), type(event).__name__)))
        track = call.lane.number if call is not None else 0
        self._write(name, "i", track, ts=_micro(now), s="t", args=event.as_dict())

    def _leave(self, call: _Call, now: float, ended: dict[str, Any]) -> None:
        """Write a call that has ended. Move nested calls that are still running to another
        track.
        """
        lane = call.lane
        # The call has no track if the disk was full when the call was moved.
        places = (i for i, each in enumerate(lane.calls) if each is call)
        place = next(places, len(lane.calls))
        staying = lane.calls[place + 1 :]
        del lane.calls[place:]
        lane.until = now
        if staying:
            other = next(
                (each for each in lane.beside if not each.calls and each.until <= staying[0].began),
                None,
            )
            other = other or self._lane(lane.beside, lane.name)
            other.calls = staying
            for each in staying:
                each.lane = other
        self._write(
            call.name, "X", lane.number, ts=_micro(call.began), dur=_micro(now - call.began),
            cat=call.args["hook"], args=call.args | ended,
        )  # fmt: skip

    def _lane(self, beside: list[_Lane], name: str) -> _Lane:
        """Return a new track of a task or thread."""
        self._tracks += 1
        title = f"{name} ({len(beside) + 1})" if beside else name
        self._write("thread_name", "M", self._tracks, args={"name": title})
        beside.append(made := _Lane(self._tracks, name, beside))
        return made

    def _write(self, name: str, phase: str, track: int, end: str = ",", **more: Any) -> None:
        entry = {"name": name, "ph": phase, "pid": os.getpid(), "tid": track, **more}
        self._lines.write(json.dumps(entry, allow_nan=False) + end)


def _running_task() -> Any:
    """Return the current asyncio task, or None."""
    asyncio = sys.modules.get("asyncio")
    is_in_loop = asyncio is not None and asyncio._get_running_loop() is not None
    return asyncio.current_task() if asyncio is not None and is_in_loop else None


def _free(lanes: list[_Lane], outer: _Call | None) -> _Lane | None:
    """Return the track for a new call: the caller's track, or an empty track."""
    if outer is not None and outer.lane in lanes and outer.lane.calls[-1] is outer:
        return outer.lane
    return next((each for each in lanes if not each.calls), None)


def _micro(seconds: float) -> float:
    return round(seconds * 1e6, 3)
