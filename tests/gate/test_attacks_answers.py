"""What a model, a receiver or a server of MCP may try with the texts that the gate reads."""

import pytest

from . import events


def runs(gate, agent, event, **options):
    """Return the text of a refusal, or what becomes of an event otherwise."""
    what, value = gate.outcome(agent, event, **options)
    return str(value) if what == "blocked" else what


@pytest.fixture(scope="module")
def patched(module_gates):
    gate = module_gates("patches")
    gate.write(f"[gate]\npaths_within = ['{gate.folder}']\n")
    return gate


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\r", "\0"])
def test_a_path_of_a_patch_has_no_control_character(patched, mark):
    def apply(path):
        patch = f"*** Begin Patch\n*** Add File: {path}\n+b\n*** End Patch"
        fields = {"tool_name": "apply_patch", "cwd": str(patched.folder)}
        return runs(patched, "codex", events.before("codex", patch, **fields))

    assert "a path has a control character" in apply(f"a{mark}/../../x")
    assert "a path has a control character" in apply(f"a{mark} ")
    assert apply("a\r") == "runs"  # the line ends as on Windows
