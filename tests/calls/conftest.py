"""What the tests of one call share: an agent, and the arguments that its method received."""

import pytest

from hookbus import Bus, hookable


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def ran():
    return []


@pytest.fixture
def agent(bus, ran):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, temperature=0.7):
            ran.append(("body", msg))
            if msg == "raise":
                raise LookupError("from the body")
            return "re: " + msg

    return Agent()


@pytest.fixture
def tokens(bus, ran):
    @hookable("tokens", bus=bus)
    def tokens(n):
        try:
            for i in range(n):
                sent = yield i
                ran.append(("sent", sent)) if sent is not None else None
        finally:
            ran.append("closed")
        return "done"

    return tokens
