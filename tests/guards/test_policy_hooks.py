"""`guards.policy`: policies must be about the hook whose calls they decide."""

import time

import pytest

from hookbus import Ask, Bus, HookError, hookable
from hookbus.events import Blocked
from hookbus.guards import policy

PAY = 'permit(principal, action == Action::"{}", resource == Tool::"pay");\n'
PAY_OR_READ = """permit(principal, action in [Action::"deploy", Action::"pay_call"],
resource == Tool::"pay");"""
TOOLS = {"pay": {"amount": int}}


@pytest.mark.parametrize("hook", ["tool_call", ("tool_call", "model_call"), "tool_*"])
def test_policies_of_which_none_is_about_the_hook_are_refused(hook):
    why = r'line 1: no policy is about the hook .*: the first one names Action::"pay_call"\. '
    with pytest.raises(HookError, match=why + "If it is .* pass hook='pay_call'"):
        policy(PAY.format("pay_call"), schema=TOOLS, hook=hook)
    with pytest.raises(HookError, match="no policy is about the hook"):
        policy(PAY_OR_READ, schema=TOOLS, hook=hook)


@pytest.mark.parametrize(
    "text, hook",
    [(PAY.format("pay_call"), "pay_*"), (PAY.format("pay_call"), ("tool_call", "pay_call")),
     (PAY.format("deploy") + PAY.format("tool_call"), "tool_call"),
     ('permit(principal, action, resource == Tool::"pay");', "tool_call"), (PAY_OR_READ, "pay_*")],
)  # fmt: skip
def test_one_policy_about_the_hook_is_enough(text, hook):
    assert policy(text, schema=TOOLS, hook=hook).rules


def test_a_misspelt_hook_of_all_policies_is_refused_with_the_right_one():
    with pytest.raises(HookError, match="did you mean 'tool_call'"):
        policy(PAY.format("tol_call"), schema=TOOLS)


def test_a_changed_file_about_another_hook_leaves_the_earlier_policies_in_force(tmp_path):
    path = tmp_path / "agent.cedar"
    path.write_text(PAY.format("tool_call"))
    guard = policy(path, schema=TOOLS)
    path.write_text(PAY.format("other_call") + "// longer\n")
    deadline = time.monotonic() + 30
    while guard.problem is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "no policy is about the hook 'tool_call'" in guard.problem
    assert len(guard.rules) == 1


def test_an_approval_that_a_guard_in_shadow_would_require_is_marked_as_asked():
    bus, blocks = Bus(), []
    bus.events.connect(lambda _, event: blocks.append(event), kinds=(Blocked,))

    @hookable("tool_call", bus=bus)
    def call_tool(name, arguments):
        return "paid"

    @bus.signal("pre_tool_call").connect_via(role="guard", shadow=True)
    def asking(sender):
        return Ask("pay?")

    asking_policy = '@shadow @ask("pay {amount}?") permit(principal, action, resource is Tool);'
    bus.register(policy(asking_policy + PAY.format("tool_call"), schema=TOOLS))
    assert call_tool("pay", {"amount": 5}) == "paid"
    assert [(each.reason, each.asked, each.enforced) for each in blocks] == [
        ("pay 5?", True, False), ("pay?", True, False),
    ]  # fmt: skip
