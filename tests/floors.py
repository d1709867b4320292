"""The picture of the floors in CONTRIBUTING.md, made from the import contract in setup.cfg and what each module says of itself.

    python -m tests.floors            print it
    python -m tests.floors --write    put it into CONTRIBUTING.md
"""

import ast
import configparser
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
PLACE = re.compile(r"(?<=<!-- floors -->\n```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def floors() -> list[list[str]]:
    """Return the modules of every floor, the highest first."""
    contract = configparser.ConfigParser()
    contract.read(ROOT / "setup.cfg")
    layers = contract["importlinter:contract:floors"]["layers"].split("\n")
    return [[name.strip() for name in layer.split("|")] for layer in layers if layer.strip()]


def job_of(module: str, columns: int = 80) -> str:
    """Return the first line of a module's docstring, or as many of its clauses as there is room for."""
    path = ROOT / "hookbus" / module
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    line = (ast.get_docstring(ast.parse(source.read_text())) or "").split("\n")[0].rstrip(".")
    if len(line) <= columns:
        return line
    ends = [max(line.rfind(mark, 0, columns) for mark in marks) for marks in ((". ", "; ", ": "), (", ",))]
    return line[: next((end for end in ends if end > 0), None)]


def picture() -> str:
    """Return a line for each module: its floor, its name, its job."""
    found = floors()
    lines = []
    for number, modules in enumerate(found):
        for module in modules:
            floor = str(len(found) - 1 - number) if module == modules[0] else ""
            lines.append(f"{floor:>2}  {module:16} {job_of(module)}\n")
    return "".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(PLACE.sub(lambda _: picture(), PAGE.read_text()))
    else:
        print(picture(), end="")
