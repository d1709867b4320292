"""One guard, one redactor and one audit observer: the same three under every framework."""

import json

from hookbus import Block, signal
from hookbus.testing import record

WISHES = [{"path": "notes.txt"}, {"path": "../etc/passwd"}]
"""What the model of each framework asks the tool `read` for."""

ran, notes = [], []


def read(path: str) -> str:
    """Read a file.

    Args:
        path: which file.
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


def tell(work):
    """Do a framework's work, and print what came of it as JSON: `work` returns what its model was
    told.
    """
    with record() as happened:
        told = work()
    picture = happened._repr_mimebundle_()
    print(json.dumps({"ran": ran, "notes": notes, "told": told, "picture": picture}))
