"""The program that a coding agent starts for each event: `_hook.py`, from its cached bytecode.

Python caches no bytecode of the file that it starts, and to compile `_hook.py` takes as long as
half the start of an interpreter. Whatever fails here ends with neither 77 nor 78, so that the shell
around the hook blocks the event.
"""

import sys

if __name__ == "__main__":
    # Python has loaded this module for its own start; `importlib` would take a millisecond.
    from _frozen_importlib_external import SourceFileLoader

    _asking = type(sys)("hookbus_gate_hook")
    _asking.__file__ = f"{__file__[:-7]}_hook.py"
    SourceFileLoader(_asking.__name__, _asking.__file__).exec_module(_asking)
    _asking.main()
