"""Build what would be published, and install it as a user would: `python -m tests.installable`,
after `pip install -e '.[release]'`.

The wheel and the source distribution of the files in git are put into `dist/`. Their contents are
checked, and whether PyPI would accept them. The wheel is built twice, which must give the same
bytes, and gets a software bill of materials in `build/sbom`. Each is then installed into an empty
environment, where the first page of the documentation must work. A program that uses everything
without extras runs there with every strict switch of Python, from an editable clone, in one
archive, and frozen by PyInstaller. The exit code is 1 if anything is wrong.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipapp
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from hookbus import __version__
from tests import sbom
from tests.whole_program import WANTED

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SBOM = ROOT / "build" / "sbom" / f"hookbus-{__version__}.cdx.json"
SWITCHES = (
    "-I", "-P", "-O", "-OO", "-bb", "-X dev", "-W error", "-X dev -W error -bb -P",
    "-X utf8=0 -X warn_default_encoding -W error",
)  # fmt: skip
PROGRAM = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def run(*command: str | Path, cwd: Path = ROOT) -> tuple[int, str]:
    """Run a command and return its exit code and all it said; it finds no hookbus by accident."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    return ran.returncode, ran.stdout


def tracked() -> set[str]:
    """Return the files that git knows and that are there."""
    code, said = run("git", "ls-files", "-z")
    if code:
        sys.exit(f"it is built from a clone: {said}")
    return {name for name in said.split("\0") if name and (ROOT / name).exists()}


