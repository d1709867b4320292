"""Fleet.ship in a program that forks."""

import os

from .test_events import steps_of, until


def test_a_forked_process_ships_what_it_does(made, journal):
    step = steps_of(journal)
    made.open("agent").ship(journal)
    step("parent")
    child = os.fork()
    if child == 0:
        try:
            step("child")
            journal.flush()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    events = made.open("operator").events("siem")
    seen = []
    until(lambda: seen.extend(events) or len({each.run for each in seen}) == 2)
