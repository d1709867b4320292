// The page: takes what the server tells, and shows it.

import { Approvals } from "./approvals.js";
import { Calls, matches } from "./calls.js";
import { Detail } from "./detail.js";
import { List } from "./list.js";
import { Tally } from "./receivers.js";
import { fill, make } from "./text.js";

const MOST = 10_000; // so many calls are kept; older ones are asked for
const PAUSE = 250; // milliseconds between two drawings

const get = (id) => document.getElementById(id);
const filters = get("filters");
const live = new Calls(MOST);
const tally = new Tally();
const approvals = new Approvals(get("waiting"));
const detail = new Detail(get("detail"));
const list = new List(get("calls"), (call) => detail.open(call));

let older = null; // calls of before, where somebody looks at those
let paused = null; // the calls as they were when somebody stopped the list
let skipped = 0;

function draw() {
  for (const [what, count] of Object.entries(tally.counts)) {
    const told = get(`count-${what.replace(" ", "-")}`);
    told.textContent = count.toLocaleString("en");
    told.classList.toggle("red", what !== "calls" && count > 0);
  }
  const calls = older?.all ?? paused ?? live.all;
  const wanted = filter();
  const shown = calls.filter((call) => matches(call, wanted)).reverse();
  list.show(shown);
  get("older").disabled = older ? !older.before : !live.all.length;
  get("shown").textContent = `${shown.length.toLocaleString("en")} ${
    shown.length === 1 ? "call" : "calls"}${
    older ? ", of before" : paused ? ", paused" : ""}${
    skipped ? `; ${skipped.toLocaleString("en")} older records are not shown` : ""}`;
  detail.refresh(live.byKey.get(`${detail.call?.run}/${detail.call?.id}`));
}

function drawTables() {
  tally.draw(get("tables"));
  suggest();
}

// What draws soon, once, however often it is asked to meanwhile.
function within(milliseconds, drawing) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      drawing();
    }, milliseconds);
  };
}

const soon = within(PAUSE, draw);
const soonTables = within(4 * PAUSE, drawTables);

const filter = () => Object.fromEntries(new FormData(filters));

function suggest() {
  const sessions = new Set(live.all.map((call) => call.session).filter(Boolean));
  for (const [id, names] of [
    ["hooks-known", tally.hooks.keys()], ["receivers-known", tally.receivers.keys()],
    ["sessions-known", sessions],
  ]) {
    const known = [...names].slice(0, 100);
    if (get(id).children.length !== known.length) {
      fill(get(id), ...known.map((value) => make("option", { value })));
    }
  }
}

// Go back to calls of before, which the journal looks for: those that match.
async function goBack(seq) {
  const answer = await fetch(`calls?${new URLSearchParams({ before: seq, ...filter() })}`);
  const found = await answer.json();
  if (!answer.ok) return say(found.problem);
  older = new Calls(MOST);
  older.take(found.rows);
  older.before = found.before;
  get("live").hidden = false;
  get("calls").scrollTop = 0;
  return draw();
}

function say(text) {
  fill(get("state"), text);
}

filters.addEventListener("input", draw);
filters.addEventListener("submit", (sent) => sent.preventDefault());
get("pause").addEventListener("click", () => {
  paused = paused ? null : [...live.all];
  get("pause").setAttribute("aria-pressed", String(paused !== null));
  draw();
});
get("older").addEventListener("click", () => {
  const before = older ? older.before : live.all[0]?.seq;
  if (before) goBack(before);
});
get("live").addEventListener("click", () => {
  older = null;
  get("live").hidden = true;
  get("calls").focus();
  draw();
});
get("close").addEventListener("click", () => {
  detail.close();
  get("calls").focus();
});

const stream = new EventSource("stream");
const hear = (name, take) => stream.addEventListener(name, (told) => take(JSON.parse(told.data)));
stream.onopen = () => say("live");
stream.onerror = () => say(stream.readyState === EventSource.CLOSED
  ? "not let in: open the address that the program has printed" : "the program is away, or ended");
hear("calls", (rows) => {
  live.take(rows);
  tally.take(rows);
  soon();
  soonTables();
});
hear("skipped", (count) => {
  skipped += count;
  soon();
});
hear("trouble", (text) => say(text || "live"));
hear("approvals", (requests) => {
  get("waiting").hidden = false;
  approvals.show(requests);
});
