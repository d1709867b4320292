"""Opens the fleet that a command operates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
from cyclopts import Parameter

from .. import HookError
from .._external.platform import IS_WINDOWS

if TYPE_CHECKING:
    from ..fleet import Fleet

VARIABLE: Final = "HOOKBUS_FLEET"


@Parameter(name="*")
@attrs.frozen
class At:
    """The fleet."""

    url_file: Path | None = None
    """a file with the URL of the Postgres, readable by you only. Default: HOOKBUS_FLEET."""

    schema: str = "hookbus"
    """the schema of the fleet."""

    def url(self) -> str:
        """Return the URL of the fleet. The URL is not an option, because all users can see command
        lines.

        Raises:
            HookError: if no URL is configured, or if other users can read its file.
        """
        if self.url_file is None:
            if not (url := os.environ.get(VARIABLE)):
                raise HookError(f"no fleet is configured: set {VARIABLE}, or pass --url-file FILE")
            return url
        if not IS_WINDOWS and self.url_file.stat().st_mode & 0o077:
            raise HookError(
                f"{self.url_file} holds a password and can be read by others: "
                f"chmod 600 {self.url_file}"
            )
        return self.url_file.read_text(encoding="utf-8").strip()

    def opened(self) -> Fleet:
        """Return the fleet."""
        from ..fleet import Fleet

        return Fleet(self.url(), schema=self.schema)
