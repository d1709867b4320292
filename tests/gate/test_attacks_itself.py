"""Ways round the guard of the gate that an attacker tried."""

import os

import pytest

from hookbus.approvals import Store

from . import events

GATE = "blocked by gate_itself"


@pytest.fixture(scope="module")
def own(module_gates):
    gate = module_gates("attacked")
    (gate.folder / "rules.toml").write_text('default = "allow"\n')
    gate.write('approvals = "approvals.db"\n' + gate.plug() + '[gate]\nrules = "rules.toml"\n')
    Store(gate.folder / "approvals.db")
    return gate


def says(gate, agent="claude", command="ls", **fields):
    variables = fields.pop("variables", None)
    what, text = gate.outcome(agent, events.before(agent, command, **fields), variables=variables)
    return str(text) if what == "blocked" else what


def writes(gate, path, tool="Write", name="file_path", **fields):
    given = {name: path, "content": "first line\nsecond line"}
    return says(gate, tool_name=tool, tool_input=given, **fields)


def test_a_path_is_judged_before_and_after_its_links_are_followed(own, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    rules = own.folder / "rules.toml"
    for path in (f"/bin/..{rules}", f"{tmp_path}/link/..{'/..' * 9}{rules}",
                 f"{own.folder}/x\n/../rules.toml", f"{own.folder}/{'a/../' * 1000}rules.toml",
                 f"/{rules}", "/proc/self/cwd/rules.toml", "/proc//thread-self/root/etc",
                 "/proc/self/cwd/../x", f"/proc/{os.getpid()}/fd/3",
                 "/dev/fd/../cwd/a"):  # fmt: skip
        assert GATE in writes(own, path), path
    assert writes(own, f"{tmp_path}/link/../a.txt") == "runs"
    assert says(own, command="cat /proc/self/status /proc/cpuinfo") == "runs"


def test_a_link_whose_parent_is_elsewhere_is_judged_as_text(own, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (own.folder / "link").symlink_to(tmp_path / "deep" / "er")
    assert GATE in writes(own, f"{own.folder}/link/../rules.toml")


def test_contents_of_files_are_no_paths(own):
    given = {
        "file_path": "/tmp/notes.md",
        "content": f"{own.folder}/plugins/own\n~/.claude/settings",
    }
    assert says(own, tool_name="Write", tool_input=given) == "runs"


@pytest.mark.parametrize("agent", events.AGENTS)
def test_streams_of_a_command_are_no_files_of_the_server(own, agent):
    command = "echo hi > /dev/stderr; echo hi 2>&1 | tee /dev/stdout"
    assert GATE not in says(own, agent, command)
    if agent != "codex":
        assert says(own, agent, "cat /dev/fd/3") == "runs"


@pytest.mark.parametrize("command", [
    "bash <&1", "bash 0<&2", "exec 0>&1; bash", "exec 3>&1; bash <& 3", "bash <&01",
    "bash </dev/stderr", "bash 0<>/dev/stdout", "bash < /dev/pts/0", "bash </dev/fd/1",
    "bash < /proc/$$/fd/1",
])  # fmt: skip
def test_a_command_of_codex_cannot_open_its_stdin_again(own, command):
    assert GATE in says(own, "codex", command)


def test_a_command_of_codex_may_close_and_duplicate_its_output(own):
    assert GATE not in says(own, "codex", "make 2>&1 10>&1 <&- 0>&-")


@pytest.mark.parametrize(("text", "is_guard"), [
    ('"pre_tool_call", check, name="check"', False),
    ('"post_tool_call", check, name="check"', False),
    ('"pre_agent_run", check, role="guard", name="check"', False),
    ('"pre_tool_call", check, name="check", on_error="block"', True),
    ('"pre_tool_call", check, role="guard", name="check", shadow=True', False),
    ('"pre_tool_call", check, role="guard", name="quiet"', False),
])  # fmt: skip
def test_settings_need_a_receiver_of_tool_calls_that_closes(make_gate, text, is_guard):
    gate = make_gate()
    hooks = '["pre_tool_call", "post_tool_call", "pre_agent_run"]'
    plugin = f"def check(sender):\n    pass\n\n\ndef register(api):\n    api.connect({text})\n"
    gate.write('shadow = ["quiet"]\n' + gate.plug(plugin, hooks))
    is_run = says(gate) == "runs"
    assert is_run == is_guard
    assert is_guard or "names no guard" in gate.log


@pytest.mark.parametrize("rules", [
    'deny = ["Group:shell"]', 'deny = ["groups:shell"]', 'deny = [{ "group: shell" = {} }]',
])  # fmt: skip
def test_a_misspelt_group_closes_and_is_named(make_gate, rules):
    gate = make_gate()
    (gate.folder / "rules.toml").write_text(f'{rules}\ndefault = "allow"\n')
    gate.write('[gate]\nrules = "rules.toml"\n')
    assert says(gate) != "runs" and "did you mean 'group:shell'?" in gate.log


def test_rules_that_another_user_may_write_close(make_gate):
    gate = make_gate()
    (gate.folder / "rules.toml").write_text('default = "allow"\n')
    gate.write('[gate]\nrules = "rules.toml"\n')
    assert says(gate) == "runs"
    os.chmod(gate.folder / "rules.toml", 0o666)
    assert says(gate, number=2) != "runs" and "world-writable" in gate.log


def test_a_plugin_whose_path_begins_like_the_journal_is_watched(make_gate):
    gate = make_gate()
    gate.write(f'journal = "plugins/own/plugin"\n{gate.plug()}')
    assert "rm is not" in says(gate, command="rm a")
    plugin = gate.folder / "plugins" / "own" / "plugin.py"
    plugin.write_text(plugin.read_text().replace("rm is not", "and even less is"))
    assert "even less" in says(gate, command="rm a", number=2)


def test_an_edit_that_keeps_size_and_time_is_noticed(gate):
    assert "rm is not" in says(gate, command="rm a")
    plugin = gate.folder / "plugins" / "own" / "plugin.py"
    before = plugin.stat()
    with plugin.open("r+") as opened:
        text = opened.read().replace("rm is not", "RM is not")
        opened.seek(0)
        opened.write(text)
    os.utime(plugin, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "RM is not" in says(gate, command="rm a", number=2)


def test_relative_names_are_judged_from_the_folder_of_the_event(own, tmp_path):
    home = tmp_path / ".claude"
    home.mkdir()
    (tmp_path / "link").symlink_to(own.folder / "rules.toml")
    assert GATE in says(own, command="echo > settings.json", cwd=str(home))
    assert GATE in says(own, command="echo > link", cwd=str(tmp_path))
    assert says(own, command="echo > settings.json", cwd=str(tmp_path)) == "runs"
    assert "no absolute cwd" in says(own, cwd=None)
    assert "no absolute cwd" in says(own, cwd="tmp")


@pytest.mark.parametrize("form", [
    "file://{folder}/rules.toml", "file://localhost{folder}/rules.toml",
    "FILE:{folder}/rules.toml", "file://{folder}/%72ules.toml", "file://{folder}/rules.toml?a",
])  # fmt: skip
def test_addresses_of_files_are_paths(own, form):
    path = form.format(folder=own.folder)
    assert GATE in writes(own, path, tool="mcp__files__write", name="uri")


@pytest.mark.parametrize("name", ["bashCommand", "commandLine", "shell-script", "Cmd"])
def test_commands_of_mcp_are_found_by_any_spelling_of_their_name(own, name):
    given = {name: "hookbus approvals approve 1"}
    assert GATE in says(own, tool_name="mcp__shell__go", tool_input=given)


@pytest.mark.parametrize("command", [
    "hookbus serve --port 8000", "python -m hookbus --traceback serve", "'hookbus' run a.py",
])  # fmt: skip
def test_other_commands_that_answer_for_a_person_are_blocked(own, command):
    assert GATE in says(own, command=command)
    assert says(own, command="cd hookbus && npm run test && hookbus log", number=2) == "runs"


def test_a_folder_of_protected_files_cannot_be_taken_away(own, tmp_path):
    folder = own.folder
    for command in (f"rm -rf {folder.parent}/{folder.name}/", f"mv '{folder.parent}' /x", "rm -r ~",
                    f"cd /; mv -t /x {folder.parent}", "rm -r .claude",
                    "sudo rm -r ~/*"):  # fmt: skip
        assert GATE in says(own, command=command), command
    for tool, name in (("mcp__files__move_file", "source"), ("mcp__files__deleteAll", "dirPath")):
        assert GATE in writes(own, str(folder.parent), tool=tool, name=name)
    assert writes(own, str(folder.parent), tool="mcp__files__list", name="path") == "runs"
    assert says(own, command="mv report.pdf ~/", cwd=str(tmp_path)) == "runs"


def test_settings_of_agents_are_kept_where_variables_and_links_have_them(own, tmp_path):
    for each in ("data/codex", "home", "dotfiles/claude", "dotfiles/shared", "project/src",
                 "plain/.github"):  # fmt: skip
        (tmp_path / each).mkdir(parents=True)
    (tmp_path / "home" / ".claude").symlink_to(tmp_path / "dotfiles" / "claude")
    (tmp_path / "home" / ".gemini").mkdir()
    (tmp_path / "dotfiles" / "gemini.json").touch()
    (tmp_path / "home" / ".gemini" / "settings.json").symlink_to(tmp_path / "dotfiles/gemini.json")
    (tmp_path / "project" / ".cursor").symlink_to(tmp_path / "dotfiles" / "shared")
    variables = {"HOME": str(tmp_path / "home"), "CODEX_HOME": str(tmp_path / "data" / "codex"),
                 "CLAUDE_PROJECT_DIR": str(tmp_path / "project")}  # fmt: skip

    def does(command, folder="project/src"):
        return says(own, command=command, cwd=str(tmp_path / folder), variables=variables)

    for command in (f"rm -rf {tmp_path}/data/codex", f"mv {tmp_path}/data /x", "rm -rf .github",
                    "mv .github x", f"echo > {tmp_path}/dotfiles/claude/settings.json",
                    f"echo > {tmp_path}/dotfiles/gemini.json", f"rm -r {tmp_path}/dotfiles",
                    f"echo > {tmp_path}/dotfiles/shared/hooks.json",
                    f"rm -r {tmp_path}/project"):  # fmt: skip
        assert GATE in does(command), command
    for command in (f"rm -rf {tmp_path}/data/other", f"echo > {tmp_path}/dotfiles/other.json",
                    f"rm -r {tmp_path}/project/src"):  # fmt: skip
        assert GATE not in does(command), command
    assert GATE not in does(f"rm -r {tmp_path}/plain", "plain")


def test_globs_of_reading_tools_stay_in_the_allowed_folders(make_gate, tmp_path):
    gate = make_gate()
    gate.write('[gate]\npaths_within = ["."]\n')
    cases = {
        ("claude", "Glob", "pattern"): ("**/*.py", "/etc/*"),
        ("claude", "Grep", "glob"): ("*.py", "../*"),
        ("gemini", "glob", "pattern"): ("src/*", "**/../../*"),
        ("gemini", "read_many_files", "include"): (["*.md"], ["a", "/etc/passwd"]),
    }
    variables = {"CLAUDE_PROJECT_DIR": str(tmp_path), "GEMINI_PROJECT_DIR": str(tmp_path)}
    for (agent, tool, name), (inside, outside) in cases.items():
        more = {"tool_name": tool, "cwd": str(tmp_path), "variables": variables}
        assert says(gate, agent, tool_input={name: inside}, **more) == "runs"
        assert "outside" in says(gate, agent, tool_input={name: outside}, **more)
    given = {"pattern": r"/etc/\w+"}
    more = {"cwd": str(tmp_path), "variables": variables}
    assert says(gate, tool_name="Grep", tool_input=given, **more) == "runs"


@pytest.mark.parametrize("values", [False, True])
def test_a_journal_that_contains_values_is_not_read_by_an_agent(make_gate, values):
    gate = make_gate()
    gate.write(f'journal = "calls.journal"\n{gate.plug()}[gate]\nvalues = {str(values).lower()}\n')
    for name in ("calls.journal", "calls.journal-wal", "calls.journal-spool-1f0c9a7be2d64f35"):
        path = str(gate.folder / name)
        found = says(gate, tool_name="Read", tool_input={"file_path": path})
        assert (GATE in found) is values and (found == "runs") is not values
        assert GATE in writes(gate, path) and GATE in says(gate, command=f"cat {path}")
    assert says(gate, tool_name="Read", tool_input={"file_path": str(gate.file)}) == "runs"
