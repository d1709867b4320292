"""An agent with a journal, whose payments require approval, and the page that shows both."""

import socket
import threading
from contextlib import contextmanager

import pytest
import uvicorn
from starlette.testclient import TestClient

from hookbus import Ask, Block, Bus, HookBlocked, baggage, hookable
from hookbus import page as pages
from hookbus.approvals import Store
from hookbus.journal import Journal

from . import chromium

TOKEN = "a-token-that-nobody-guesses"
HERE = "http://127.0.0.1:8000"


class Agency:
    """Runs an agent; one receiver of it blocks, one changes, one fails open, one just fails."""

    def __init__(self, folder):
        self.bus = bus = Bus(values=True)
        self.journal = Journal(folder / "journal.db")
        self.journal.attach(bus)
        self.store = Store(folder / "approvals.db")
        bus.approver(self.store)

        class Agent:
            __qualname__ = "Agent"

            @hookable("agent_run", bus=bus, identity=lambda agent: "Agent")
            def run(self, text):
                if text.startswith("inner "):  # an agent in an agent
                    return self.run(text.removeprefix("inner "))
                return self.tool("write", text)

            @hookable(
                "tool_call", bus=bus, identity=lambda agent: "Agent", labels=("name",)
            )
            def tool(self, name, text):
                return text.upper()

            @hookable("pay", bus=bus, identity=lambda agent: "Agent")
            def pay(self, to, amount):
                return f"paid {amount} to {to}"

        @bus.signal("pre_tool_call").connect_via(Agent)
        def redact(agent, text):
            if text == "open":
                raise ValueError(text)
            return {"text": text.replace("4711", "****")}

        @bus.signal("pre_tool_call").connect_via(Agent, role="guard")
        def no_keys(agent, text):
            return Block(f"no: {text}", details={"text": text}) if "KEY" in text else None

        @bus.signal("post_tool_call").connect_via(Agent, role="observe")
        def archive(agent, result):
            if result == "DISK":
                raise OSError("full")

        @bus.signal("pre_pay").connect_via(Agent, role="guard", name="large_sums")
        def large_sums(agent, to, amount):
            return Ask(f"pay {amount} to {to}?", code="large", details={"why": to})

        self.agent = Agent()

    def run(self, *texts, session="s-1"):
        """Run the agent on each text; what is blocked is."""
        with baggage(session=session):
            for text in texts:
                self.tried(self.agent.run, text)
        self.journal.flush()

    def pay(self, to, amount):
        """Ask for a payment; it waits, or is done if somebody has said yes."""
        return self.tried(self.agent.pay, to, amount)

    def asked(self, to, amount=500):
        """Ask for a payment that waits, and return its request."""
        self.pay(to, amount)
        return self.store.pending()[-1]

    def tried(self, call, *given):
        try:
            return call(*given)
        except HookBlocked as blocked:
            return blocked.reason

    def app(self):
        return pages.app(self.journal.path, token=TOKEN, approvals=self.store)


@pytest.fixture(scope="module")
def agency(tmp_path_factory):
    agency = Agency(tmp_path_factory.mktemp("agency"))
    yield agency
    agency.journal.close()


class Browser(TestClient):
    """Sends what a browser sends that has opened the page; `path` is where the page is."""

    def __init__(self, app):
        super().__init__(app, base_url=HERE, follow_redirects=False)
        self.path = self.get(f"/?token={TOKEN}").headers["location"]

    def asked(self, address, **parameters):
        answer = self.get(self.path + address, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def answers(self, id, headers=(), **said):
        usual = {"origin": HERE, "sec-fetch-site": "same-origin", "x-hookbus": "1"}
        given = {name: value for name, value in {**usual, **dict(headers)}.items() if value}
        return self.post(f"{self.path}approvals/{id}", json=said, headers=given)


@pytest.fixture
def fresh(tmp_path):
    """An agency that has done nothing yet."""
    agency = Agency(tmp_path)
    yield agency
    agency.journal.close()


@pytest.fixture(scope="module")
def browser(agency):
    return Browser(agency.app())


@contextmanager
def serving(app):
    """Serve an app on a port of this machine, and give its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, lifespan="off", ws="none", log_level="critical", access_log=False,
                       timeout_graceful_shutdown=1)
    )  # fmt: skip
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="module")
def served(agency):
    with serving(agency.app()) as address:
        yield address


@pytest.fixture(scope="module")
def program():
    with chromium.running() as program:
        yield program


@pytest.fixture
def open_page(program, fresh):
    """Open the page; whatever it says of errors, or asks of elsewhere, fails the test."""
    said, contexts = [], []

    with serving(fresh.app()) as address:

        def note_elsewhere(request):
            if not request.url.startswith(address):
                said.append(f"asked: {request.url}")

        def opened():
            context = program.new_context(viewport={"width": 1400, "height": 950})
            contexts.append(context)
            page = context.new_page()
            page.set_default_timeout(10_000)
            page.on("pageerror", lambda error: said.append(f"error: {error}"))
            page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
            page.on("console", lambda told: "of 409" in told.text or said.append(told.text))
            page.on("request", note_elsewhere)
            page.goto(f"{address}/?token={TOKEN}")
            page.get_by_text("live", exact=True).wait_for()
            return page

        yield opened
        for context in contexts:
            context.close()
    assert said == []
