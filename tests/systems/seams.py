"""Print what an adapter replaces in its framework, as in `hookbus/adapters/_seams`.

Run it in the environment of that framework:
`.venv-systems/NAME/bin/python -m tests.systems.seams ADAPTER`.

    --write    put the list into the adapter's module there
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any
from unittest import mock

from hookbus import Bus
from hookbus.adapters._patches import Patches
from hookbus.adapters._seams._signatures import check_seams

from .install import ROOT


@contextmanager
def recorded():
    """Record what is replaced and looked for, once each and in order, meanwhile."""
    found: dict[tuple[Any, str], Any] = {}
    depth = 0

    def recording(name: str) -> Any:
        stock = getattr(Patches, name)

        def method(patches: Patches, owner: Any, attribute: str, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if not depth and hasattr(owner, "__dict__") and attribute in vars(owner):
                found.setdefault((owner, attribute), vars(owner)[attribute])
            depth += 1
            try:
                return stock(patches, owner, attribute, *args, **kwargs)
            finally:
                depth -= 1

        return mock.patch.object(Patches, name, method)

    with ExitStack() as stack:
        for name in ("replace", "replace_everywhere", "wrap_function", "wrap", "look_for"):
            stack.enter_context(recording(name))
        yield found


def words_of(adapter: str) -> set[str]:
    """Return every word in an adapter's own modules and in those that adapters share."""
    folder = ROOT / "hookbus" / "adapters"
    own = [folder / f"{adapter}.py", *(folder / adapter).glob("*.py")]
    texts = [path.read_text() for path in (*own, *folder.glob("_*.py")) if path.exists()]
    return set(re.findall(r"\w+", "\n".join(texts)))


def parameters_of(function: Any, words: set[str]) -> str:
    """Return the parameters that are required or that the adapter names; that others go or come
    does not matter to it."""
    signature = inspect.signature(function)
    optional = {name for name, each in signature.parameters.items()
                if each.default is not each.empty and name not in words}  # fmt: skip
    kept = [each.replace(annotation=each.empty, default=each.empty)
            for name, each in signature.parameters.items() if name not in optional]  # fmt: skip
    return str(inspect.Signature(kept))[1:-1]


def line_of(owner: Any, name: str, stock: Any, words: set[str]) -> str | None:
    """Return the line of a seam; None where nobody could find it by its name."""
    if isinstance(owner, ModuleType):
        # One of CrewAI has another name in itself than it is imported under.
        home = next(key for key, each in sys.modules.items() if each is owner)
        path = name
    elif isinstance(owner, type) and "<" not in owner.__qualname__:
        home, path = owner.__module__, f"{owner.__qualname__}.{name}"
    else:
        return None
    function = inspect.unwrap(getattr(stock, "__func__", stock))
    if not inspect.isfunction(function):
        return f"{home}:{path}"
    is_async = "async " if inspect.iscoroutinefunction(function) else ""
    return f"{is_async}{home}:{path}({parameters_of(function, words)})"


def lines_of(adapter: str) -> list[str]:
    """Return the seams of an adapter, sorted."""
    home: Any = import_module(f"hookbus.adapters.{adapter}")
    with recorded() as found:
        uninstall = home.install(Bus())
    uninstall()
    words = words_of(adapter)
    lines = {line_of(owner, name, stock, words) for (owner, name), stock in found.items()}
    kept = sorted(line for line in lines if line is not None)
    for line in kept:
        check_seams(line)
    return kept


def text_of(lines: list[str]) -> str:
    return "\n".join(
        textwrap.fill(line.replace(":", ": ") if max(map(len, line.split())) > 94 else line, 98,
                      subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in lines
    )  # fmt: skip


def main(adapter: str, *options: str) -> None:
    text = text_of(lines_of(adapter))
    if "--write" not in options:
        print(text)
        return
    path = ROOT / "hookbus" / "adapters" / "_seams" / f"{adapter}.py"
    before, quotes, rest = path.read_text().partition('SEAMS: Final = """\n')
    end = rest.index('"""')
    path.write_text(f"{before}{quotes}{text}\n{rest[end:]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
