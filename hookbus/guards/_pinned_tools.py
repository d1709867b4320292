"""Detects tools that change after they were first used ("rug pulls")."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from .. import Ask, Block, HookContext, HookError
from .._external.trust import read_trusted
from ._call import tool_of, whole_declaration_of
from ._canonical import digest
from ._outermost import Outermost
from ._ready import Hooks, ReadyGuard

MOST_TOOLS: Final = 10_000
_SHOWN: Final = 200
_RECENT_NS: Final = 2_000_000_000
"""The time after a change, in nanoseconds, within which another change may not alter the file's
times."""


class pinned_tools(ReadyGuard):
    """A guard that stores the declaration of each tool at its first call, and detects changes.

    It compares the name, the description and the parameter schema that the framework or MCP server
    declares. The file has one line of JSON for each tool. To accept a change, remove the line of
    the tool. The tool's next call stores the new declaration.

    Args:
        path: the file. It is created if it does not exist.
        on_change: what to do with calls to a tool that has changed: `"ask"` for an approval, or
            `"block"`.
        hook: the hook to check: a name, several names, or a glob.

    Raises:
        HookError: if the file cannot be used, or other users could have written it.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, on_change: Literal["ask", "block"] = "ask",
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if on_change not in ("ask", "block"):
            raise HookError(f"on_change={on_change!r:.40} must be 'ask' or 'block'")
        self._pins, self._on_change = Pins(Path(path).absolute()), on_change
        self._outermost = Outermost(self) if on_change == "ask" else None
        self._new: dict[str, None] = {}
        self._undeclared: dict[str, None] = {}
        judge = self._judge_of()
        judge.findings = self._findings
        self.on("pre", judge, role="guard")

    def new(self) -> list[str]:
        """Return the tools whose declarations this guard has stored in this process."""
        return list(self._new)

    def _judge_of(self) -> Any:
        def judge(sender: Any, ctx: HookContext) -> Block | Ask | None:
            answer = self._answer(ctx)
            if self._outermost is None:
                return answer
            about = self._unnamed_mark(ctx) if isinstance(answer, Ask) else None
            return self._outermost.apply(ctx, answer, about=about)

        return judge

    def _answer(self, ctx: HookContext) -> Block | Ask | None:
        name = tool_of(ctx)[0]
        if not isinstance(name, str):
            return Block("the call has no tool name", code="pinned")
        if not ("name" in ctx.kwargs and "arguments" in ctx.kwargs):
            return None  # code of this program, which no server can change
        if ctx.kwargs.get("kind") == "unknown":
            return None  # there is no such tool: the framework says so
        declared = self._declared(name, ctx)
        if declared is None:
            return self._undeclared_answer(name)
        mark = _mark_of(name, declared)
        if mark is None:
            return Block(f"the declaration of tool {name[:60]!a} cannot be compared", code="pinned")
        pinned, is_new = self._pins.compare(name, mark, declared)
        if is_new:
            self._new.setdefault(name)
        if pinned == mark:
            return None
        text = f"tool {name[:60]!a} has changed since it was first used"
        described = " ".join(str(declared["description"]).split())[:_SHOWN]
        # An approval counts for equal questions: the mark makes it count for this change only.
        question = f"call its current version ({mark})? Its description: {described}"
        return self._changed(text, question, {"tool": name, "pinned": pinned, "now": mark})

    def _undeclared_answer(self, name: str) -> Block | Ask | None:
        pinned = self._pins.find(name)
        if pinned is not None:
            text = f"tool {name[:60]!a} was pinned, but its current declaration is unknown"
            return self._changed(text, "call it?", {"tool": name, "pinned": pinned})
        if len(self._undeclared) < MOST_TOOLS:
            self._undeclared.setdefault(name)
        return None

    def _changed(self, text: str, question: str, details: dict[str, Any]) -> Block | Ask:
        if self._on_change == "block":
            return Block(text, code="pinned", details=details)
        return Ask(f"{text}; {question}", code="pinned", details=details)

    def _unnamed_mark(self, ctx: HookContext) -> str | None:
        """Return the mark of a tool's declaration without the tool's name, because a layer may add
        a prefix to the name."""
        declared = self._declared(tool_of(ctx)[0], ctx)
        return None if declared is None else _mark_of("", declared)

    def _declared(self, name: str, ctx: HookContext) -> dict[str, Any] | None:
        """Return the declaration of a tool, or None if it is unknown."""
        tool, schema = ctx.kwargs.get("tool"), whole_declaration_of(ctx)
        described = getattr(tool, "__dict__", {}).get("__hookbus_descriptions__", {}).get(name)
        if described is None and schema is not None:
            described = _description_of(tool)
        return None if schema is None else {"description": described or "", "schema": schema}

    def _findings(self) -> list[str]:
        return [f"{name!a} declares no parameters, so changes to them are not detected"
                for name in self._undeclared]  # fmt: skip


