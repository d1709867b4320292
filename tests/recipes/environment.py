"""The environment of the recipes: their packages, and this checkout of hookbus."""

import os
from pathlib import Path

FOLDER = os.environ.get("HOOKBUS_RECIPES")


def python():
    return str(Path(FOLDER, "bin", "python").absolute())


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent), **more}
