"""guards.policy: arguments that the schema does not know are blocked, wherever they are."""

import pytest

from hookbus import HookBlocked, hookable
from hookbus.guards import policy

SMALL = """permit(principal, action, resource == Hook::"refund")
    when { context.arguments.amount <= 100 };"""


def test_further_arguments_of_a_hookable_are_blocked(bus):
    made = []

    @hookable("refund", bus=bus)
    def refund(to: str, amount: int):
        made.append(amount)

    @hookable("refund", bus=bus)
    def refund_with(to: str, amount: int, *rest, **more):
        made.append((amount, rest, more))

    bus.register(policy(SMALL, hook="refund"))
    refund("x", 4)
    refund_with("x", 5)
    assert made == [4, (5, (), {})]
    for further, named in (((9999,), {}), ((), {"amt": 99999})):
        with pytest.raises(HookBlocked, match="does not declare the arguments in '(rest|more)'"):
            refund_with("x", 5, *further, **named)
    assert len(made) == 2


@pytest.mark.parametrize("is_method", [True, False])
def test_what_a_caller_of_tools_takes_beside_the_arguments_is_blocked(bus, is_method):
    made = []

    class Agent:
        @hookable("tool_call", bus=bus)
        def call_tool(self, name, arguments, **more):
            made.append(more)

    @hookable("tool_call", bus=bus)
    def call_tool(name, arguments, **more):
        made.append(more)

    call = Agent().call_tool if is_method else call_tool
    permit = 'permit(principal, action, resource == Tool::"pay");'
    bus.register(policy(permit, schema={"pay": {"amount": int}}))
    call("pay", {"amount": 5})
    with pytest.raises(HookBlocked, match="does not declare the arguments in 'more'"):
        call("pay", {"amount": 5}, sudo=True)
    assert made == [{}]
