"""Allows only public hosts in the addresses of arguments (SSRF protection)."""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, Final, NamedTuple

from .. import Block, HookContext, HookError
from ._call import contents_of
from ._covered import Covered
from ._ready import LAST, Hooks, ReadyGuard, globs, live

ARGUMENTS: Final = ("*url*", "*uri*", "*host*", "*endpoint*", "*webhook*")
LOOKUP_SECONDS: Final = 5.0

_URL: Final = re.compile(
    r"(?:https?://)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/[\x21-\x5b\x5d-\x7e\x80-\U0010ffff]*|[?#][\x21-\x3f\x41-\x5b\x5d-\x7e]*)?",
    re.IGNORECASE | re.ASCII,
)
"""An address that all parsers read in the same way: without a user name, space or backslash, and
without `@` in a query or fragment that directly follows the host.
"""

_FORM: Final = re.compile(r"(?i:https?|wss?|ftp)://|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\Z")
"""Matches a value that is probably an address."""

_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")

_NOT_PUBLIC: Final = [
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        "168.63.129.16/32",  # the metadata service of Azure, in a public range
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    )
]  # fmt: skip
"""The ranges that are not public: most of IANA's special-purpose registries (RFC 6890 and later),
multicast, and cloud metadata services.
"""

_RANGES: Final = {
    version: [(int(each[0]), int(each[-1])) for each in _NOT_PUBLIC if each.version == version]
    for version in (4, 6)
}

_PUBLIC_6: Final = ipaddress.ip_network("2000::/3")


class _Name(NamedTuple):
    host: str
    port: int


class _LookUps:
    """The host names in a call with the paths of their arguments (`names`), and the names that this
    attempt has resolved (`done`). `done` is None until the guards have allowed the attempt.
    """

    def __init__(self) -> None:
        self.names: Mapping[_Name, str] = {}
        self.done: Any = None

    @property
    def is_due(self) -> bool:
        """Whether the guards have allowed the call but a host name is not yet resolved."""
        return self.done is not None and not self.names.keys() <= self.done


