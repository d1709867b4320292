"""Pictures of the command line: real commands on terminals of 80 and of 132 columns.

    python -m tests.cli.pictures --write    put them into docs/how-to
"""

import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import textwrap
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

from rich.console import Console
from rich.text import Text

from tests.cli.conftest import environment

DOCS = Path(__file__).parent.parent.parent / "docs" / "how-to"
SIZES = {"terminal-80.svg": 80, "terminal-wide.svg": 132}
FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)

PROGRAM = """
from hookbus import Block, HookBlocked, hookable, signal, baggage

class Mailbox:
    @hookable
    def send(self, to, text):
        return f"sent to {to}"

class Agent:
    def __init__(self):
        self.mailbox = Mailbox()

    @hookable
    def reply(self, msg):
        return self.mailbox.send("ann@example.org", msg)

@signal("pre_send").connect_via(Mailbox, on_error="block")
def redact(mailbox, text):
    return {"text": text.replace("4711", "****")}

@signal("pre_reply").connect_via(Agent, role="guard", timeout=2, locked=True)
def no_keys(agent, msg):
    if "KEY" in msg:
        return Block("a key stays in the house", code="key")

@signal("post_send").connect_via(Mailbox, role="observe")
def archive(mailbox, result):
    raise OSError("disk full")

if __name__ == "__main__":
    agent = Agent()
    with baggage(session="s-17", user="ada"):
        agent.reply("my pin is 4711")
        try:
            agent.reply("the KEY is 12")
        except HookBlocked:
            pass
"""

COMMANDS = (
    "hookbus explain agent:Agent.reply",
    "hookbus run --journal night.journal agent.py",
    "hookbus log --journal night.journal",
    "hookbus log show 1 --journal night.journal",
)


def shown(command, columns, folder):
    """Return what a command writes to a terminal that is so wide."""
    outside, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    words = [sys.executable, "-m", *command.split()]
    own = {name: value for name, value in environment(TERM="xterm-256color").items()
           if name not in ("COLUMNS", "NO_COLOR", "HOOKBUS_JOURNAL")}  # fmt: skip
    begun = subprocess.Popen(words, stdout=terminal, stderr=terminal, cwd=folder, env=own)
    os.close(terminal)
    said = b""
    while True:
        try:
            more = os.read(outside, 65_536)
        except OSError:  # whoever wrote is gone
            break
        if not more:
            break
        said += more
    os.close(outside)
    assert begun.wait() == 0, said
    return said.decode().replace("\r\n", "\n")


def picture(columns):
    """Return the commands on a terminal that is so wide, as SVG."""
    screen = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agent.py").write_text(textwrap.dedent(PROGRAM).lstrip())
        for command in COMMANDS:
            screen.print(Text(f"$ {command}", style="bold"))
            said = shown(command, columns, folder).rstrip()
            if said:
                screen.print(Text.from_ansi(said))
    return FONT.sub("", screen.export_svg(title=f"{columns} columns"))


if __name__ == "__main__":
    for name, columns in SIZES.items():
        if sys.argv[1:] == ["--write"]:
            (DOCS / name).write_text(picture(columns))
