"""Finds Windows paths that programs may interpret differently."""

from __future__ import annotations

import ntpath
import re
from typing import Final

_DEVICES: Final = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\u00b9\u00b2\u00b3])[ .]*(?:[.:].*)?\Z",
    re.IGNORECASE | re.DOTALL,
)
_DRIVE: Final = re.compile(r"[A-Za-z]:|\\\\[^\\:]+\\[^\\:]+")
_NO_NAME: Final = re.compile('[<>"|?*]')


def why_odd(path: str) -> str | None:
    """Return the reason why a path is ambiguous on Windows, or None.

    An absolute path begins with a drive and a slash, or with a server and a share. Forward slashes
    and backslashes are treated alike.
    """
    drive, rest = ntpath.splitdrive(path.replace("/", "\\"))
    if drive.startswith(("\\\\?", "\\\\.")):
        return "names a device"
    if drive.endswith(":") and not rest.startswith("\\"):
        return "names a drive without a folder"
    if not drive and rest.startswith("\\"):
        return "has no drive"
    if ":" in rest or (drive and not _DRIVE.fullmatch(drive)):
        return "is an address, or names a stream of a file"
    for part in (*drive.split("\\"), *rest.split("\\")):
        if part in (".", ".."):
            continue
        if part.endswith((".", " ")):
            return "has a name that ends with a dot or a space, which Windows removes"
        if _DEVICES.match(part):
            return "names a device"
        if _NO_NAME.search(part):
            return "has a character that is not allowed in names on Windows"
    return None


def share_of(path: str) -> str:
    r"""Return the share of a path, such as `\\server\share`, in lower case, or "" on a drive."""
    drive = ntpath.splitdrive(path.replace("/", "\\"))[0]
    return drive.lower() if drive.startswith("\\\\") else ""
