"""Questions like those of a system whose plugins answer its hooks."""

from hookbus import hookspec


def question(bus, mode, name="ask", **options):
    """Declare a plain question about a message."""

    def ask(message="hi", session_id="s"): ...

    return hookspec(mode, name=name, bus=bus, **options)(ask)


def async_question(bus, mode, name="ask", **options):
    """Declare the same for who awaits it."""

    async def ask(message="hi", session_id="s"): ...

    return hookspec(mode, name=name, bus=bus, **options)(ask)
