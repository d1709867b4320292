"""The picture of the floors in CONTRIBUTING.md, made from the import contract in setup.cfg and
what each folder and each module in front says of itself.

    python -m tests.floors            print it
    python -m tests.floors --write    put it into CONTRIBUTING.md
    python -m tests.floors --lines    print the lines of code of each instead
"""

import ast
import configparser
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
PLACE = re.compile(r"(?<=<!-- floors -->\n```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def floors() -> list[list[str]]:
    """Return the folders and modules of every floor, the highest first."""
    contract = configparser.ConfigParser()
    contract.read(ROOT / "setup.cfg")
    layers = contract["importlinter:contract:floors"]["layers"].split("\n")
    return [[name.strip() for name in layer.split("|")] for layer in layers if layer.strip()]


def contracts() -> dict[str, str]:
    """Return the name of the contract that says who may import whom inside each folder."""
    contract = configparser.ConfigParser()
    contract.read(ROOT / "setup.cfg")
    return {
        contract[name]["containers"].strip(): contract[name]["name"]
        for name in contract.sections()
        if name.startswith("importlinter:contract:") and contract[name]["type"] == "layers"
    }


def job_of(module: str, columns: int = 80) -> str:
    """Return the first line of a module's docstring, or as many of its clauses as there is room
    for.
    """
    path = ROOT / "hookbus" / module
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    line = (ast.get_docstring(ast.parse(source.read_text())) or "").split("\n")[0].rstrip(".")
    if line.count("`") % 2:  # a piece of code that goes on in the next line
        line = line[: line.rindex(": ", 0, line.rindex("`"))]
    if len(line) <= columns:
        return line
    ends = [
        max(line.rfind(mark, 0, columns) for mark in marks)
        for marks in ((". ", "; ", ": "), (", ",))
    ]
    return line[: next((end for end in ends if end > 0), None)]


def rooms_of(module: str) -> list[Path]:
    """Return the files of a folder, or the one of a module."""
    path = ROOT / "hookbus" / module
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def lines_of(module: str) -> int:
    """Count the lines of code of a module, or of all in a folder."""
    return sum(map(_lines_of, rooms_of(module)))


def _lines_of(source: Path) -> int:
    no_code = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    with source.open("rb") as file:
        tokens = [
            token
            for token in tokenize.tokenize(file.readline)
            if token.type not in {*no_code, tokenize.ENCODING}
        ]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    texts = (node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Expr))
    docs = {
        line
        for node in texts
        if isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    return len(lines - docs)


def picture() -> str:
    """Return a line for each folder and module: its floor, its name, its job."""
    found = floors()
    lines = []
    for number, modules in enumerate(found):
        for module in modules:
            floor = str(len(found) - 1 - number) if module == modules[0] else ""
            name = f"{module}/" if (ROOT / "hookbus" / module).is_dir() else module
            lines.append(f"{floor:>2}  {name:14} {job_of(module)}\n")
    return "".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(PLACE.sub(lambda _: picture(), PAGE.read_text()))
    elif sys.argv[1:] == ["--lines"]:
        counts = {module: lines_of(module) for floor in floors() for module in floor}
        print("".join(f"{count:6,}  {module}\n" for module, count in counts.items()), end="")
    else:
        print(picture(), end="")
