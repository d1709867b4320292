"""Twenty-one ways to run a tool against a policy. hookbus closes each of them."""

import threading
import time
from contextlib import closing

import pytest

from hookbus import Ask, Block, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.approvals import ApprovalPending, Approved, Proof, Store
from hookbus.guards import policy

ROLES = {"ada": ["finance"], "grace": ["finance"], "eve": []}
LIMIT = """permit(principal, action, resource == Tool::"pay")
    when { context.arguments.amount <= 100 };"""


class Bank:
    """A tool `pay` under policies, which keeps the payments that it made."""

    def __init__(self, folder):
        self.bus, self.folder, self.paid = Bus(), folder, []

        def pay(to: str, amount: int, note: str = ""):
            self.paid.append((to, amount))

        self.tools = {"pay": pay}

        @hookable("tool_call", bus=self.bus, identity=lambda sender: "bank")
        def call(name, arguments):
            self.tools[name](**arguments)

        self.call = call

    def under(self, text, **options):
        """Register policies."""
        self.bus.register(policy(text, schema=self.tools, entities=ROLES, **options))
        return self

    def pay(self, user="eve", **arguments):
        """Call the tool as a user."""
        with baggage(user=user):
            self.call("pay", {"to": "x", **arguments})


def positional_arguments(bank):
    bank.under(LIMIT).call("pay", {"to": "x", "amount": 101})


def a_single_equals_sign(bank):
    bank.under(LIMIT.replace("<=", "=")).pay(amount=101)


def parentheses(bank):
    bank.under(LIMIT.replace(
        "context.arguments.amount <= 100",
        "(context.arguments.amount < 5 || context.arguments.amount == 9) && "
        'context.arguments.to == "y"',
    )).pay(amount=9)  # fmt: skip


def negation(bank):
    bank.under(LIMIT.replace(
        "context.arguments.amount <= 100", "!(context.arguments.amount > 100)"
    )).pay(amount=101)  # fmt: skip


def a_misspelt_field_in_a_policy(bank):
    bank.under("permit(principal, action, resource is Tool);"
               "forbid(principal, action, resource) when { context.arguments.amuont > 1 };"
               ).pay(amount=101)  # fmt: skip


def a_misspelt_argument_of_a_call(bank):
    bank.under(LIMIT).pay(amount=1, amuont=101)


def a_misspelt_tool_in_a_policy(bank):
    bank.under('permit(principal, action, resource is Tool);'
               'forbid(principal, action, resource == Tool::"pya");').pay(amount=101)  # fmt: skip


def a_number_as_text(bank):
    bank.under(LIMIT).pay(amount="99")


def a_number_with_its_unit_in_a_forbid(bank):
    bank.under("permit(principal, action, resource is Tool);"
               "forbid(principal, action, resource) when { context.arguments.amount > 100 };"
               ).pay(amount="500 EUR")  # fmt: skip


def true_as_a_number(bank):
    bank.under(LIMIT).pay(amount=True)


def a_missing_argument(bank):
    bank.under(LIMIT).pay()


def a_rule_that_raises(bank):
    bank.under("permit(principal, action, resource is Tool);"
               "forbid(principal, action, resource) when "
               "{ context.arguments.amount + 9223372036854775807 > 100 };"
               ).pay(amount=101)  # fmt: skip


def a_guard_in_python_that_raises(bank):
    def raises(sender, name, arguments):
        return Block("too much") if arguments["sum"] > 100 else None

    bank.bus.signal("pre_tool_call").connect(raises, role="guard", weak=False)
    bank.under("permit(principal, action, resource is Tool);").pay(amount=101)


def arguments_that_a_hook_changes(bank):
    @bank.bus.signal("pre_tool_call").connect
    def changes(sender, arguments):
        return {"arguments": {**arguments, "amount": 101}}

    bank.under(LIMIT).pay(amount=1)


def arguments_that_an_around_changes(bank):
    @bank.bus.signal("around_tool_call").connect
    def changes(sender, call_next, arguments):
        return call_next(arguments={**arguments, "amount": 101})

    bank.under(LIMIT).pay(amount=1)


