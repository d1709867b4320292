"""Run the command `hookbus` for `python -m hookbus`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
