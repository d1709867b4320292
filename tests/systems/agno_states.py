"""Agno before `install`, on hookbus with or without listeners, and after `uninstall`."""

import asyncio
import functools
import inspect
import logging
from importlib import metadata

import pytest
from agno.tools.function import Function, FunctionCall

from hookbus import Bus
from hookbus.adapters import agno
from hookbus.testing import record

IS_3 = metadata.version("agno").startswith("3.")


@pytest.fixture(params=["before", "during", "heard", "after"], autouse=True)
def state(request):
    if request.param == "before":
        yield
        return
    bus = Bus(values=True)
    uninstall = agno.install(bus)
    if request.param == "after":
        uninstall()
    if request.param == "heard":
        with record(bus):
            yield
    else:
        yield
    uninstall()


@pytest.fixture
def logged():
    """What Agno logs while the test runs."""
    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    keep = Keep()
    loggers = [logging.getLogger(name) for name in ("agno", "agno-team", "agno-workflow")]
    for logger in loggers:
        logger.addHandler(keep)
    yield lines
    for logger in loggers:
        logger.removeHandler(keep)


@pytest.fixture(params=["sync", "async"])
def execute(request):
    if request.param == "sync":
        return lambda fc: fc.execute()

    def execute(fc):
        if not IS_3 and fc.function.tool_hooks:
            # 2.9.0 does not await what a plain hook of an async call returns.
            fc.function.tool_hooks = [hook_that_awaits(hook) for hook in fc.function.tool_hooks]
        return asyncio.run(fc.aexecute())

    return execute


def hook_that_awaits(hook):
    @functools.wraps(hook)
    async def wrapped(**kwargs):
        return await value_of(hook(**kwargs))

    return wrapped


def called(execute, entrypoint, arguments, **options):
    """Call a tool; return the FunctionCall, which has the result, and what executing it gave."""
    fc = FunctionCall(
        function=Function(name="tool", entrypoint=entrypoint, **options), arguments=arguments
    )
    return fc, execute(fc)


async def value_of(given):
    return await given if inspect.isawaitable(given) else given