def arguments_that_change_during_the_approval(bank):
    arguments = {"to": "x", "amount": 1}

    @bank.bus.approver
    def approve(request):
        arguments["amount"] = 101
        return Approved("ada")

    bank.under(LIMIT.replace("permit", '@ask("pay {amount}?") permit')).call("pay", arguments)


def an_approver_that_fails(bank):
    @bank.bus.approver
    def fails(request):
        raise RuntimeError("no approver is here")

    bank.under(LIMIT.replace("permit", '@ask("pay?") permit')).pay(amount=1)


def the_approval_of_another_user(bank):
    with closing(Store(bank.folder / "approvals.db")) as store:
        bank.bus.approver(store)
        bank.under(LIMIT.replace("permit", '@ask("pay?") permit'))
        with pytest.raises(ApprovalPending) as pending:
            bank.pay("ada", amount=1)
        store.answer(pending.value.id, Approved("grace"))
        bank.pay("eve", amount=1)


def one_person_in_place_of_two(bank):
    def ask(sender, name, arguments):
        return Ask("pay?", roles=("finance",), approvals=2)

    bank.bus.signal("pre_tool_call").connect(ask, role="guard", weak=False)
    with closing(Store(bank.folder / "approvals.db", people=ROLES)) as store:
        bank.bus.approver(store)
        bank.under(LIMIT)
        with pytest.raises(ApprovalPending) as pending:
            bank.pay("eve", amount=1)
        for name in ("ada", "Ada "):
            try:
                store.answer(pending.value.id, Approved(name), proof=Proof(name, "the page"))
            except HookError:
                continue
        bank.pay("eve", amount=1)


def the_role_of_another_thread(bank):
    bank.under(LIMIT.replace("principal", 'principal in Role::"finance"'))
    refused = []

    def work():
        try:
            bank.call("pay", {"to": "x", "amount": 1})
        except HookBlocked as blocked:
            refused.append(blocked)

    with baggage(user="ada"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    raise refused[0]


def a_file_that_loses_its_policies(bank):
    path = bank.folder / "agent.cedar"
    path.write_text(LIMIT)
    bank.under(path)
    path.write_text("")
    time.sleep(0.11)  # longer than the pause between two looks at the file
    bank.pay(amount=101)


CASES = {
    positional_arguments: "no policy permits",
    a_single_equals_sign: "'=' is not a valid operator",
    parentheses: "no policy permits",
    negation: "no policy permits",
    a_misspelt_field_in_a_policy: "amuont",
    a_misspelt_argument_of_a_call: "no argument 'amuont'",
    a_misspelt_tool_in_a_policy: "no tool 'pya'",
    a_number_as_text: "not an integer",
    a_number_with_its_unit_in_a_forbid: "not an integer",
    true_as_a_number: "not an integer",
    a_missing_argument: "'amount' is missing",
    a_rule_that_raises: "could not be evaluated",
    a_guard_in_python_that_raises: "guard failed: KeyError",
    arguments_that_a_hook_changes: "no policy permits",
    arguments_that_an_around_changes: "no policy permits",
    arguments_that_change_during_the_approval: "changed after it was approved",
    an_approver_that_fails: "guard failed: RuntimeError",
    the_approval_of_another_user: "pending",
    one_person_in_place_of_two: "pending",
    the_role_of_another_thread: "no policy permits",
    a_file_that_loses_its_policies: "no policy permits",
}


def test_there_are_twenty_one_cases():
    assert len(CASES) == 21


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.__name__)
def test_the_tool_does_not_run(case, tmp_path):
    bank = Bank(tmp_path)
    with pytest.raises((HookBlocked, HookError), match=CASES[case]):
        case(bank)
    assert bank.paid == []


def test_the_same_tool_runs_where_the_policy_permits_it(tmp_path):
    bank = Bank(tmp_path).under(LIMIT)
    bank.pay(amount=100)
    assert bank.paid == [("x", 100)]
