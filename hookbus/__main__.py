"""`python -m hookbus` runs the command `hookbus`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
