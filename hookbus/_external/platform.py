"""Inspect processes and accounts, and lock files, on every operating system."""

from __future__ import annotations

import os
from typing import Any, Final

IS_WINDOWS: Final = os.name == "nt"


def is_process_running(pid: int) -> bool:
    """Return whether a process exists. Return True if the system cannot answer.

    Raises:
        PermissionError: if the process belongs to another user.
        OverflowError: if the number is too large for a process id.
    """
    if IS_WINDOWS:
        return _is_running_on_windows(pid)
    send: Any = getattr(os, "kill", None)
    if send is None:
        return True
    try:
        send(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _is_running_on_windows(pid: int) -> bool:
    # os.kill(pid, 0) would send Ctrl-C on Windows.
    import ctypes

    query, still_active, invalid_parameter, access_denied = 0x1000, 259, 87, 5
    windows: Any = ctypes
    kernel = windows.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = ctypes.c_void_p  # a handle has the size of a pointer
    handle = kernel.OpenProcess(query, False, pid)
    if not handle:
        error = windows.get_last_error()
        if error == access_denied:
            raise PermissionError(f"process {pid} belongs to another user")
        return bool(error != invalid_parameter)
    try:
        code = ctypes.c_ulong()
        is_known = kernel.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(code))
        return not is_known or code.value == still_active
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


def user_name() -> str:
    """Return the name of the account of this process, or a description if the account has no name.
    """
    name = account_name()
    if name is not None:
        return name
    number: Any = getattr(os, "getuid", None)
    return "unknown user" if number is None else f"user {number()}"


def account_name() -> str | None:
    """Return the name of the account of this process, or None if the account has no name.

    The function does not read environment variables, because the user can set them.
    """
    try:
        return os.getlogin() if IS_WINDOWS else _name_of_uid()
    except (OSError, ImportError, KeyError):  # a system without users, or a user without a name
        return None


def _name_of_uid() -> str:
    import pwd

    users: Any = pwd
    return str(users.getpwuid(os.getuid()).pw_name)


def read_at(file: int, count: int, position: int) -> bytes:
    """Return bytes from a position in an open file. Other code may append to the file, but must not
    change it in other ways.
    """
    read: Any = getattr(os, "pread", None)
    if read is not None:
        return bytes(read(file, count, position))
    os.lseek(file, position, os.SEEK_SET)
    return os.read(file, count)


BINARY: Final[int] = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags of `os.open` for binary files that child processes do not inherit."""


class NoLocks(OSError):
    """The operating system or the file system cannot lock files."""


def lock_file(file: int) -> bool:
    """Lock an open file until it is closed or this process ends in any way. Return False if another
    open file holds the lock.

    A child process that inherits the open file also holds the lock.

    Raises:
        NoLocks: if the operating system or the file system cannot lock files.
    """
    try:
        (_lock_on_windows if IS_WINDOWS else _lock_on_posix)(file)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise NoLocks(f"this system or file system cannot lock files ({why})") from None
    return True


def _lock_on_posix(file: int) -> None:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(file: int) -> None:
    import msvcrt

    windows: Any = msvcrt
    # Bytes that are locked cannot be read, so lock one behind all data.
    os.lseek(file, 1 << 30, os.SEEK_SET)
    windows.locking(file, windows.LK_NBLCK, 1)
    os.lseek(file, 0, os.SEEK_SET)
