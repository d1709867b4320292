"""Addresses in arguments lead to public hosts."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import Any, Final

from .. import Block, HookError
from ._plugged import Covered, Plugged, globs

ARGUMENTS: Final = ("*url*", "*uri*", "*host*", "*endpoint*", "*webhook*")
LOOKUP_SECONDS: Final = 5.0

_URL: Final = re.compile(
    r"(?:https?://)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/[\x21-\x5b\x5d-\x7e\x80-\U0010ffff]*|[?#][\x21-\x3f\x41-\x5b\x5d-\x7e]*)?",
    re.IGNORECASE,
)
"""An address that all readers take for the same one: no user, no blank, no backslash, and no `@`
behind a host that ends in `?` or `#`.
"""

_FORM: Final = re.compile(r"(?i:https?|wss?|ftp)://|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\Z")
"""What a value looks like that is probably an address."""

_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")

_NOT_PUBLIC: Final = [
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        "168.63.129.16/32",  # the metadata of Azure, among public addresses
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    )
]  # fmt: skip
"""The special registries of IANA (RFC 6890 and after), and what clouds keep their secrets at."""

_PUBLIC_6: Final = ipaddress.ip_network("2000::/3")


class public_hosts(Plugged):
    """A guard that lets addresses in arguments lead to public hosts only, by http or https.

    A name is looked up, and all its addresses must be public; without an answer it is blocked. The
    tool looks it up again: see the page for what that means.

    Args:
        arguments: globs over the names of arguments at any depth, whatever their case; what stands
            under a name that matches is judged: an address, or a host with or without a port.
        allow: exact names or addresses that may be reached whatever they are.
        hook: the hook whose calls it judges; it has the argument `arguments`.

    Raises:
        HookError: for a glob or a name that is none.
    """

    def __init__(
        self, arguments: Iterable[str] = ARGUMENTS, allow: Iterable[str] = (), *,
        hook: str = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        self._allowed = {each.lower().strip("[]").rstrip(".") for each in globs(allow, "allow=")}
        for each in self._allowed:
            if "*" in each or "/" in each:
                raise HookError(f"allow= takes exact names and addresses, not {each!r:.60}")
        covered = Covered(arguments, ARGUMENTS, _FORM)

        def judge(sender: Any, arguments: Any) -> Block | None:
            try:
                for path, value in covered.of(arguments):
                    why = self._refused(value)
                    if why is not None:
                        return Block(f"{path} {why}", code="host")
            except HookError as error:
                return Block(str(error), code="host")
            return None

        judge.findings = covered.findings  # type: ignore[attr-defined]
        # A name server may be slow: in a thread, so that it holds no loop up.
        self.on("pre", judge, role="guard", timeout=LOOKUP_SECONDS)

    def check(self, url: str) -> None:
        """Judge an address elsewhere, such as where a client is sent on to another one.

        Raises:
            HookError: if it does not lead to a public host.
        """
        why = self._refused(url)
        if why is not None:
            raise HookError(f"the address {why}")

    def _refused(self, value: Any) -> str | None:
        """Say why an address is refused, or return None."""
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if not isinstance(value, str):
            return f"is no address: {type(value).__name__}"
        found = _URL.fullmatch(value)
        if found is None:
            return "is no plain http or https address"
        host = found["host"].strip("[]").lower().removesuffix(".")
        if host in self._allowed:
            return None
        try:
            addresses = _addresses(host, int(found["port"] or 443), "[" in found["host"])
        except (OSError, UnicodeError):
            return "has no address"
        except ValueError:
            return "is no plain name or address of a host"
        if not addresses or not all(self._may(each) for each in addresses):
            return "does not lead to a public host"
        return None

    def _may(self, address: str) -> bool:
        return address in self._allowed or is_public(address)


def is_public(address: str) -> bool:
    """Tell whether an address, as text, is one of the public network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and (parsed.scope_id or parsed not in _PUBLIC_6):
        return False
    return not any(parsed in each for each in _NOT_PUBLIC if each.version == parsed.version)


def _addresses(host: str, port: int, is_bracketed: bool) -> list[str]:
    """Return where a host leads, as `getaddrinfo` answers; raise ValueError for what is no name."""
    if is_bracketed:
        return [str(ipaddress.IPv6Address(host))]
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # readers differ in all numbers but four plain ones
        return [str(ipaddress.IPv4Address(host))]
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(host)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in found]
