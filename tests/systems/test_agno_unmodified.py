"""The example of a toolkit for files that Agno publishes with it: the agent is theirs, as it stands
there; that it is asked something is one line more.
"""

from importlib import import_module
from textwrap import dedent

import pytest

from .unmodified import check, play

pytestmark = pytest.mark.in_environment("agno")


def test_a_file_is_read_after_a_yes_on_the_page_and_the_list_of_files_is_closed(tmp_path):
    said = import_module("agno.tools.workspace").__doc__
    (tmp_path / "example.py").write_text(dedent(said.partition("Quick start:\n")[2]))
    (tmp_path / "ask.py").write_text(
        "from example import agent\nagent.print_response('where is main() defined?')\n"
    )
    (tmp_path / "app.py").write_text("def main(): ...\n")
    told = play(
        tmp_path, ["ask.py"],
        [
            [("search_content", {"query": "main"}), ("list_files", {"directory": "."})],
            [("read_file", {"path": "app.py"})],
            "It is in app.py.",
        ],
        options=["--adapters", "agno"],
        rules="allow=['search_*'], deny=['list_*'], ask=['read_*']",
    )  # fmt: skip
    check(told, blocked="list_files", approved="read_file")
    assert told.outcomes()[0] == ("search_content", "returned")
    assert "def main(): ..." in told.read and "It is in app.py." in told.out
