"""What PyInstaller cannot see: modules that are loaded when first asked for, and files beside them.
"""

from __future__ import annotations

import os


def hook_folders() -> list[str]:
    """Return where PyInstaller finds the hooks of hookbus; its entry point calls this."""
    return [os.path.dirname(__file__)]
