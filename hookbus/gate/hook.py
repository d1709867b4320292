"""The program that a coding agent starts for each event. It runs `_hook.py` from its cached
bytecode.

Python does not cache the bytecode of the file that it starts, and compiling `_hook.py` would take
half as long as starting an interpreter. A failure in this file exits with neither 77 nor 78, so
that the shell command in the agent's settings blocks the event.
"""

import sys

if __name__ == "__main__":
    # Python has loaded this module for its own start; `importlib` would take a millisecond.
    from _frozen_importlib_external import SourceFileLoader

    _asking = type(sys)("hookbus_gate_hook")
    _asking.__file__ = f"{__file__[:-7]}_hook.py"
    SourceFileLoader(_asking.__name__, _asking.__file__).exec_module(_asking)
    _asking.main()
