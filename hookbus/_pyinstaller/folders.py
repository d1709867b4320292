"""Tells PyInstaller where the hooks of hookbus are; its entry point names this module."""

from __future__ import annotations

import os


def hook_folders() -> list[str]:
    """Return the folders with files named `hook-MODULE.py`."""
    return [os.path.dirname(__file__)]
