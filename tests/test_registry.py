"""Identity is checked, not trusted: an id that is used again never brings a dead sender's receivers back."""

import pytest

from hookbus import Bus, hookable


@pytest.mark.parametrize("deferred", [False, True])
def test_a_dead_senders_connection_is_never_taken_for_that_of_a_new_object_at_its_address(monkeypatch, deferred):
    bus, fired = Bus(), []

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    signal = bus.signal("pre_reply")
    for _ in range(200):
        agent = Agent()
        signal.connect(lambda a: fired.append(1), sender=agent, role="observe")
        if deferred:
            # As when the collector runs while the lock is held: the burial waits for whoever holds it.
            with bus.lock:
                del agent
                successor = Agent()
            found = signal.matching(successor)
            assert found == []
        else:
            del agent
            successor = Agent()
        successor.reply()
        del successor
    assert fired == []
    assert len(signal.connections()) == 0
