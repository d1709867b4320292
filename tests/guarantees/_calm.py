"""An agent whose calls carry a list."""

from __future__ import annotations

from hookbus import Bus, hookable


class Stage:
    """An agent whose calls carry a list, in which everybody who is asked leaves a note."""

    def __init__(self):
        stage, self.bus = self, Bus()

        class Agent:
            @hookable("think", bus=self.bus, sealed=False)
            def think(self, notes):
                notes.append("body")
                return stage.body(notes)

            @hookable("reply", bus=self.bus, sealed=False)
            async def reply(self, notes):
                notes.append("body")
                return stage.body(notes)

        self.Agent, self.agent = Agent, Agent()
        self.body = lambda notes: notes

    def connect(self, name, /, phase="pre", hook="think", **options):
        def receiver(agent, notes):
            notes.append(name)

        return self.bus.signal(f"{phase}_{hook}").connect(receiver, **options)

    def warm(self, agent=None):
        """Make a few calls, so that what follows changes what runs already."""
        for _ in range(3):
            (agent or self.agent).think([])


class Broken(Exception):
    pass


def raises(*given, **named):
    raise Broken("on purpose")
