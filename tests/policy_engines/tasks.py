"""Twelve calls of a tool that must not run, and what a policy engine needs to be asked about them.

This file is run by `run.py` in an environment without hookbus.
"""

import tempfile
import time
from collections import namedtuple
from pathlib import Path

Rule = namedtuple("Rule", "effect tool argument operator")
"""A rule about `tool`; with an argument, about calls in which it is over 100."""

ALLOW = Rule("allow", "*", None, None)
FORBID = Rule("forbid", "pay", "amount", ">")
RULES = [FORBID, ALLOW]


class Inexpressible(Exception):
    """The engine has no way to say this, or the task does not apply to it."""


class Bank:
    """The tool, and what it has paid."""

    def __init__(self):
        self.paid = []

        def pay(to, amount=500):
            self.paid.append(amount)

        self.pay = pay


def by_keyword(engine, pay, path):
    engine.govern(pay, engine.write(path, RULES))(to="x", amount=500)


def by_position(engine, pay, path):
    engine.govern(pay, engine.write(path, RULES))("x", 500)


def number_as_text(engine, pay, path):
    engine.govern(pay, engine.write(path, RULES))(to="x", amount="500 EUR")


def not_a_number(engine, pay, path):
    engine.govern(pay, engine.write(path, RULES))(to="x", amount=float("nan"))


def default_value(engine, pay, path):
    engine.govern(pay, engine.write(path, RULES))(to="x")


def misspelt_argument(engine, pay, path):
    rules = [FORBID._replace(argument="amuont"), ALLOW]
    engine.govern(pay, engine.write(path, rules))(to="x", amount=500)


def misspelt_tool(engine, pay, path):
    rules = [FORBID._replace(tool="pya"), ALLOW]
    engine.govern(pay, engine.write(path, rules))(to="x", amount=500)


def misspelt_operator(engine, pay, path):
    rules = [FORBID._replace(operator="misspelt"), ALLOW]
    engine.govern(pay, engine.write(path, rules))(to="x", amount=500)


def condition_that_fails(engine, pay, path):
    rules = [FORBID._replace(operator="fails"), ALLOW]
    engine.govern(pay, engine.write(path, rules))(to="x", amount=500)


def forbidden_after_allowed(engine, pay, path):
    engine.govern(pay, engine.write(path, [ALLOW, FORBID]))(to="x", amount=500)


def empty_file(engine, pay, path):
    path.write_text("")
    engine.govern(pay, path)(to="x", amount=500)


def emptied_file(engine, pay, path):
    call = engine.govern(pay, engine.write(path, RULES))
    path.write_text("")
    time.sleep(0.3)
    engine.reload()
    call(to="x", amount=500)


TASKS = [
    by_keyword, by_position, number_as_text, not_a_number, default_value, misspelt_argument,
    misspelt_tool, misspelt_operator, condition_that_fails, forbidden_after_allowed, empty_file,
    emptied_file,
]  # fmt: skip


def play(make_engine):
    """Return, for each task, whether the tool `ran`, was `stopped`, or the task does not apply.

    First, a call that the policy allows must run.
    """
    with tempfile.TemporaryDirectory() as folder:
        bank, engine = Bank(), make_engine()
        path = Path(folder, f"allowed{engine.suffix}")
        engine.govern(bank.pay, engine.write(path, RULES))(to="x", amount=50)
        if bank.paid != [50]:
            raise RuntimeError("a call that the policy allows did not run")
        found = {}
        for task in TASKS:
            bank, engine = Bank(), make_engine()
            refused = ""
            try:
                task(engine, bank.pay, Path(folder, f"{task.__name__}{engine.suffix}"))
            except Inexpressible:
                found[task.__name__] = "-"
                continue
            except Exception as error:
                refused = f"{type(error).__name__}: {error}"
            found[task.__name__] = "ran" if bank.paid else "stopped"
            if not bank.paid and not refused:
                raise RuntimeError(f"{task.__name__}: the tool did not run, and nothing was raised")
        return found
