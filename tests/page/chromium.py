"""A real browser, and what the tests of the page need to use it.

Its tests take a minute. They are skipped unless `HOOKBUS_BROWSER` is `required`, as in `.ci/run`,
or a path such as `/path/to/chromium`. Anything that is missing is then a failure.
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
    """Fail a test that needs what is not installed; where nobody asked for a browser, skip it."""
    if ASKED:
        pytest.fail(f"{what} is required here, and not installed")
    pytest.skip("needs a browser: HOOKBUS_BROWSER=required", allow_module_level=True)


def playwright():
    """Return what drives the browser."""
    try:
        return import_module("playwright.sync_api")
    except ModuleNotFoundError:
        return missing("playwright")


@contextmanager
def running():
    """Start the browser."""
    path = (program() if ASKED else None) or missing("Chromium")
    with playwright().sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def until(page, count):
    """Wait until the list of a page shows so many calls, and return their rows."""
    shown = page.locator("#shown")
    playwright().expect(shown).to_have_text(re.compile(f"^{count:,} call"), timeout=10_000)
    return page.locator("#calls .rows [role=row]")


def settled(page):
    """Wait until the list of what waits for a yes takes answers: just after it has moved it takes
    none.
    """
    page.locator("#waiting li").first.wait_for()
    page.wait_for_timeout(700)


def axe():
    """Return the source of axe-core."""
    if not AXE.exists():
        missing("axe-core (npm install --prefix build/npm --no-save axe-core)")
    return AXE.read_text()
