"""Stock Bub, Bub on hookbus with or without listeners, and after uninstall."""

import pytest
from bub.hooks.interception import ToolCall
from loguru import logger

from hookbus import Bus
from hookbus.adapters import bub


@pytest.fixture(params=["before", "during", "heard", "after"], autouse=True)
def setting(request):
    """Stock Bub; on hookbus; on hookbus with a listener, so that every call goes through it; and
    given back."""
    if request.param == "before":
        yield
        return
    bus = Bus()
    uninstall = bub.install(bus)
    if request.param == "heard":
        bus.events.connect(lambda bus, event: None, name="listener")
    if request.param == "after":
        uninstall()
    yield
    uninstall()


@pytest.fixture
def logged():
    """What Bub logs from WARNING on, as texts."""
    lines = []
    sink = logger.add(
        lambda message: lines.append(message.record["message"]), level="WARNING", format="{message}"
    )
    yield lines
    logger.remove(sink)


def saying(told, word, answer=None):
    def implementation():
        told.append(word)
        return answer

    return implementation


CALL = ToolCall("run", "bash", {"cmd": "ls"})
