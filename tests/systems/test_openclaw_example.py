"""OpenClaw's own example of a permission request runs here, and its how-to page names tests that
are there."""

from .pages import PageTable, printed_by


def test_the_example_of_its_documentation_asks_before_it_deploys():
    assert printed_by("-m", "tests.systems.example_openclaw").splitlines() == [
        "read",
        "[warning] Deploy service: Deploy service to staging. allow-once | allow-always | deny",
        "deploy approval resolved: allow-always",
        "deployed to staging",
        "[critical] Deploy service: Deploy service to production. allow-once | deny",
        "deploy approval resolved: timeout",
        "blocked: Approval timed out",
    ]


class TestPage(PageTable):
    system = "openclaw"
