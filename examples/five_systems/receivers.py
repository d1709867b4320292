"""Three receivers for tool calls, the same for every system.

The systems differ in two names only: that of the hook for tool calls, and that of its argument with
the arguments of the tool.
"""

import json

from hookbus import Block, signal
from hookbus.testing import record

REQUESTS = [{"path": "/notes.txt"}, {"path": "/../etc/passwd"}]
"""The calls of the tool `remove` that the model of each system requests."""

ran = []
notes = []


def remove(path: str) -> str:
    """Remove a file.

    Args:
        path: the file.
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


def print_results(work):
    """Run a system, and print the results as JSON."""
    with record() as recording:
        messages = work()
    picture = recording._repr_mimebundle_()
    print(json.dumps({"ran": ran, "notes": notes, "messages": messages, "picture": picture}))
