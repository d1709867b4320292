"""What tests of the steps of a call share: an agent, a mode, and the emitted events."""

from hookbus import events, hookable


def agent_of(bus, ran):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, tone="kind"):
            ran.append((msg, tone))
            return msg

        @hookable("think", bus=bus)
        async def think(self, msg):
            ran.append(msg)
            return msg

        @hookable("stream", bus=bus)
        def stream(self, msg):
            ran.append(msg)
            yield msg

    return Agent()


def all_at_once(receivers):
    answers = yield receivers
    return [answer.value for answer in answers]


def failures_of(bus):
    """Return a list that every failure from now on is put into."""
    heard = []
    bus.events.connect(lambda bus, event: heard.append(event), kinds=(events.Failed,))
    return heard


def turns_of(bus):
    """Return a list that the name and the answer of every turn from now on are put into."""
    heard = []
    bus.events.connect(
        lambda bus, event: heard.append((event.receiver, event.answer)), kinds=(events.Invoked,)
    )
    return heard
