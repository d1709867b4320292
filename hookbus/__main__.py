"""The entry point of `python -m hookbus`, which runs the command `hookbus`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
