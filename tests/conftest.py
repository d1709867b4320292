"""What every test may use, how they are dealt out to several processes, and how to run them all by
generated code.
"""

import gc
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
TESTS = Path(__file__).parent
TOGETHER = ("demo", "plugins/test_plugins_installed.py")
"""What takes long to set up, once: these run in one process each, where there are several."""


def pytest_addoption(parser):
    parser.addoption(
        "--compiled", action="store_true",
        help="compile every plan at its first call, where that can be done",
    )  # fmt: skip


def pytest_configure(config):
    config.addinivalue_line("markers", "xdist_group(name): run in one process")


def pytest_itemcollected(item):
    for place in TOGETHER:
        if item.path.is_relative_to(TESTS / place):
            item.add_marker(pytest.mark.xdist_group(place))


def pytest_collection_finish():
    """What is imported by now stays, so the many collections that tests ask for may pass it over."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _path(request):
    if request.config.getoption("--compiled"):
        from tests.properties.paths import compiled

        with compiled():
            yield
    else:
        yield