class public_hosts(ReadyGuard):
    """A guard that allows only public hosts in arguments: `http` and `https` URLs, or host names.

    The guard resolves host names after all other guards have allowed the call, and after any
    approval. Every address of the name must be public or allowed. If the name cannot be resolved,
    the call is blocked. The tool resolves the name again and may get another address.

    Args:
        arguments: globs of argument names at any depth, ignoring case. Everything under a matching
            name is checked, including keys: it must be a URL, or a host with or without a port. A
            call with an object that cannot be inspected is blocked.
        allow: exact host names or IP addresses that are always allowed.
        hook: the hook to check: a name, several names, or a glob.

    Raises:
        HookError: for an invalid glob or host name.
    """

    def __init__(
        self, arguments: Iterable[str] = ARGUMENTS, allow: Iterable[str] = (), *,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        self._allowed = {each.lower().strip("[]").rstrip(".") for each in globs(allow, "allow=")}
        for each in self._allowed:
            if "*" in each or "/" in each:
                raise HookError(f"allow= needs exact names or addresses, not {each!r:.60}")
        covered = Covered(arguments, ARGUMENTS, _FORM)

        def judge(sender: Any, ctx: HookContext) -> Any:
            names, seen = dict[_Name, str](), set[str]()
            try:
                for path, value in covered.of(contents_of(ctx)):
                    if type(value) is str:
                        if value in seen:
                            continue
                        seen.add(value)
                    found = self._judged(value)
                    if isinstance(found, str):
                        return Block(f"{path} {found}", code="host")
                    if found is not None:
                        names.setdefault(found, path)
            except HookError as error:
                return Block(str(error), code="host")
            lookups = ctx.state.setdefault(self, _LookUps())
            lookups.names = names
            return self._look_up_of(ctx)(lookups) if lookups.is_due else None

        judge.findings = covered.findings  # type: ignore[attr-defined]
        # Resolving a name reveals it to a name server, so this waits for all other guards and for
        # any approval.
        self.on("pre", judge, role="guard", priority=LAST)
        self.on("around", self._around_of(), priority=LAST)

    def check(self, url: str) -> None:
        """Check one address directly, such as the target of a redirect.

        Raises:
            HookError: if the host of the address is neither public nor allowed.
        """
        found = self._judged(url)
        why = found if found is None or isinstance(found, str) else self._leads(found)
        if why is not None:
            raise HookError(f"the address {why}")

    def _around_of(self) -> Callable[..., Any]:
        def around(sender: Any, call_next: Callable[..., Any], ctx: HookContext) -> Any:
            lookups: _LookUps = ctx.state.setdefault(self, _LookUps())
            lookups.done = set()
            if ctx.is_async:
                return self._awaited(lookups, call_next)
            return self._look_up(lookups) or call_next()

        return live(around)

    async def _awaited(self, lookups: _LookUps, call_next: Callable[..., Any]) -> Any:
        if blocked := await self._look_up_async(lookups):
            return blocked
        made = call_next()
        return await made if inspect.iscoroutine(made) else made

    def _look_up_of(self, ctx: HookContext) -> Callable[[_LookUps], Any]:
        return self._look_up_async if ctx.is_async else self._look_up

    def _look_up(self, lookups: _LookUps) -> Block | None:
        """Resolve all remaining names. Return a `Block` if a name must be refused, or None."""
        if not lookups.is_due:
            return None
        try:
            return self._started(lookups).result(LOOKUP_SECONDS)
        except TimeoutError:
            return Block("a host name could not be resolved in time", code="host")

    async def _look_up_async(self, lookups: _LookUps) -> Block | None:
        if not lookups.is_due:
            return None
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await asyncio.wrap_future(self._started(lookups))
        except TimeoutError:
            return Block("a host name could not be resolved in time", code="host")

    def _started(self, lookups: _LookUps) -> Future[Block | None]:
        """Start to resolve names in a separate thread, which may outlive the call."""
        future: Future[Block | None] = Future()
        names = {name: path for name, path in lookups.names.items() if name not in lookups.done}
        lookups.done |= names.keys()

        def look_up() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                found = ((path, self._leads(name)) for name, path in names.items())
                blocks = (Block(f"{path} {why}", code="host") for path, why in found if why)
                future.set_result(next(blocks, None))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=look_up, name="hookbus look-up", daemon=True).start()
        return future

    def _judged(self, value: Any) -> str | _Name | None:
        """Return the reason why an address is refused, or the host name to resolve, or None."""
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if not isinstance(value, str):
            return f"is not an address: {type(value).__name__}"
        found = _URL.fullmatch(value)
        if found is None:
            return "is not a plain http or https address"
        host = found["host"].strip("[]").lower().removesuffix(".")
        if host in self._allowed:
            return None
        try:
            address = _address(host, "[" in found["host"])
        except ValueError:
            return "is not a plain host name or IP address"
        if address is None:
            return _Name(host, int(found["port"] or 443))
        return None if self._may(address) else "does not lead to a public host"

    def _leads(self, name: _Name) -> str | None:
        """Resolve a name, and return the reason if the name is refused, or None."""
        try:
            found = socket.getaddrinfo(name.host, name.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return "could not be resolved"
        addresses = [str(answer[4][0]) for answer in found]
        if not addresses or not all(self._may(each) for each in addresses):
            return "does not lead to a public host"
        return None

    def _may(self, address: str) -> bool:
        return address in self._allowed or is_public(address)


@lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Return whether an IP address, as a string, is public."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and (parsed.scope_id or parsed not in _PUBLIC_6):
        return False
    number = int(parsed)
    return not any(first <= number <= last for first, last in _RANGES[parsed.version])


@lru_cache(maxsize=4096)
def _address(host: str, is_bracketed: bool) -> str | None:
    """Return a host as an IP address, or None if it is a name. Raise ValueError if it is neither an
    address nor a name."""
    if is_bracketed:
        return str(ipaddress.IPv6Address(host))
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # parsers agree only on four plain numbers
        return str(ipaddress.IPv4Address(host))
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(host)
    return None
