"""What a package index and GitHub show about the package is true, and says one thing."""

import re

from .package_metadata import AUTHOR, REPOSITORY, ROOT, SETUP, classifiers, project_urls

WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
SYSTEMS = {
    "ubuntu": "Operating System :: POSIX :: Linux",
    "windows": "Operating System :: Microsoft :: Windows",
    "macos": "Operating System :: MacOS",
}
FRAMEWORKS = {
    "AsyncIO": ("tests/calls", "asyncio"),
    "Celery": ("tests/servers", "celery"),
    "FastAPI": ("tests/test_docs.py", "fastapi"),
    "OpenTelemetry": ("tests/exporters", "opentelemetry"),
    "Pydantic :: 2": ("tests/guards", "pydantic"),
    "Pytest": ("tests/test_testing.py", "pytest"),
}
"""Tests that the workflow runs, and what they or the pages that they execute import."""


def paths_with(text):
    """Return the project's own files that contain a text."""
    own = [ROOT / name for name in (".github", "docs", "examples", "hookbus", "tests")]
    files = [*ROOT.glob("*.*"), *(path for folder in own for path in folder.rglob("*.*"))]
    return [
        str(path.relative_to(ROOT))
        for path in files
        if path.suffix in (".md", ".yml", ".cfg", ".py", ".ipynb")
        if text in path.read_text(encoding="utf-8")
    ]


def test_operating_systems_are_those_of_the_workflow():
    [matrix] = re.findall(r"^ +system: \[(.*)\]$", WORKFLOW, re.M)
    run = re.findall(r'"(\w+)"', matrix)
    assert sorted(SYSTEMS[name] for name in run) == classifiers("Operating System")


def test_the_workflow_runs_tests_of_every_framework_named():
    assert [f"Framework :: {name}" for name in FRAMEWORKS] == classifiers("Framework")
    assert "python -m pytest -q" in WORKFLOW and "python -m tests.servers" in WORKFLOW
    for path, module in FRAMEWORKS.values():
        place = ROOT / path
        pages = ROOT / "docs" / "how-to" if path == "tests/test_docs.py" else place
        files = [pages] if pages.is_file() else [*pages.rglob("*.py"), *pages.rglob("*.md")]
        texts = [each.read_text(encoding="utf-8") for each in files]
        assert any(re.search(rf"\b{module}\b", text) for text in texts), (path, module)
        assert place.exists()


def test_every_project_url_is_of_the_repository():
    urls = project_urls()
    assert list(urls) == ["Documentation", "Changelog", "Issues", "Source", "Security"]
    assert all(url.startswith(REPOSITORY) for url in urls.values())
    for url in urls.values():
        _, is_file, path = url.partition("/blob/main/")
        assert not is_file or (ROOT / path).is_file()


def test_other_files_name_the_repository_by_the_same_address():
    owner = REPOSITORY.removeprefix("https://github.com/")
    wrong = [
        (path, found)
        for path in paths_with("github.com/hookbus")
        for found in re.findall(
            r"github\.com/(hookbus[\w.-]*/[\w.-]*\w)", (ROOT / path).read_text(encoding="utf-8")
        )
        if found not in (owner, f"{owner}.git")
    ]
    assert wrong == []
    assert {"SECURITY.md", "setup.cfg"} <= set(paths_with(REPOSITORY))


def test_the_links_to_files_of_the_repository_lead_to_files():
    pattern = re.compile(re.escape(REPOSITORY) + r"/(?:blob|tree|raw)/main/([\w./-]*\w)")
    missing = [
        (path, target)
        for path in paths_with(REPOSITORY)
        for target in pattern.findall((ROOT / path).read_text(encoding="utf-8"))
        if not (ROOT / target).exists()
    ]
    assert missing == []


def test_the_metadata_is_complete():
    metadata = SETUP["metadata"]
    assert AUTHOR == "hookbus contributors"
    assert len(metadata["description"]) < 160 and metadata["description"].endswith(".")
    assert len(metadata["keywords"].split(", ")) > 10


def test_the_security_policy_names_the_version_of_the_package():
    from hookbus import __version__

    minor = ".".join(__version__.split(".")[:2])
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert f"| {minor} | yes |" in policy
    assert len(re.findall(r"^\d+\. ", policy, re.M)) == 10
