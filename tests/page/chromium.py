"""A real browser, and what is needed to look at the page with it.

Where none is installed its tests are skipped, except with `HOOKBUS_BROWSER=required`, which
`.ci/run` says. `HOOKBUS_BROWSER=/path/to/chromium` names one.
"""

import os
import re
import shutil
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = os.environ.get("HOOKBUS_BROWSER", "")
IS_REQUIRED = ASKED == "required"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
AXE = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"


def program():
    """Return the path of a browser, or None."""
    return ASKED if "/" in ASKED else next(filter(None, map(shutil.which, NAMES)), None)


def missing(what):
    """Skip a test that needs what is not installed, or fail where all has to be."""
    if IS_REQUIRED:
        pytest.fail(f"{what} is required here, and not installed")
    pytest.skip(f"{what} is not installed", allow_module_level=True)


def playwright():
    """Return what drives the browser."""
    try:
        return import_module("playwright.sync_api")
    except ModuleNotFoundError:
        return missing("playwright")


@contextmanager
def running():
    """Start the browser."""
    path = program() or missing("Chromium")
    with playwright().sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def until(page, count):
    """Wait until the list of a page shows so many calls, and return their rows."""
    shown = page.locator("#shown")
    playwright().expect(shown).to_have_text(re.compile(f"^{count:,} call"), timeout=10_000)
    return page.locator("#calls .rows [role=row]")


def axe():
    """Return the source of axe-core."""
    if not AXE.exists():
        missing("axe-core (npm install --prefix build/npm --no-save axe-core)")
    return AXE.read_text()
