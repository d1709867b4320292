"""Features to use on a system without Unix. Importing this removes what only Unix has."""

import asyncio
import importlib
import pkgutil
import ssl
import threading
import time

from tests.bare_system import MODULES, remove_unix_names

asyncio.new_event_loop().close()  # of the real system: which kind it makes is fixed now
remove_unix_names()
ssl.enum_certificates = lambda store: ()  # which Windows has

import hookbus  # noqa: E402
from hookbus import Block, Bus, HookBlocked, hookable  # noqa: E402

FEATURES = {}
PLUGIN = 'format = 1\nid = "shout"\nversion = "1"\nhooks = ["pre_say"]\n'
CODE = """
def register(api):
    api.connect("pre_say", lambda sender, text: {"text": text.upper()})
"""


def feature(function):
    FEATURES[function.__name__] = function
    return function


def tool_on(bus):
    @hookable("tool_call", bus=bus, identity=lambda function: "the tools")
    def tool_call(name, arguments):
        return f"{name} ran"

    return tool_call


def reason_of(call, *given):
    """Return why a call was blocked."""
    try:
        call(*given)
    except HookBlocked as blocked:
        return blocked.reason
    raise AssertionError("the call was not blocked")


@feature
def every_module_is_imported(folder):
    for module in pkgutil.walk_packages(hookbus.__path__, "hookbus."):
        if module.name.endswith("__main__") or module.name.startswith("hookbus.demo"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of a framework that is not installed
            assert error.name and error.name not in MODULES, module.name


@feature
def a_deadline_of_a_plain_guard(folder):
    tool = tool_on(bus := Bus())
    bus.signal("pre_tool_call").connect(
        lambda sender: time.sleep(5), role="guard", timeout=0.05, name="slow"
    )
    assert "TimeoutError" in reason_of(tool, "a", {})


@feature
def a_deadline_of_an_async_guard(folder):
    bus = Bus()

    @hookable("ask", bus=bus)
    async def ask():
        return "ran"

    async def slow(sender):
        await asyncio.sleep(5)

    bus.signal("pre_ask").connect(slow, role="guard", timeout=0.05)
    assert "TimeoutError" in reason_of(lambda: asyncio.run(ask()))


@feature
def async_receivers_of_a_plain_call(folder):
    bus = Bus()

    @hookable("ask", bus=bus, async_receivers=True)
    def ask():
        return "ran"

    async def refuse(sender):
        await asyncio.sleep(0)
        return Block("no")

    bus.signal("pre_ask").connect(refuse, role="guard")
    assert reason_of(ask) == "no"


@feature
def observers_in_the_background(folder):
    tool, heard = tool_on(bus := Bus()), threading.Event()
    bus.signal("post_tool_call").connect(
        lambda sender: heard.set(), role="observe", background=True
    )
    tool("a", {})
    assert heard.wait(10) and bus.drain_sync(10) == 0


@feature
def ready_guards(folder):
    from hookbus.guards import no_loops, paths_within, public_hosts, rate_limit, redact, tool_policy

    tool = tool_on(bus := Bus())
    for guard in (
        tool_policy(allow=["read_*"], deny=["delete_*"]), rate_limit(3, per=60), no_loops(),
        redact(), paths_within(folder), public_hosts(),
    ):  # fmt: skip
        bus.register(guard)
    assert tool("read_file", {"path": str(folder / "a.txt")}) == "read_file ran"
    assert "outside" in reason_of(tool, "read_file", {"path": str(folder.parent)})
    assert "delete_all" in reason_of(tool, "delete_all", {})
    assert "3 calls" in reason_of(tool, "read_file", {"path": str(folder / "b.txt")})


@feature
def plugins(folder):
    home = folder / "plugins" / "shout"
    home.mkdir(parents=True)
    (home / "hookbus-plugin.toml").write_text(PLUGIN)
    (home / "plugin.py").write_text(CODE)
    bus = Bus()

    @hookable("say", bus=bus)
    def say(text):
        return text

    loaded = hookbus.load_plugins(bus, user=folder / "plugins", installed=False)
    assert say("hello") == "HELLO", loaded.rows()
    loaded.close()