@attrs.frozen
class _Contents:
    """The contents of a file of pinned tools.

    Attributes:
        marks: the mark of each tool.
        status: the device, number, size and times of the file, or None if it must be read again.
        ends_line: whether the last line is complete.
    """

    marks: Mapping[str, str]
    status: tuple[int, ...] | None
    ends_line: bool


class Pins:
    """The file of pinned tools. Lines are only appended, and the first line for a tool is valid, so
    several processes can share the file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._last = path, _Contents({}, None, ends_line=True)
        os.close(self._open(os.O_RDWR | os.O_CREAT))
        self._read()

    def compare(self, name: str, mark: str, declared: Mapping[str, Any]) -> tuple[str, bool]:
        """Return the pinned mark of a tool, and whether the tool was new. A new tool is pinned
        first.

        Raises:
            HookError: if the file cannot be read or written.
        """
        if self._last.marks.get(name) == mark:
            return mark, False
        found = self._read()  # a line may have been removed, or added by another process
        is_new = name not in found.marks
        if is_new:
            line = {"tool": name, "mark": mark, "at": round(time.time()),
                    "description": str(declared["description"])[:_SHOWN]}  # fmt: skip
            before = "" if found.ends_line else "\n"  # some editors end a file without it
            descriptor = self._open(os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, f"{before}{json.dumps(line)}\n".encode())
            finally:
                os.close(descriptor)
            found = self._read()  # another process may have been first
        return found.marks[name], is_new and found.marks[name] == mark

    def find(self, name: str) -> str | None:
        """Return the pinned mark of a tool, or None.

        Raises:
            HookError: if the file cannot be read.
        """
        return self._read().marks.get(name)

    def _open(self, flags: int) -> int:
        try:
            return os.open(self._path, flags, 0o600)
        except OSError as error:
            raise HookError(f"{self._path} cannot be used: {error.strerror}") from None

    def _read(self) -> _Contents:
        """Return the contents of the file. The file is read again only if it has changed."""
        status, last = self._status(), self._last  # before reading: a later change is noticed
        if status is not None and status == last.status:
            return last
        known: dict[str, str] = {}
        text = read_trusted(self._path)
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                pin = json.loads(line)
                known.setdefault(pin["tool"], pin["mark"])
            except (ValueError, TypeError, KeyError):
                raise HookError(
                    f"{self._path}:{number} is not a pinned tool: remove the line, so that the "
                    "tool is pinned again"
                ) from None
        self._last = found = _Contents(known, status, not text or text.endswith("\n"))
        return found

    def _status(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None  # reading the file raises the reason
        times = found.st_mtime_ns, found.st_ctime_ns
        if time.time_ns() - max(times) < _RECENT_NS:
            return None
        return found.st_dev, found.st_ino, found.st_size, *times


_DESCRIPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda tool: tool.description,
    lambda tool: tool.tool_spec["description"],  # Strands
    lambda tool: tool.tool_def.description,  # Pydantic AI
    lambda tool: tool.metadata.description,  # LlamaIndex
    lambda tool: tool.__doc__,  # a function
)
"""The attributes in which the tools of frameworks store their description."""


def _description_of(tool: Any) -> Any:
    for read in _DESCRIPTIONS:
        try:
            found = read(tool)
        except Exception:  # the object of this framework has no such attribute
            continue
        if isinstance(found, str):
            return found
    return None


def _mark_of(name: str, declared: Mapping[str, Any]) -> str | None:
    schema = declared["schema"]
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    if isinstance(schema, (list, tuple)):
        schema = [str(each) for each in schema]
    elif isinstance(schema, Mapping) and not isinstance(schema.get("type"), str):
        # A mapping of parameters to types, or to parameters of a signature.
        schema = {
            key: each if isinstance(each, (Mapping, str)) else str(each)
            for key, each in schema.items()
        }
    found = digest({"name": name, "description": declared["description"], "schema": schema})
    return None if found is None else found.hex()
