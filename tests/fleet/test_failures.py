"""Each block that the server of a fleet causes says in its details how the server failed."""

import threading
import time

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, events, guards, hookable

ENOUGH = 60.0


def limited(bus, fleet):
    bus.register(guards.rate_limit(99, storage=fleet, hook="model_call"))


def budgeted(bus, fleet):
    bus.register(guards.budget(tokens=10**9, storage=fleet))


def approved(bus, fleet):
    bus.approver(fleet.approvals())
    bus.signal("pre_model_call").connect(lambda sender: Ask("ask it?"), role="guard", weak=False)


def joined(bus, fleet):
    fleet.join(bus, hooks=["model_call"])


USES = limited, budgeted, approved, joined


def called(use, fleet):
    """Return a function that makes a call, and returns how the server failed, or None."""
    bus, blocks = Bus(), []
    use(bus, fleet)
    bus.events.connect(lambda bus, event: blocks.append(event), kinds=[events.Blocked])

    @hookable("model_call", bus=bus, identity=lambda sender: "the model")
    def ask(model, messages, options):
        return {"usage": {"input_tokens": 1, "output_tokens": 1}}

    def failure():
        try:
            ask("gpt-4o", "", {"max_tokens": 9})
        except HookBlocked as error:
            assert blocks[-1].details == error.verdict.details
            return (error.verdict.details or {}).get("failure")
        return None

    return failure


def opened(made):
    """Return a function that checks how the server failed, for all uses at the same time."""
    calls = [called(use, made.open("agent", blind=1)) for use in USES]

    def check(expected):
        found = []

        def wait(call):
            until = time.monotonic() + ENOUGH
            while (failure := call()) != expected and time.monotonic() < until:
                time.sleep(0.01)
            found.append(failure)

        threads = [threading.Thread(target=wait, args=[call]) for call in calls]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert found == [expected] * len(calls)

    return check


def test_a_server_that_is_not_there_is_absent(made, postgres):
    check = opened(made)
    postgres.stop()
    try:
        check("absent")
    finally:
        postgres.start()


def test_a_server_that_stands_still_is_late(made, postgres):
    check = opened(made)
    postgres.hold()
    try:
        check("late")
    finally:
        postgres.release()


def test_a_role_without_rights_is_refused(made, postgres):
    check = opened(made)
    postgres.run_sql(f"REVOKE USAGE ON SCHEMA {made.schema} FROM agent")
    check("refused")


def test_an_error_of_a_fleet_says_how_the_server_failed(made):
    operator = made.open("operator")
    with pytest.raises(HookError) as error:
        made.open("agent").status()
    assert error.value.failure == "refused"
    with pytest.raises(HookError) as error:
        made.open("stranger")
    assert error.value.failure == "refused"
    operator.close()
    with pytest.raises(HookError) as error:
        operator.status()
    assert error.value.failure == "unsent"
    with pytest.raises(HookError) as error:
        operator.kill("", by="ada")
    assert error.value.failure is None
