"""Cells that say how far they are, and cells that ask, in a real kernel with somebody who types."""

import pytest

from .run import environment

HOOKED = """
import asyncio, time
from hookbus import Ask, default_bus, hookable, signal
from hookbus.approvals import Inbox, terminal
from hookbus.testing import record

class Bank:
    @hookable("pay")
    def pay(self, to):
        return "paid " + to

    @hookable("send")
    async def send(self, to):
        return "sent to " + to

    @hookable("slow")
    def slow(self, seconds):
        time.sleep(seconds)

@signal("pre_pay").connect_via(Bank, role="guard")
@signal("pre_send").connect_via(Bank, role="guard")
def ask(bank, to):
    return Ask(f"to {to}?")

def tried(call, *given):
    try:
        return call(*given)
    except Exception as error:
        return error.reason
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run cells in one kernel while somebody types; each gives what it printed and what it showed.
    """
    folder = tmp_path_factory.mktemp("kernel")
    from jupyter_client.manager import start_new_kernel  # a large import

    manager, client = start_new_kernel(env=environment(folder), cwd=str(folder))

    def run_cell(source, *typed):
        printed, shown, left = [], [], list(typed)

        def output(told):
            content, kind = told["content"], told["msg_type"]
            if kind == "stream":
                printed.append(content["text"])
            elif kind in ("display_data", "update_display_data"):
                shown.append(content["data"]["text/plain"])
            assert kind != "error", content

        client.execute_interactive(
            source, timeout=60, allow_stdin=bool(typed), output_hook=output,
            stdin_hook=lambda told: client.input(left.pop(0)),
        )  # fmt: skip
        assert not left
        return "".join(printed), shown

    run_cell(HOOKED)
    yield run_cell
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_call_asks_below_its_cell_and_goes_on_as_somebody_says(run):
    run("default_bus.approver(None); default_bus.approver(terminal); bank = Bank()")
    printed, _ = run("print(bank.pay('Ada')); print(tried(bank.pay, 'Eve'))", "yes", "no")
    assert "to Ada?" in printed and 'to = "Eve"   (previously "Ada")' in printed
    assert "paid Ada" in printed and "denied by" in printed.splitlines()[-1]
    printed, _ = run("print(await bank.send('Ada'))", "y")
    assert printed.endswith("sent to Ada\n")


def test_where_nobody_can_type_the_call_is_blocked(run):
    run("default_bus.approver(None); default_bus.approver(terminal); bank = Bank()")
    printed, _ = run("print(tried(bank.pay, 'Ada'))")
    assert "paid" not in printed


def test_a_later_cell_answers_what_waits_at_a_inbox(run):
    run("default_bus.approver(None); inbox = default_bus.approver(Inbox()); bank = Bank()")
    run("tasks = [asyncio.create_task(bank.send(to)) for to in ('Ada', 'Eve')]\n"
        "await asyncio.sleep(0.01)")  # fmt: skip
    printed, _ = run("terminal.answer_pending(inbox)", "yes", "no")
    assert "to Ada?" in printed and "to Eve?" in printed
    printed, _ = run("print(await tasks[0], inbox.pending(), await asyncio.wait([tasks[1]]) and "
                     "tasks[1].exception().reason)")  # fmt: skip
    assert "sent to Ada []" in printed and "denied by" in printed


def test_a_recording_says_how_far_it_is_while_the_cell_runs(run):
    _, shown = run("with record() as happened:\n    Bank().slow(0.01); Bank().slow(1.3)")
    assert len(shown) >= 3
    assert "1 returned, 1 running, slow of Bank" in shown[0]
    assert shown[-1].endswith(": 2 returned")


def test_a_recording_that_is_over_at_once_shows_nothing_by_itself(run):
    printed, shown = run("with record() as happened:\n    Bank().slow(0.01)\nprint(happened)")
    assert shown == [] and printed.startswith("1 call in ")
