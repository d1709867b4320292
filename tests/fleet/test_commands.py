"""`hookbus fleet make | status | events | ship | kill | revive | switch`."""

import json

import pytest

from hookbus import Bus, cli, hookable
from hookbus.fleet import Fleet
from hookbus.journal import Journal

from ..approvals.test_store import bank, parked
from .postgres import PASSWORDS


@pytest.fixture
def command(made, postgres, monkeypatch, capsys):
    """The command line for a fleet: give it words, and it gives its exit code and its output."""

    def run(*words, role="operator", schema=None):
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("HOOKBUS_FLEET", postgres.url(role))
        code = cli.main(["fleet", *map(str, words), "--schema", schema or made.schema])
        printed = "".join(capsys.readouterr())
        assert not any(word in printed for word in PASSWORDS.values())
        return code, printed

    return run


def test_an_owner_makes_a_fleet(command, postgres):
    words = ["make", "--agents", "agent", "--operators", "operator"]
    code, printed = command(*words, role="owner", schema="by_command")
    assert (code, printed) == (0, "the fleet by_command is ready\n")
    Fleet(postgres.url("agent"), schema="by_command").close()


def test_an_operator_kills_revives_switches_and_sees_it(command, made):
    made.open("agent", member="worker 1").join(Bus())
    assert command("kill", "pay_*", "--by", "ada", "--reason", "a wrong amount")[0] == 0
    assert command("switch", "no_keys", "shadow", "--by", "ada")[0] == 0
    code, printed = command("status")
    assert code == 0 and "worker 1" in printed and "a wrong amount" in printed
    words = json.loads(command("status", "--json")[1])["words"]
    assert [(each["kind"], each["name"], each["act"], each["by"]) for each in words] == [
        ("kill", "pay_*", "kill", "ada"), ("switch", "no_keys", "shadow", "ada"),
    ]  # fmt: skip
    assert command("revive", "pay_*")[0] == 0
    assert command("switch", "no_keys", "enable")[0] == 0
    assert "no active kills or switches" in command("status")[1]
    code, printed = command("revive", "pay_*")
    assert code == 2 and "is not killed" in printed


def test_a_journal_is_shipped_and_its_events_are_printed_once_for_a_reader(command, tmp_path):
    bus, path = Bus(), tmp_path / "journal.db"
    step = hookable("step", bus=bus)(lambda: None)
    with Journal(path) as journal:
        journal.attach(bus)
        step()
        step()
    code, printed = command("ship", "--journal", path, role="agent")
    assert (code, printed) == (0, "published: 4\n")
    assert command("ship", "--journal", path, role="agent") == (0, "published: 0\n")
    lines = command("events")[1].splitlines()
    assert len(lines) == 4 and "hookbus.started  step" in lines[0]
    assert command("events")[1].splitlines() == lines
    found = [json.loads(line) for line in command("events", "--reader", "siem", "--json")[1].split(
        "\n")[:-1]]  # fmt: skip
    assert [each["type"] for each in found] == ["hookbus.started", "hookbus.finished"] * 2
    assert command("events", "--reader", "siem", "--json") == (0, "")


def test_requests_of_the_fleet_are_listed_and_answered(command, made, capsys):
    pay = bank(made.open("agent").approvals())
    id = parked(pay, "bob", 500)
    command("status")  # sets the URL

    def approvals(*words):
        code = cli.main(["approvals", *words, "--fleet", "--schema", made.schema])
        return code, "".join(capsys.readouterr())

    listed = approvals("list")[1]
    assert id in listed and "approve ID --fleet" in " ".join(listed.split())
    assert json.loads(command("status", "--json")[1])["pending"] == 1
    code, printed = approvals("approve", id[:6])
    assert code == 0 and "approved: pay 500?" in printed
    assert pay("bob", 500) == 500
    assert "no pending requests" in approvals("list")[1]
    code, printed = approvals("list", "--approvals", "approvals.db")
    assert code == 2 and "--fleet cannot be combined" in printed


def test_what_cannot_be_done_ends_with_2_and_one_line(command, tmp_path, monkeypatch):
    assert command("kill", "pay", role="agent")[0] == 2
    code, printed = command("status", role="stranger")
    assert code == 2 and printed.startswith("hookbus: ") and printed.count("\n") == 1
    code, printed = command("ship", "--journal", tmp_path / "none.db")
    assert code == 2 and "does not exist" in printed
    assert command("switch", "guard", "off")[0] == 2


def test_the_url_comes_from_a_file_that_others_cannot_read(made, postgres, tmp_path, capsys):
    file = tmp_path / "url"
    file.write_text(postgres.url("operator") + "\n")
    words = ["fleet", "status", "--url-file", str(file), "--schema", made.schema]
    file.chmod(0o640)
    assert cli.main(words) == 2
    assert f"chmod 600 {file}" in capsys.readouterr().err
    file.chmod(0o600)
    assert cli.main(words) == 0


def test_without_a_url_the_command_says_how_to_give_one(monkeypatch, capsys):
    monkeypatch.delenv("HOOKBUS_FLEET", raising=False)
    assert cli.main(["fleet", "status"]) == 2
    assert "set HOOKBUS_FLEET, or pass --url-file FILE" in capsys.readouterr().err
