"""Run a command line and return its exit code: 0 for success, 1 for findings, 2 for an error, 130
for an interrupt.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from .. import HookError, __version__
from .approvals import approvals
from .attaching import attach
from .checking import check
from .doctor import doctor
from .fleet import fleet
from .gate import gate
from .log import log
from .looking import explain, hooks
from .policies import policy
from .proxying import mcp, server_words
from .replaying import replay
from .running import Ended, program_words, run
from .serving import serve
from .top import top
from .trace import trace

DETAILS = "HOOKBUS_TRACEBACK"
_MCP = "Usage: hookbus mcp [OPTIONS] [PLUGINS] -- COMMAND [ARGS] | URL"


def made(about: str, *more: Any) -> App:
    """Return the command-line app. `more` contains the commands that `hookbus.cli` defines."""
    app = App(
        name="hookbus", help=about, version=__version__,
        default_parameter=Parameter(negative=()),
    )  # fmt: skip
    for each in (hooks, explain, check, run, mcp, log, replay, trace, top, serve, attach,
                 approvals, policy, fleet, doctor, gate, *more):
        app.command(each)
    app["mcp"].usage = _MCP
    return app


def play(words: Sequence[str], about: str, *more: Any) -> int | Ended:
    """Run a command. Return the exit code, or an `Ended` that describes how the program of `hookbus
    run` ended."""
    try:
        words = server_words(program_words(words))
    except HookError as wrong:
        return _failed(str(wrong), is_whole=False)
    own = words[: words.index("--")] if "--" in words else words
    is_whole = "--traceback" in own or bool(os.environ.get(DETAILS))
    if words[:1] != ["run"] and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for limited terminals
    try:
        app = made(about, *more)
        command, bound, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
        ended = command(*bound.args, **bound.kwargs)
        if command is not run:  # the output of `run` comes from the program
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _failed("interrupted", is_whole, 130)
    except BrokenPipeError:  # the reader closed the pipe: exit silently
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CycloptsError as wrong:
        return _failed(f"{wrong} See hookbus --help.", is_whole)
    except HookError as wrong:
        return _failed(str(wrong), is_whole)
    except ModuleNotFoundError:
        raise  # an extra is not installed: hookbus.cli reports which one
    except OSError as wrong:
        where = f"{wrong.filename}: " if wrong.filename else ""
        return _failed(f"{where}{wrong.strerror or wrong}", is_whole)
    except Exception as wrong:
        message = f"{type(wrong).__name__}: {wrong}"
        return _failed(f"{message}. This is a bug in hookbus; see --traceback", is_whole)
    return ended if isinstance(ended, (int, Ended)) else 0


def _failed(message: str, is_whole: bool, code: int = 2) -> int:
    if is_whole:
        traceback.print_exc()
    from .._views.tables import printable

    print("hookbus:", printable(" ".join(message.split())), file=sys.stderr)
    return code
