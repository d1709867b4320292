// The page: receives events from the server, and shows them.

import { Approvals } from "./approvals.js";
import { Calls, matches } from "./calls.js";
import { Detail } from "./detail.js";
import { List } from "./list.js";
import { Tally } from "./receivers.js";
import { fill, make } from "./text.js";

const MOST = 10_000; // the number of calls to keep; older ones are loaded on request
const PAUSE = 250; // milliseconds between two updates

const get = (id) => document.getElementById(id);
const filters = get("filters");
const live = new Calls(MOST);
const tally = new Tally();
const approvals = new Approvals(get("waiting"));
const detail = new Detail(get("detail"));
const list = new List(get("calls"), (call) => detail.open(call));

let older = null; // older calls, if the user is viewing them
let paused = null; // the calls at the time of pausing
let skipped = 0;

function draw() {
  for (const [what, count] of Object.entries(tally.counts)) {
    const counter = get(`count-${what.replace(" ", "-")}`);
    counter.textContent = count.toLocaleString("en");
    counter.classList.toggle("red", what !== "calls" && count > 0);
  }
  const calls = older?.all ?? paused ?? live.all;
  const wanted = filter();
  const shown = calls.filter((call) => matches(call, wanted)).reverse();
  list.show(shown);
  get("older").disabled = older ? !older.before : !live.all.length;
  get("shown").textContent = `${shown.length.toLocaleString("en")} ${
    shown.length === 1 ? "call" : "calls"}${
    older ? ", older" : paused ? ", paused" : ""}${
    skipped ? `; ${skipped.toLocaleString("en")} older records are not shown` : ""}`;
  detail.refresh(live.byKey.get(`${detail.call?.run}/${detail.call?.id}`));
}

function drawTables() {
  tally.draw(get("tables"));
  suggest();
}

// Combine repeated calls into one delayed call.
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

// Load older calls that match the filters from the journal.
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

function say(text, isTrouble = false) {
  fill(get("state"), text);
  get("state").classList.toggle("red", isTrouble);
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
const listen = (name, take) =>
  stream.addEventListener(name, (message) => take(JSON.parse(message.data)));
stream.onopen = () => say("live");
stream.onerror = () => say(stream.readyState === EventSource.CLOSED
  ? "access denied: open the address that the program printed" : "connection lost: the program may have ended");
listen("calls", (rows) => {
  live.take(rows);
  tally.take(rows);
  soon();
  soonTables();
});
listen("skipped", (count) => {
  skipped += count;
  soon();
});
listen("trouble", (text) => say(text || "live", Boolean(text)));
listen("approvals", (requests) => {
  get("waiting").hidden = false;
  approvals.show(requests);
});
listen("rules", (rules) => approvals.showRules(rules));
