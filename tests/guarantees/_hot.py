"""An agent whose plan is hot, so that generated code runs its calls."""

from __future__ import annotations

from hookbus import Bus, hookable

HOT = 20


class Stage:
    """An agent whose calls carry a list, in which everybody who is asked leaves a note.

    Its plan is hot.
    """

    def __init__(self):
        stage, self.bus = self, Bus()

        class Agent:
            @hookable("think", bus=self.bus)
            def think(self, notes):
                notes.append("body")
                return stage.body(notes)

            @hookable("reply", bus=self.bus)
            async def reply(self, notes):
                notes.append("body")
                return stage.body(notes)

        self.Agent, self.agent = Agent, Agent()
        self.body = lambda notes: notes

    def connect(self, name, /, phase="pre", hook="think", **options):
        def receiver(agent, notes):
            notes.append(name)

        return self.bus.signal(f"{phase}_{hook}").connect(receiver, **options)

    def heat(self, agent=None):
        agent = agent or self.agent
        for _ in range(HOT):
            agent.think([])


class Plural(Stage):
    """Two hooks of one class, and a child that overrides both."""

    def __init__(self):
        super().__init__()
        bus, stage = self.bus, self

        class Parent:
            @hookable("think", bus=bus)
            def think(self, notes):
                notes.append("think")
                return notes

            @hookable("plan", bus=bus)
            def plan(self, notes):
                notes.append("plan")
                return notes

        class Child(Parent):
            @hookable("think", bus=bus)
            def think(self, notes):
                stage.inside(notes)
                return super().think(notes)

            @hookable("plan", bus=bus)
            def plan(self, notes):
                return super().plan(notes)

        self.Parent, self.agent, self.inside = Parent, Child(), lambda notes: None
        self.connect("asked")
        self.connect("asked to plan", hook="plan")


class Broken(Exception):
    pass


def raises(*given, **named):
    raise Broken("on purpose")
