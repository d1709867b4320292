"""Questions, and the plugins that answer them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hookbus import hookspec, load_plugins, modes, receives

from ._told import Topic

TOPIC = Topic("Plugins and questions", {})


def by_chat(message): ...


def ask(bus):
    @hookspec(modes.firstresult, bus=bus)
    def resolve(message): ...

    return resolve


@TOPIC.mistake("`def by_chat(mesage)`: a parameter the question does not have")
def a_typo_in_an_answer(bus, Agent):
    ask(bus).connect(lambda mesage: 1, name="by_chat")


@TOPIC.mistake("a receiver of a question, connected with a sender")
def a_question_with_a_sender(bus, Agent):
    ask(bus)
    bus.signal("resolve").connect(by_chat, sender=Agent)


@TOPIC.mistake('`role="guard"` for a receiver of a question')
def a_guard_as_an_answer(bus, Agent):
    ask(bus).connect(by_chat, role="guard")


@TOPIC.mistake("an `async def` receiver for a sync `def` question")
def an_async_answer(bus, Agent):
    async def by_chat(message): ...

    ask(bus).connect(by_chat)


@TOPIC.mistake("`@resolve.connect_via` without parentheses")
def connect_via_without_parentheses(bus, Agent):
    ask(bus).connect_via(lambda message: 1)


@TOPIC.mistake("`@hookspec` without a mode")
def no_mode(bus, Agent):
    @hookspec
    def resolve(message): ...

    return lambda: resolve("hi")


@TOPIC.mistake("two questions with one name")
def two_of_one_name(bus, Agent):
    ask(bus)

    @hookspec(modes.broadcast, name="resolve", bus=bus)
    def another(message): ...


@TOPIC.mistake("`resolve.replay()` without `historic=True`")
def nothing_to_replay(bus, Agent):
    resolve = ask(bus)
    return lambda: resolve.replay()


@TOPIC.mistake("`bus.register(Plugin)`: the class")
def the_class_of_a_plugin(bus, Agent):
    class Plugin:
        @receives("pre_reply")
        def look(self, agent): ...

    bus.register(Plugin)


@TOPIC.mistake("`bus.register(obj)`, and no method is marked with `@receives`")
def nothing_marked(bus, Agent):
    bus.register(object())


@TOPIC.mistake('`@receives("pre_reply", prioritty=3)`')
def a_typo_in_a_mark(bus, Agent):
    class Plugin:
        @receives("pre_reply", prioritty=3)
        def look(self, agent): ...


@TOPIC.mistake("`@receives` without the name of a signal")
def a_mark_without_a_name(bus, Agent):
    class Plugin:
        @receives
        def look(self, agent): ...

    bus.register(Plugin())


@TOPIC.mistake('`load_plugins(user="plugins/search")`: the folder of one plugin')
def the_folder_of_a_plugin(bus, Agent):
    with TemporaryDirectory() as folder:
        plugin = Path(folder, "search")
        plugin.mkdir()
        (plugin / "hookbus-plugin.toml").write_text("")
        load_plugins(bus, user=plugin, installed=False)


@TOPIC.mistake('`load_plugins("plugins")`: a folder by position')
def a_folder_by_position(bus, Agent):
    load_plugins("plugins")
