"""Build the site of docs/ and check it: `python -m tests.docs_site`, after `pip install -e
'.[docs]'`.

Sphinx treats every warning as an error. Then the built pages are checked: they load nothing from
other hosts, every internal link has a target, notebooks show their outputs, and the search index
has the words of the pages. The exit code is 1 if a check fails.
"""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "docs"


class Page(HTMLParser):
    """What a page loads, where it links to, and the places on it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if "src" in found:
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") not in (
            "index", "search", "next", "prev", "canonical",
        ):  # fmt: skip
            self.loads.append(found.get("href", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


def problems_of(pages: dict[Path, Page]) -> list[str]:
    """Return what is wrong with pages, by their path."""
    found = []
    for path, page in pages.items():
        found += [f"{path.name} loads {url}" for url in page.loads if urlsplit(url).netloc]
        for link in page.links:
            url = urlsplit(link)
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if url.scheme or url.netloc:
                continue
            if target not in pages and not target.exists():
                found.append(f"{path.name} links to {link}, which is not there")
            elif (
                url.fragment
                and target in pages
                and unquote(url.fragment) not in pages[target].places
            ):
                found.append(
                    f"{path.name} links to {link}, and there is no such place on that page"
                )
    return found


def problems_of_styles(site: Path) -> list[str]:
    """Return the style sheets that load something from elsewhere."""
    return [
        f"{path.name} loads from elsewhere"
        for path in site.rglob("*.css")
        if "url(http" in path.read_text()
    ]


def problems_of_notebooks(pages: dict[Path, str], notebooks: dict[str, list[str]]) -> list[str]:
    """Return the pages that show fewer outputs than their notebook has cells that print.

    Args:
        pages: what was built, by path.
        notebooks: the sources of the code cells, by name without ending.
    """
    found = []
    for path, text in pages.items():
        cells = notebooks.get(path.stem, []) if path.parent.name == "notebooks" else []
        wanted = sum(re.search(r"^ *print\(", cell, re.MULTILINE) is not None for cell in cells)
        shown = text.count('class="cell_output ')
        if shown < wanted:
            found.append(f"{path.name} shows {shown} outputs, and {wanted} of its cells print")
    return found


def cells_of(folder: Path) -> dict[str, list[str]]:
    """Return the code cells of the notebooks in a folder, by name."""
    return {
        path.stem: [
            "".join(cell["source"])
            for cell in json.loads(path.read_text())["cells"]
            if cell["cell_type"] == "code"
        ]
        for path in folder.glob("*.ipynb")
    }


def words_of_search(site: Path) -> set[str]:
    """Return the words that the search of the site knows."""
    index = (site / "searchindex.js").read_text()
    return set(json.loads(index[index.index("(") + 1 : index.rindex(")")])["terms"])


def main() -> int:
    shutil.rmtree(SITE, ignore_errors=True)
    command = [
        sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-E", "-q", str(ROOT / "docs"),
        str(SITE),
    ]  # fmt: skip
    if subprocess.run(command).returncode:
        return 1
    texts = {path: path.read_text() for path in sorted(SITE.rglob("*.html"))}
    pages = {path: Page(text) for path, text in texts.items()}
    problems = problems_of(pages) + problems_of_styles(SITE)
    problems += problems_of_notebooks(texts, cells_of(ROOT / "examples"))
    problems += [
        f"the search does not know {word!r}"
        for word in {"guard", "redact", "plugin"} - words_of_search(SITE)
    ]
    links = sum(len(page.links) for page in pages.values())
    print(
        *problems,
        f"{len(pages)} pages in {SITE.relative_to(ROOT)}, {links} links, {len(problems)} problems",
        sep="\n",
    )
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
