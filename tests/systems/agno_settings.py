"""Agno on hookbus, strict or in both modes."""

import pytest
from agno.tools.function import Function, FunctionCall

from hookbus.adapters import agno

from .agno_parts import ScriptedModel


@pytest.fixture
def strict(bus):
    uninstall = agno.install(bus, strict=True)
    yield
    uninstall()


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def either(bus, request):
    uninstall = agno.install(bus, strict=request.param)
    yield request.param
    uninstall()


def fc_of(entrypoint, arguments=None, **options):
    return FunctionCall(
        function=Function(name="tool", entrypoint=entrypoint, **options), arguments=arguments
    )


def executed(*args, **options):
    return fc_of(*args, **options).execute()


async def in_a_run(fc):
    """Execute a call as an async run does."""
    return (await ScriptedModel().arun_function_call(fc))[3]
