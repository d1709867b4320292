"""What an agent tried against `gate_itself` with a name in two places: a folder here, a file
there.
"""

import pytest

from hookbus.approvals import Store

from . import events, others
from .asked import Asked
from .conftest import Gate

GATE = "blocked by gate_itself"
PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A gate in a folder with a space in its name, and a home with settings of an agent."""
    folder = tmp_path_factory.mktemp("split") / "my gate"
    settings = folder.parent / "home" / ".claude" / "settings.json"
    for each in (folder, settings.parent):
        each.mkdir(parents=True)
    settings.write_text("{}")
    gate = Gate(folder)
    (folder / "rules.toml").write_text('default = "allow"\n')
    gate.write('approvals = "approvals.db"\n' + gate.plug() + '[gate]\nrules = "rules.toml"\n')
    Store(folder / "approvals.db")
    yield gate
    gate.stop()


def says(gate, agent="claude", command="ls", **fields):
    given = {"cwd": str(gate.folder.parent), **fields}
    home = {"HOME": str(gate.folder.parent / "home")}
    what, text = gate.outcome(agent, events.before(agent, command, **given), variables=home)
    return str(text) if what == "blocked" else what


@pytest.mark.parametrize("command", [
    "cd ~/.claude && echo {} > settings.json", "(cd 'my gate'; echo > hookbus.toml)",
    "cd my\\ gate/plugins\ncd ..\necho > rules.toml", "env -C ~/.claude tee settings.json",
    "cd home; pushd .claude; rm settings.json", "bash -c 'cd ~/.claude && echo > settings.json'",
    "cp /elsewhere/settings.json ~/.claude/", "install -t ~/.claude x/settings.local.json",
    "tar -C ~/.claude -xf a.tar settings.json", "mv x/hookbus.toml 'my gate'",
])  # fmt: skip
def test_a_file_is_found_whose_folder_is_named_elsewhere_in_the_command(own, command):
    assert GATE in says(own, command=command)


@pytest.mark.parametrize("command", [
    "cp -r /elsewhere/. ~/.claude", "rsync -a x/ 'my gate'", "cp -r /elsewhere/.claude ~/",
    "cp --target-directory='my gate' -r x/*", "mv /elsewhere/'my gate' .", "ln -s /x/.claude ~",
    "bash -c 'rm -r ~/.claude'", 'bash -lc "mv \\"my gate\\" x"', "eval 'rmdir ~/.claude'",
    "cd ~; rm -r .claude",
])  # fmt: skip
def test_a_folder_cannot_be_copied_over_protected_files_or_removed_in_quotes(own, command):
    assert GATE in says(own, command=command)


@pytest.mark.parametrize("command", [
    "cp notes.md ~/.claude/", "cp -r ../template/. .", "cd 'my gate' && cat notes.md",
    "cp x/settings.json y/", "cd ~ && ls .claude", "cp -r .claude/skills ~/.claude/",
    "rsync -a build/ ~/site/", "bash -c 'cd /tmp && rm -r build'", "ls ~/.claude x/settings.json",
])  # fmt: skip
def test_other_files_and_folders_may_be_copied_and_removed(own, command):
    assert GATE not in says(own, command=command)


def test_the_arguments_of_a_tool_are_read_together(own):
    gate, here = own.folder, str(own.folder)
    for tool, given in (
        ("mcp__sh__run", {"command": "echo > settings.json", "cwd": "~/.claude"}),
        ("mcp__sh__run", {"command": "echo > ../my' 'gate/rules.toml", "workdir": "/x"}),
        ("mcp__sh__run", {"command": "hookbus", "args": ["approvals", "approve", "1"]}),
        ("mcp__sh__run", {"argv": ["hookbus", "serve"]}),
        ("mcp__sh__run", {"command": "rm", "args": ["-r", str(gate)]}),
        ("mcp__files__save", {"root": here, "path": "rules.toml", "content": "x"}),
        ("mcp__files__copy", {"from": "/elsewhere/hookbus.toml", "to": here}),
        ("mcp__files__save", {"options": {"base": here}, "files": [{"at": "rules.toml"}]}),
        ("Grep", {"path": here, "glob": "approvals.db", "pattern": "."}),
    ):
        workdir = str(gate.parent / "x") if given.get("workdir") else None
        given = {**given, **({"workdir": workdir} if workdir else {})}
        assert GATE in says(own, tool_name=tool, tool_input=given), given
    given = {"command": "npm", "args": ["test"], "cwd": here}
    assert says(own, tool_name="mcp__sh__run", tool_input=given) == "runs"


@pytest.mark.parametrize("form", [
    " {}", "{}\n", "\ufeff{}", "\xa0{}", '"{}"', "@{}", "{}\0.txt", "/./%72ules.toml/../..{}",
])  # fmt: skip
def test_characters_that_programs_remove_from_a_path_hide_nothing(own, form):
    given = {"file_path": form.format(own.folder / "rules.toml"), "content": "x"}
    assert GATE in says(own, tool_name="Write", tool_input=given)
    given = {"path": ".\\my gate\\rules.toml"}
    assert GATE in says(own, tool_name="mcp__files__write", tool_input=given)


def test_a_patch_in_a_command_names_its_files_with_spaces(own):
    for command in (f"apply_patch <<'EOF'\n{PATCH}\nEOF", f"patch.py <<E\n{PATCH}\nE"):
        for agent in events.AGENTS:
            assert GATE in says(own, agent, command.format("my gate/hookbus.toml"))
    command = f"cd 'my gate' && apply_patch <<'EOF'\n{PATCH}\nEOF".format("rules.toml")
    assert GATE in says(own, "codex", command)


@pytest.mark.parametrize("agent", ["opencode", "copilot"])
def test_a_byte_order_mark_hides_no_path_of_a_patch(make_gate, agent):
    asked, place = Asked(make_gate()), {"opencode": "patchText", "copilot": "input"}[agent]
    asked.begin(agent)
    asked.answer(agent, *others.prompt(agent))
    for path, expected in (("\ufeffhookbus.toml", "control character"), ("a.txt", "")):
        patch = {place: PATCH.format(path)}
        what, text = asked.outcome(agent, others.before(agent, tool="apply_patch", arguments=patch))
        assert (expected in str(text)) if expected else what == "runs", text


@pytest.mark.parametrize("command", [
    "hookbus >/dev/null serve", "hookbus 2>&1 < /dev/null run a.py", "{hookbus,serve}",
    "hookbus &> /dev/null --traceback serve",
])  # fmt: skip
def test_redirections_and_braces_do_not_hide_a_command_of_the_gate(own, command):
    assert GATE in says(own, command=command)


@pytest.mark.parametrize("command", [
    "hookbus " * 20_000, "rm " * 10_000, "cp -t a " + "b " * 10_000, "cd ~; " + "a/b " * 10_000,
    "hookbus " + "-a " * 20_000, "'\"'" * 20_000,
])  # fmt: skip
def test_a_long_command_is_judged_before_its_deadline(own, command):
    """A pattern that takes quadratic time would keep the server from all other events, too."""
    assert "in time" not in says(own, command=command)
