"""A framework made for the tests of the kit, under the version of pluggy."""

import json
from importlib import metadata

import attrs
import pytest

from hookbus import Block, Bus
from hookbus.adapters.kit import Adapter, Sample

VERSION = metadata.version("pluggy")
HERE = __name__


# -- a framework -----------------------------------------------------------------------------------


class Tool:
    """Tools are run with arguments by name, or with the text of a model."""

    def __init__(self, name, body):
        self.name, self.body = name, body

    def run(self, arguments, call_id=None):
        return {"content": self.body(**arguments)}

    async def arun(self, arguments, call_id=None):
        return self.run(arguments, call_id)

    def spread(self, amount, to="ann", *, call_id=None):
        return self.run({"amount": amount, "to": to}, call_id)

    def typed(self, text, context=None):
        return self.run(json.loads(text))

    async def parts(self, arguments):
        yield {"content": "working"}
        yield self.run(arguments)


class Child(Tool):
    def run(self, arguments, call_id=None):
        return super().run(arguments, call_id)


@attrs.frozen
class Request:
    tool: Tool
    arguments: dict


def send(request, *, by=None):
    return request.tool.body(**request.arguments)


def adapter_of(path, sample=None, tested=(VERSION, VERSION), **fields):
    made = Adapter(
        "pluggy", tested=tested, shown=lambda raw: raw["content"],
        packed=lambda call, raw, value: {"content": value}, sample=sample,
        refused=lambda refused: {"content": refused.text, "is_error": True},
    )  # fmt: skip
    made.tool(f"{HERE}:{path}", **fields)
    return made


@pytest.fixture
def installed():
    undo = []

    def install(adapter):
        bus = Bus(values=True)
        undo.append(adapter.install(bus))
        return bus

    yield install
    while undo:
        undo.pop()()


def pay(amount, to="ann"):
    return f"paid {amount} to {to}"


def calls_of(bus):
    """Return a list of what a guard sees of each call; it blocks payments to eve."""
    seen = []

    @bus.signal("pre_tool_call").connect_via(role="guard", name="guard", weak=False)
    def guard(sender, name, arguments, kind, call_id, caller):
        seen.append((name, dict(arguments), kind, call_id, caller))
        return Block("not to eve") if arguments.get("to") == "eve" else None

    return seen


def sample(body):
    tool = Child("pay", body)

    async def arun(amount, to):
        return await tool.arun({"amount": amount, "to": to})

    return Sample(
        {"Tool.run": lambda amount, to: tool.run({"amount": amount, "to": to}), "Tool.arun": arun},
        refused=lambda given: given["content"] if given.get("is_error") else "",
        when={"name": "pay"},
    )  # fmt: skip
