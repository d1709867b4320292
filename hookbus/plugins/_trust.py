"""Checks whether the folder of a plugin can be trusted. No file in it may be a link to the outside,
be writable by everyone, or belong to another user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from hookbus.exceptions import PluginError

from .._external.trust import check_owner


def check_place(root: str) -> None:
    """Raise PluginError if users other than the owner and root can change a folder of plugins."""
    if not os.path.isdir(root):
        raise PluginError(f"{root} is not a folder", "pass a folder that contains plugin folders")
    check_owner(root, os.stat(root))


def check_folder(folder: str, root: str) -> None:
    """Raise PluginError unless all files in a plugin's folder can be trusted.

    The operator is responsible for the folders above `root`. On Windows, modes and owners are not
    checked.
    """
    real = os.path.realpath(folder)
    if not _is_inside(real, os.path.realpath(root)):
        raise PluginError(
            f"{folder} points outside {root}, to {real}", "put the plugin itself there, not a link"
        )
    for path in (real, *_below(real)):
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            if not _is_inside(os.path.realpath(path), real):
                raise PluginError(
                    f"{path} points outside the plugin's folder",
                    "put the file itself there, not a link",
                )
        elif not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise PluginError(f"{path} is neither a file nor a folder", "remove it")
        check_owner(path, status)


def _below(folder: str) -> Iterator[str]:
    def stop(error: OSError) -> None:
        raise PluginError(
            f"{error.filename} cannot be read ({error.strerror})", "make it readable, or remove it"
        )

    for path, folders, files in os.walk(folder, onerror=stop):
        for name in sorted((*folders, *files)):
            yield os.path.join(path, name)


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