def copy(files: set[str], folder: Path) -> None:
    """Copy files of this clone into a folder."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def moment_of_release() -> str:
    """Return when the last change was committed, in seconds since 1970."""
    code, output = run("git", "log", "-1", "--format=%ct")
    return sys.exit(output) if code else output.strip()


def problems_of_second_build(wheel: Path, files: set[str], folder: Path) -> list[str]:
    """Build the wheel again, in another folder, and return how it differs."""
    copy(files, folder / "another" / "source")
    out = folder / "wheel"
    command = (sys.executable, "-m", "build", "--wheel", "--outdir", out)
    code, output = run(*command, cwd=folder / "another" / "source")
    if code:
        return [f"the second build of the wheel failed: {output}"]
    is_same = (out / wheel.name).read_bytes() == wheel.read_bytes()
    return [] if is_same else [f"{wheel.name} has other bytes when it is built again"]


def build(files: set[str], folder: Path) -> list[Path]:
    """Build both distributions from a copy of these files alone and return their paths."""
    copy(files, folder)
    shutil.rmtree(DIST, ignore_errors=True)
    code, said = run(sys.executable, "-m", "build", "--outdir", DIST, cwd=folder)
    if code:
        sys.exit(said)
    return sorted(DIST.iterdir())


def problems_of_contents(wheel: set[str], source: set[str], files: set[str]) -> list[str]:
    """Return what is in the distributions and should not be, and the other way round.

    Args:
        wheel: the names in the wheel.
        source: those in the source distribution, without the folder they are all in.
        files: those that git knows.
    """
    package = {name for name in files if name.startswith("hookbus/")}
    shipped = {name for name in wheel if ".dist-info/" not in name}
    made = {name for name in source if name == "PKG-INFO" or ".egg-info" in name}
    pairs = (("wheel", shipped, package), ("source distribution", source - made, files))
    return [
        problem
        for kind, found, wanted in pairs
        for problem in (
            *(f"the {kind} lacks {name}" for name in sorted(wanted - found)),
            *(f"the {kind} has {name}" for name in sorted(found - wanted)),
        )
    ]


def names_in(paths: list[Path]) -> tuple[set[str], set[str]]:
    """Return the names of the files in a wheel, and in a source distribution."""
    wheel, source = paths  # in order of their names
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(source) as archive:
        members = [each.name for each in archive.getmembers() if each.isfile()]
    return in_wheel, {name.partition("/")[2] for name in members}


def problems_of_install(path: Path, folder: Path) -> list[str]:
    """Install a distribution into an empty environment and return what does not work there."""
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python, hookbus = scripts / "python", scripts / "hookbus"
    (folder / "program.py").write_text(PROGRAM.group(1) if PROGRAM else "no program in README.md")
    loaded = "import hookbus; print(hookbus.__file__, hookbus.__version__)"
    inside = f"{re.escape(str(folder))}.*"
    wanted: list[tuple[tuple[str | Path, ...], int, str]] = [
        ((python, "-m", "pip", "install", "-q", path), 0, ""),
        ((python, "-m", "pip", "check"), 0, "No broken requirements"),
        ((python, "-I", "-c", loaded), 0, rf"{inside} {re.escape(__version__)}\n"),
        ((python, "-I", "program.py"), 0, r"paid 20 to ann\npay was blocked by limit: "),
        ((python, "-I", "-m", "hookbus", "--version"), 0, rf"{re.escape(__version__)}\n"),
        ((hookbus, "--version"), 0, rf"{re.escape(__version__)}\n"),
        ((hookbus, "--help"), 0, r"demo +pip install 'hookbus\[demo\]'"),
        ((hookbus, "demo"), 2, r"install them with: pip install 'hookbus\[demo\]'"),
    ]
    found = []
    for command, expected, pattern in wanted:
        code, said = run(*command, cwd=folder)
        if code != expected or not re.search(pattern, said):
            words = " ".join(Path(word).name for word in map(str, command))
            found.append(f"{path.name}: `{words}` gave {code}, and said: {said}")
    return found


def problems_of_runs(python: Path, folder: Path) -> list[str]:
    """Return what goes wrong where hookbus is installed, with every switch and in every shape."""
    program = shutil.copy(ROOT / "tests" / "whole_program.py", folder)
    runs = [(f"python {each}", (python, *each.split(), program)) for each in SWITCHES]
    runs.append(("a zipapp", (python, "-I", _zipped(python, folder, Path(program)))))
    frozen, problems = _frozen(python, folder, Path(program))
    if not problems:
        runs.append(("a program of PyInstaller", (frozen,)))
    for name, command in runs:
        problems += _problems_of_run(name, command, folder)
    return problems


def _problems_of_run(name: str, command: tuple[str | Path, ...], folder: Path) -> list[str]:
    code, said = run(*command, cwd=folder)
    once = r"\(further failures of this receiver are not logged\)"
    logged = re.compile(rf"^late \(.*{once}\n", re.MULTILINE)
    if code == 0 and logged.sub("", said) == WANTED:
        return []
    return [f"{name}: the program gave {code}, and said: {said}"]


def _zipped(python: Path, folder: Path, program: Path) -> Path:
    """Return an archive of the program and of all that is installed, as zipapp makes it."""
    content = folder / "archive"
    packages = run(python, "-c", "import hookbus; print(hookbus.__path__[0])", cwd=folder)[1]
    for package in ("hookbus", "blinker", "attr", "attrs"):
        shutil.copytree(Path(packages.strip()).parent / package, content / package)
    shutil.copy(program, content / "__main__.py")
    archive = folder / "program.pyz"
    zipapp.create_archive(content, archive)
    return archive


def _frozen(python: Path, folder: Path, program: Path) -> tuple[Path, list[str]]:
    """Return the program that PyInstaller makes, and why it made none."""
    code, said = run(python, "-m", "pip", "install", "-q", "pyinstaller>=6.10", cwd=folder)
    if not code:
        words = ("-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", program)
        code, said = run(python, *words, cwd=folder)
    suffix = ".exe" if sys.platform == "win32" else ""
    made = folder / "dist" / program.stem / f"{program.stem}{suffix}"
    return made, [f"PyInstaller gave {code}, and said: {said}"] if code else []


def problems_of_clone(source: Path, folder: Path) -> list[str]:
    """Install a copy of the clone as `--editable` and return what does not work there."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    code, said = run(python, "-m", "pip", "install", "-q", "--editable", source)
    if code:
        return [f"--editable: {said}"]
    program = shutil.copy(ROOT / "tests" / "whole_program.py", folder)
    return _problems_of_run("--editable", (python, "-I", program), folder)


def main() -> int:
    os.environ.setdefault("SOURCE_DATE_EPOCH", moment_of_release())
    with TemporaryDirectory() as place:
        files = tracked()
        paths = build(files, Path(place) / "source")
        if [f"hookbus-{__version__}" in path.name for path in paths] != [True, True]:
            sys.exit(f"dist/ should have a wheel and a source of {__version__}, and has {paths}")
        problems = problems_of_contents(*names_in(paths), files)
        code, said = run(sys.executable, "-m", "twine", "check", "--strict", *paths)
        problems += [said] if code else []
        problems += problems_of_second_build(paths[0], files, Path(place) / "again")
        for path in paths:
            problems += problems_of_install(path, Path(place) / path.suffix[1:])
        wheel = Path(place) / paths[0].suffix[1:]
        python = wheel / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        problems += sbom.write(paths[0], python, SBOM)
        problems += problems_of_runs(python, wheel)
        problems += problems_of_clone(Path(place) / "source", Path(place) / "clone")
    made = (path.relative_to(ROOT).as_posix() for path in (*paths, SBOM))
    print(*problems, *made, sep="\n")
    print(f"{len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
