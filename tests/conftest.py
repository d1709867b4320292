"""What every test may use, and how to run them all by generated code."""

import gc

import pytest

pytest_plugins = ["pytester"]


def pytest_addoption(parser):
    parser.addoption(
        "--compiled", action="store_true",
        help="compile every plan at its first call, where that can be done",
    )  # fmt: skip


def pytest_collection_finish():
    """What is imported by now stays: the many collections tests ask for may pass it over."""
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
