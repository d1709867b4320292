"""How long a test waits for what another process, or an agent, does by itself."""

from typing import Final

SECONDS: Final = 600
"""Longer than anything takes on a busy machine, where the import of a framework alone may take two
minutes: whatever is not done by then hangs."""
