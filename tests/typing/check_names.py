"""What the type checkers must see: each public name that the other files here do not use.

Checked by mypy strict and pyright, never run.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal, assert_type

from hookbus import (
    Ask,
    Block,
    Bus,
    HookBlocked,
    HookContext,
    HookError,
    ReceiverError,
    adapters,
    approvals,
    baggage,
    cli,
    events,
    exceptions,
    exporters,
    fleet,
    gate,
    guards,
    hook_overrides,
    journal,
    modes,
    page,
    plugins,
    signal,
)  # fmt: skip

bus = Bus()


@hook_overrides
class Agent:
    def reply(self, msg: str) -> str:
        return msg


assert_type(Agent().reply("a"), str)


def guard(sender: Agent, msg: str, ctx: HookContext) -> Ask | Block | None:
    return Ask("may it?") if ctx.baggage.get("user") else None


with baggage(user="ann"):
    signal("pre_reply").connect(guard, Agent, role="guard")


def explained(error: Exception) -> str:
    if isinstance(error, HookBlocked):
        assert_type(error.call_id, int | None)
        return f"{error.receiver} of {error.hook}: {error.reason}"
    if isinstance(error, ReceiverError):
        assert_type(error.phase, str)
    if isinstance(error, HookError) and error.failure is not None:
        failure: Literal["absent", "late", "refused", "malformed", "unsent"] = error.failure
        return failure
    return str(error) if isinstance(error, HookError) else ""


def of_exceptions(
    paused: exceptions.CallPaused, refused: exceptions.PluginError,
    names: tuple[
        type[exceptions.HookBlocked], type[exceptions.HookError], type[exceptions.HookWarning],
        type[exceptions.ReceiverError],
    ],
) -> None:  # fmt: skip
    assert_type(paused.error, BaseException)
    assert_type(refused.advice, str)
    assert_type(names[1]("what to write instead").args, tuple[Any, ...])


def of_events(event: events.Event) -> None:
    assert_type(event.as_dict(), dict[str, Any])
    assert_type(events.KINDS, tuple[type[events.Event], ...])
    if isinstance(event, events.Started):
        assert_type(event.labels, Mapping[str, str])
        if event.values is not events.HIDDEN:
            assert_type(event.values, Mapping[str, Any])
    elif isinstance(event, events.Invoked):
        assert_type(event.seconds, float)
    elif isinstance(event, events.Mutated):
        assert_type(event.dropped, bool)
    elif isinstance(event, events.Blocked):
        assert_type(event.reason, str)
    elif isinstance(event, events.Failed):
        assert_type(event.message, str | None)
    elif isinstance(event, events.Attempted):
        assert_type(event.number, int)
    elif isinstance(event, events.Finished):
        assert_type(event.error, BaseException | None)
    elif isinstance(event, events.Lost):
        assert_type(event.hook, str)
    elif isinstance(event, events.Switched):
        assert_type(event.act, Literal["disable", "enable", "shadow"])
    elif isinstance(event, events.Reloaded):
        assert_type(event.problem, str | None)


def of_modes(
    answer: modes.Answer[int], answers: modes.Answers[int, str], receiver: modes.Receiver[int]
) -> None:
    assert_type(answer.value, int | None)
    assert_type(answers.result, str)
    assert_type(answers.answers, tuple[modes.Answer[int], ...])
    assert_type(receiver.priority, float)
    assert_type(modes.Reject(answer, "too small").reason, str)


def two_agree(receivers: Sequence[modes.Receiver[str]]) -> modes.Steps[str, str | None]:
    for receiver in receivers:
        [answer] = yield [receiver]
        assert_type(answer, modes.Answer[str])
    return None


async def later(receivers: Sequence[modes.Receiver[str]]) -> modes.AsyncSteps[str]:
    for receiver in receivers:
        yield [receiver]
    yield modes.Result("done")


asking: AsyncGenerator[Any, list[modes.Answer[str]]] = later([])
modes.merge(
    modes.rules.last, one=modes.rules.first, two=modes.rules.concat, three=modes.rules.update,
    four=modes.rules.intersect, five="last",
)  # fmt: skip
made = modes.unique(str), modes.fold("msg"), modes.with_default(modes.firstresult, str)
plain = modes.void, modes.broadcast

READY = (
    guards.budget(tokens=1000), guards.cache(60.0), guards.fallback({"model": "small"}),
    guards.no_loops(3), guards.paths_within("/srv", arguments=["path"]),
    guards.pinned_tools("tools.pins", on_change="block"),
    guards.policy("agent.cedar", entities={"ada": ["finance"]}, reload=False),
    guards.provenance({"pay": "to"}), guards.public_hosts(allow=["example.org"]),
    guards.quarantine(), guards.rate_limit(5, 60.0), guards.redact(patterns="[0-9]{4}"),
    guards.remote("https://policy.example", token="t", only=["pay_*"], patches=True),
    guards.retry(TimeoutError, attempts=2), guards.schema(dict), guards.timeout(2.0),
    guards.tool_policy(allow=["read_*"], default="block"),
)  # fmt: skip
app = fleet.policy(bus, tokens=["a-token-of-16-signs"], hook="tool_call", max_bytes=1_000)
for each in (*READY, guards.together(guards.no_loops(), guards.timeout(1.0))):
    assert_type(bus.register(each), Callable[[], None])


def approve(request: approvals.Request) -> approvals.Approved | approvals.Denied | approvals.Parked:
    if request.arguments.get("amount", 0) > 100:
        return approvals.Denied("ann", "too much")
    return approvals.Approved("ann", remember=60.0) if request.code else approvals.Parked()


bus.approver(approve)
bus.approver(approvals.terminal)
inbox, store = approvals.Inbox(), approvals.Store("approvals.db", expires=60.0)
assert_type(inbox.pending(), list[approvals.Request])
store.answer("4f2a", approvals.Approved("ann"))
counted = approvals.Store("approvals.db", people={"ann": ["finance"]})
counted.answer("4f2a", approvals.Approved("ann"), proof=approvals.Proof("ann", "web app"))
counted.answer_signed(b"{}", "sha256=")
assert_type(counted.get("4f2a").missing, tuple[str, ...])
rule = approvals.Rule({"to": "ann@*", "amount": approvals.Between(0, 9)}, uses=2, seconds=60.0)
counted.answer("4f2a", approvals.Approved("ann", rule=rule), proof=approvals.Proof("ann", "web"))
assert_type(counted.rules(), list[approvals.StandingRule])
counted.revoke("4f2a", by="ann")
a_store: approvals.Approver = store
approvals.check_answer(approvals.Approved("ann"), inbox.pending()[0])
fleet.Fleet.make("postgresql://owner@host/db", agents="agent", operators=["ada", "bob"],
                 portals="page", people={"ada": ["finance"]})  # fmt: skip
with fleet.Fleet("postgresql://agent@host/db", schema="agents", blind=None) as shared:
    leave: Callable[[], None] = shared.join(bus, hooks=["tool_call"])
    shared.kill("pay_*", by="ann", reason="wrong amounts")
    shared.switch("no_keys", "shadow", by="ann")
    bus.approver(shared.approvals(expires=60.0)).answer("4f2a", approvals.Approved("ann"))
    state: fleet.Status = shared.status()
    assert_type(state.pending, int)
    assert_type(list(shared.events("siem")), list[journal.Record])
    assert_type(shared.ship(journal.Journal("calls.journal")).problem, str | None)
two_people = Ask("pay?", roles=["finance"], approvals=2)
approvals.notify("https://example.org/hook", secret="s", page="https://example.org/page/")


def of_approvals(
    record: approvals.ApprovalRecord, pending: approvals.ApprovalPending,
    refused: approvals.AlreadyAnswered | approvals.RequestExpired | approvals.UnknownRequest,
) -> str:  # fmt: skip
    assert_type(record.answered, float | None)
    return f"{pending.reason}{refused}"


kept = journal.Journal("calls.journal")
assert_type(kept.verify(), journal.Verification)
assert_type(kept.cursor("audit"), journal.Cursor)
assert_type(kept.checkpoint(), journal.Checkpoint)
assert_type(journal.replay(kept, bus), journal.Replay)


def of_journal(record: journal.Record, retained: journal.Retained, replay: journal.Replay) -> None:
    assert_type(record.data, dict[str, Any])
    assert_type(retained.checkpoint, journal.Checkpoint | None)
    assert_type(replay.differences, tuple[journal.VerdictChange, ...])
    assert_type(replay.not_judged, tuple[journal.NotJudged, ...])


for exporter in (
    exporters.chrome.ChromeTrace("trace.json"), exporters.jsonl.JsonLines("events.jsonl", keep=3),
    exporters.log.Logging(json=True), exporters.otel.OpenTelemetry(names={"ask": "chat"}),
):  # fmt: skip
    bus.events.connect(exporter)
    exporter.close()


def of_plugins(row: plugins.PluginRow) -> None:
    assert_type(row.status, Literal["loaded", "disabled", "refused", "unloaded"])


page.serve("calls.journal", approvals=store, port=8765)
page.app(kept, token="sixteen-letters-and-more", approvals=inbox)
page.app(kept, people="people.toml", approvals=store)
assert_type(cli.main(["hooks", "agent"]), int)

for installed in (
    adapters.agent_framework.install(bus), adapters.agenticx.install(strict=True),
    adapters.agentscope.install(strict=True), adapters.agentscope2.install(bus),
    adapters.agno.install(strict=True), adapters.anthropic.install(bus),
    adapters.autogen.install(say=str),
    adapters.bub.install(strict=True), adapters.claude_agent.install(bus),
    adapters.crewai.install(bus), adapters.fastmcp.install(bus), adapters.google_adk.install(bus),
    adapters.haystack.install(bus), adapters.langchain.install(approver=store),
    adapters.litellm.install(bus), adapters.llama_index.install(bus),
    adapters.mcp.install(client=False), adapters.openai_agents.install(approver=store),
    adapters.pydantic_ai.install(untested="check"), adapters.semantic_kernel.install(bus),
    adapters.smolagents.install(bus), adapters.strands.install(bus),
):  # fmt: skip
    installed()
assert_type(adapters.openclaw.Registry(bus), adapters.openclaw.Registry)


def of_gate(tool: gate.Tool, failed: gate.ToolFailed) -> None:
    assert_type(failed.args, tuple[Any, ...])
    assert_type(tool.agent, str)
    assert_type(tool.group, str | None)
