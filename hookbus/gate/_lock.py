"""The lock that lets only one server run for each settings file.

The server imports this file before hookbus, so it imports nothing from hookbus. The lock is that of
POSIX: a process that a plugin forks does not keep it, and the system knows its holder.
"""

from __future__ import annotations

import os
import struct
import sys

_IS_MAC = sys.platform == "darwin"
_LAYOUT = "qqihh" if _IS_MAC else "hhqqi4x"
"""The structure `flock`: on macOS start, length, process, type, whence; on Linux type, whence,
start, length, process.
"""


def lock(base: str) -> int | None:
    """Lock a file and return the open file, or return None if another process has locked it.

    Args:
        base: the path of the files of the server, without its extension.
    """
    import fcntl  # Windows has none, and every module can be imported there

    number = os.open(f"{base}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(number)
        return None
    return number


def find_holder(base: str) -> int | None:
    """Return the id of the process that has locked the file, or None if no process has locked it.

    The system gives no id, but 0 or -1, for a process in another namespace and for other kinds of
    locks. Whoever gets an id may kill the process, and 0 and -1 would stand for many processes.
    """
    import fcntl

    try:
        number = os.open(f"{base}.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    own = (0, 0, 0, fcntl.F_WRLCK, 0) if _IS_MAC else (fcntl.F_WRLCK, 0, 0, 0, 0)
    asked = struct.pack(_LAYOUT, *own)
    try:
        found = struct.unpack(_LAYOUT, fcntl.fcntl(number, fcntl.F_GETLK, asked))
    finally:
        os.close(number)
    kind, holder = (found[3], found[2]) if _IS_MAC else (found[0], found[4])
    return int(holder) if kind != fcntl.F_UNLCK and holder > 0 else None
