"""The scripts beside the notebooks run without a key or a network, and do what their first lines
say.
"""

from textwrap import dedent

import pytest

from hookbus import adapters

from .run import EXAMPLES, run_script

OF_FRAMEWORKS = {f"{name}_agent" for name in adapters.__all__}
"""They need a package of their own and are run by its contract, inside its environment."""
SCRIPTS = [path for path in sorted(EXAMPLES.glob("*.py")) if path.stem not in OF_FRAMEWORKS]


def with_script(name, folder, program):
    """Run a program that has imported a script, and return what it prints."""
    path = folder / "program.py"
    path.write_text(
        f"import sys; sys.path.append({str(EXAMPLES)!r})\nimport {name} as "
        f"script\n{dedent(program)}"
    )
    return run_script(path, folder)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_and_is_short(path, tmp_path):
    assert run_script(path, tmp_path)
    assert len(path.read_text().splitlines()) <= 100


def test_the_support_agent_pays_only_what_a_person_approves_and_never_more_than_was_paid(tmp_path):
    lines = run_script(EXAMPLES / "support_agent.py", tmp_path, typed="y\nn\n")
    assert lines[0].startswith("refund 9.00 for order 1? [y/n] refund 12.50 for order 2? [y/n] ")
    assert lines[1:] == [
        "refunded 9.00 for order 1", "refused: denied by a person",
        "refused: 99900 cents are not between 1 and 5000",
    ]  # fmt: skip


def test_the_support_agent_pays_nothing_without_a_terminal(tmp_path):
    lines = run_script(EXAMPLES / "support_agent.py", tmp_path)
    assert [line for line in lines if "refunded" in line] == []
    assert lines.count("refused: denied by a person") == 2


def test_the_summary_leaves_out_what_is_private_however_it_is_cut(tmp_path):
    [summary, count] = run_script(EXAMPLES / "streaming_summary.py", tmp_path)
    assert summary.count("[private]") == 3 and "@" not in summary and "5678" not in summary
    assert count == "3 pieces were redacted"
    told = with_script("streaming_summary", tmp_path, """
        for shift in range(7):
            text = "x" * shift + " Write to ada@example.org or call +49 30 1234 5678 today, "
            text += "and wait for a while " * 9
            print("".join(script.Summariser().stream(text)))
    """)
    assert len(told) == 7
    assert all("Write to [private] or call [private] today, and wait" in line for line in told)


def test_the_summary_is_not_sent_unredacted_when_the_redactor_breaks(tmp_path):
    assert with_script("streaming_summary", tmp_path, """
        from hookbus import HookBlocked
        class Broken:
            finditer = script.PRIVATE.finditer
        script.PRIVATE = Broken
        try:
            print(list(script.Summariser().stream("Write to ada@example.org.")))
        except HookBlocked as blocked:
            print(blocked)
    """) == ["stream was blocked by redact: modify failed: AttributeError"]


def test_the_loop_keeps_its_budget_its_deadline_and_tries_twice(tmp_path):
    assert run_script(EXAMPLES / "tool_loop.py", tmp_path) == [
        "search  3 pages about hooks", "fetch   the text of page 1", "sleep   failed: TimeoutError",
        "delete  refused: delete has no price", "search  3 pages about more",
        "fetch   refused: fetch costs 5, and 1 are left",
        "spent 17 of 18",
    ]  # fmt: skip
