// Counts and durations of receivers and hooks, from the records received so far.

import { fill, make, span } from "./text.js";

const NAMES = 500; // the maximum number of receivers and hooks
const SAMPLES = 1000; // the number of durations to keep for each, the newest

const RECEIVER = ["asked", "changed", "blocked", "failed", "failed open"];
const HOOK = ["calls", "blocked", "raised"];

export class Tally {
  #waiting = new Set(); // calls without an approval, until they end

  constructor() {
    this.receivers = new Map();
    this.hooks = new Map();
    this.counts = { calls: 0, blocked: 0, failed: 0, "failed open": 0 };
  }

  take(rows) {
    for (const row of rows) {
      if (row.event === "Started") this.counts.calls++;
      if (row.mark in this.counts) this.counts[row.mark]++;
      if (row.mark === "pending") this.#waiting.add(`${row.run}/${row.call}`);
      if (row.receiver !== undefined) this.#receiver(row);
      if (row.event === "Finished") this.#hook(row);
    }
  }

  #receiver(row) {
    const found = entry(this.receivers, row.receiver);
    const what = row.answer === "asked" ? "asked" : row.mark;
    if (what) found[what] = (found[what] ?? 0) + 1;
    // an approval takes a person's time
    if (!["approved", "handed on"].includes(row.answer)) note(found, row.seconds);
  }

  #hook(row) {
    const found = entry(this.hooks, row.hook);
    found.calls = (found.calls ?? 0) + 1;
    const waits = this.#waiting.delete(`${row.run}/${row.call}`) && row.outcome === "blocked";
    const outcome = waits ? "pending" : row.outcome;
    found[outcome] = (found[outcome] ?? 0) + 1;
    note(found, row.seconds);
  }

  draw(section) {
    for (const [id, names, counted] of [
      ["receivers", RECEIVER, this.receivers], ["hooks", HOOK, this.hooks],
    ]) {
      const rows = [...counted].sort(([one], [other]) => one.localeCompare(other));
      fill(section.querySelector(`#${id} tbody`), ...rows.map(([name, found]) => {
        const times = Float64Array.from(found.seconds).sort();
        return make("tr", {}, make("th", { scope: "row" }, name),
          ...names.map((what) => make("td", {}, String(found[what] ?? 0))),
          ...[0.5, 0.99].map((part) => make("td", {}, span(percentile(times, part)) || "–")));
      }));
    }
  }
}

function entry(counted, name) {
  if (!counted.has(name)) {
    if (counted.size >= NAMES) name = "all others";
    if (!counted.has(name)) counted.set(name, { seconds: [], next: 0 });
  }
  return counted.get(name);
}

function note(found, seconds) {
  if (seconds === undefined) return;
  found.seconds[found.next % SAMPLES] = seconds;
  found.next++;
}

// The smallest of sorted times that is not below this share of them.
const percentile = (sorted, part) => sorted[Math.max(Math.ceil(part * sorted.length) - 1, 0)];
