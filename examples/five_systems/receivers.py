"""Three receivers for the calls of tools: the same for every system.

What differs from system to system is two words: what the hook of a tool's call is named, and which
of its arguments holds the arguments of the tool.
"""

import json

from hookbus import Block, signal
from hookbus.testing import record

WISHES = [{"path": "/notes.txt"}, {"path": "/../etc/passwd"}]
"""What the model of each system asks the tool `remove` for."""

ran = []
notes = []


def remove(path: str) -> str:
    """Remove a file.

    Args:
        path: which file.
    """
    ran.append(path)
    return f"removed {path}"


def connect(hook, argument, key=None):
    """Connect the three receivers to a system's hook of tool calls."""

    def arguments_of(ctx):
        return ctx.kwargs[argument] if key is None else ctx.kwargs[argument][key]

    def sandbox(sender, ctx):
        inside = {**arguments_of(ctx), "path": "/sandbox" + arguments_of(ctx)["path"]}
        return {argument: inside if key is None else {**ctx.kwargs[argument], key: inside}}

    def stay_inside(sender, ctx):
        return Block("no way out of the sandbox") if ".." in arguments_of(ctx)["path"] else None

    def note(sender, ctx):
        notes.append(f"{arguments_of(ctx)['path']}: {ctx.outcome}")

    signal(f"pre_{hook}").connect(sandbox, name="sandbox")
    signal(f"pre_{hook}").connect(stay_inside, role="guard", name="stay_inside")
    signal(f"finally_{hook}").connect(note, name="note")


def tell(work):
    """Do a system's work, and print what came of it as JSON."""
    with record() as happened:
        said = work()
    print(
        json.dumps(
            {"ran": ran, "notes": notes, "said": said, "picture": happened._repr_mimebundle_()}
        )
    )
