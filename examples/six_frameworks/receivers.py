"""One guard, one redactor and one audit observer, the same under every framework."""

import json

from hookbus import Block, signal
from hookbus.testing import record

REQUESTS = [{"path": "notes.txt"}, {"path": "../etc/passwd"}]
"""The calls of the tool `read` that the model of each framework requests."""

ran, notes = [], []


def read(path: str) -> str:
    """Read a file.

    Args:
        path: the file.
    """
    ran.append(path)
    return f"{path}: call ada@example.org"


@signal("pre_tool_call").connect_via(role="guard", when={"name": "read"})
def stay_inside(tool, arguments):
    return Block("no way out of the folder") if ".." in arguments["path"] else None


@signal("post_tool_call").connect_via(on_error="block", when={"name": "read"})
def no_addresses(tool, result):
    return str(result).replace("ada@example.org", "<address>")


@signal("finally_tool_call").connect_via(when={"name": "read"})
def audit(tool, arguments, ctx):
    notes.append(f"{arguments['path']}: {ctx.outcome}")


def print_results(work):
    """Run a framework, and print the results as JSON. `work` returns the messages to its model."""
    with record() as recording:
        messages = work()
    picture = recording._repr_mimebundle_()
    print(json.dumps({"ran": ran, "notes": notes, "messages": messages, "picture": picture}))
