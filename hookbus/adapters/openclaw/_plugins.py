"""What a plugin says when it registers, and what is known of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from hookbus import HookError

from ._dispatch import Registration

if TYPE_CHECKING:
    from ._registry import Registry

Matcher = Sequence[str] | Callable[[str], bool]

_NOT_CANONICAL: Final = {"bash", "exec_command", "apply-patch", "agent"}


@attrs.frozen
class Diagnostic:
    """Something that is not as it should be.

    Attributes:
        level: how bad it is.
        plugin_id: which plugin it is about.
        message: what it is.
    """

    level: Literal["warn", "error"]
    plugin_id: str
    message: str


@attrs.define
class Plugin:
    """A plugin that has registered something.

    Attributes:
        id: what it is called.
        status: `loaded`, or `disabled` once it was taken out.
        version: of its package.
        config: its settings.
    """

    id: str
    status: Literal["loaded", "disabled"] = "loaded"
    version: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=lambda: MappingProxyType({}))


class PluginApi:
    """What `register(api)` of a plugin is given. All it says is checked; it is connected once `register` has returned.

    Attributes:
        plugin_id: the plugin.
        config: its settings, read-only.
    """

    plugin_id: str
    config: Mapping[str, Any]

    def __init__(self, registry: Registry, plugin_id: str, config: Mapping[str, Any]) -> None:
        self.plugin_id, self.config = plugin_id, MappingProxyType(dict(config))
        self.registrations: list[Registration] = []
        self.provisions: list[tuple[str, str, Any]] = []
        self._registry, self._is_open = registry, True

    def on(self, hook: str, handler: Callable[..., Any], **options: Any) -> None:
        """Register a handler for a hook; the options are those of `Registry.on`."""
        self._check_open()
        registration = self._registry.prepare(self.plugin_id, hook, handler, **options)
        if registration is not None:
            self.registrations.append(registration)

    def provide(self, kind: str, name: str, value: Any) -> None:
        """Register a value that has one owner, by kind and name; see `Registry.provide`."""
        self._check_open()
        self.provisions.append((kind, name, value))

    def close(self) -> None:
        """Take no more registrations: `register` has returned."""
        self._is_open = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise HookError(f"the plugin {self.plugin_id} has registered already: say it inside register(api)")


def exact_matcher(matcher: object) -> Callable[[str], bool]:
    """Return what tells whether a tool is one of these ids.

    Raises:
        TypeError: unless it is a list of ids as OpenClaw has them: no wildcard, no alias, not empty.
    """
    if not isinstance(matcher, (list, tuple)):
        raise TypeError("tool hook matcher must be an array of tool names")
    if not matcher:
        raise TypeError("tool hook matcher must contain at least one tool name")
    ids = set()
    for tool in matcher:
        name = tool.strip().lower() if isinstance(tool, str) else ""
        if not name:
            raise TypeError("tool hook matcher entries must be non-empty strings")
        if name == "*":
            raise TypeError("tool hook matcher wildcard entries are not supported")
        if name in _NOT_CANONICAL or tool.strip() in ("Write", "Edit"):
            raise TypeError("tool hook matcher entries must use canonical OpenClaw tool ids")
        ids.add(name)
    return lambda tool: tool.strip().lower() in ids


def free_matcher(matcher: Any) -> Callable[[str], bool]:
    """Return what tells whether a tool is wanted: by ids and globs, a pattern, or a predicate.

    Raises:
        TypeError: if it is none of these, or empty.
    """
    if isinstance(matcher, re.Pattern):
        return lambda tool: matcher.fullmatch(tool) is not None
    if callable(matcher):
        return lambda tool: bool(matcher(tool))
    globs = [matcher] if isinstance(matcher, str) else matcher
    if not isinstance(globs, (list, tuple)) or not globs or not all(isinstance(glob, str) and glob.strip() for glob in globs):
        raise TypeError(f"a matcher is a glob or several, a pattern or a predicate of the tool's id, not {matcher!r:.60}")
    return lambda tool: any(fnmatchcase(tool, glob) for glob in globs)


def eligible(values: Any, known: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return a list of the known words as it restricts; None, which does not, where it is malformed."""
    is_list = isinstance(values, (list, tuple)) and values and all(value in known for value in values)
    return tuple(dict.fromkeys(values)) if is_list else None
