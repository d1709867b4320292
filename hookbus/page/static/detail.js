// One call: its nested calls, their times and durations, and the actions of receivers.

import { clock, fill, json, make, moment, pairs, span } from "./text.js";

export class Detail {
  constructor(section) {
    this.section = section;
    this.call = null;
    this.state = "";
  }

  // Show a call, given its run and id, and move the focus to it.
  async open(call) {
    this.call = call;
    this.state = "";
    await this.refresh(call);
    this.section.hidden = false;
    this.section.querySelector("h2").focus();
  }

  close() {
    this.call = null;
    this.section.hidden = true;
  }

  // Reload the shown call when there are new records of it, and every other second while it is
  // running, for its nested calls. Sections that are open stay open.
  async refresh(found) {
    const call = this.call;
    if (call === null) return;
    const tick = found?.outcome === "running" ? Math.floor(performance.now() / 2000) : "";
    const state = found?.marks ? `${found.outcome} ${[...found.marks]} ${tick}` : "unknown";
    const isRead = this.state && this.section.querySelector("details[open]");
    if (state === this.state || isRead) return;
    this.state = state;
    const answer = await fetch(`calls/${encodeURIComponent(call.run)}/${call.id}`);
    const lines = await answer.json();
    if (this.call !== call) return;
    const title = lines.length ? `${lines[0].hook} of ${lines[0].sender}` : "One call";
    fill(this.section.querySelector("h2"), title);
    const drawn = answer.ok ? this.#drawn(call, lines) : [lines.problem];
    fill(this.section.querySelector(".said"), ...drawn);
  }

  #drawn(call, lines) {
    if (!lines.length) return ["The journal no longer contains this call."];
    const [{ parent, word, start, seconds }] = lines;
    const outer = make("button", { type: "button" }, "Show the enclosing call");
    outer.addEventListener("click", () => this.open({ run: call.run, id: parent }));
    return [
      pairs({
        outcome: word, began: moment(start), took: span(seconds) || "still running",
        number: `${call.id} of run ${call.run}`,
      }),
      parent == null ? null : outer,
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Waterfall" },
        waterfall(lines)),
    ];
  }
}

function waterfall(lines) {
  const began = Math.min(...lines.map((line) => line.start));
  const ended = Math.max(...lines.map((line) => line.start + (line.seconds ?? 0)), began + 1e-6);
  return make("table", { class: "waterfall" },
    make("caption", {}, "Events of this call, in order of their start"),
    make("thead", {}, make("tr", {}, ...["Event", "Result", "Duration", "Time"].map((name) =>
      make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...lines.map((line) => rowOf(line, began, ended - began))));
}

function rowOf(line, began, whole) {
  const bar = make("span", { class: `bar ${line.word.replaceAll(" ", "-")}` });
  bar.style.left = `${Math.min((line.start - began) / whole, 1) * 100}%`;
  bar.style.width = `${Math.min((line.seconds ?? 0) / whole, 1) * 100}%`;
  const what = make("td", { class: line.call === undefined ? "what" : "what call" },
    make("span", { class: "unseen" }, `level ${line.depth + 1}: `), line.what,
    line.of ? make("span", { class: "of" }, ` of ${line.of}`) : null,
    make("div", { class: "facts" }, ...[...line.facts, ...line.end].map(([name, text]) =>
      make("details", {}, make("summary", {}, name), make("pre", {}, ...json(text))))));
  what.style.setProperty("--depth", String(line.depth));
  const red = ["blocked", "failed", "failed open"].includes(line.word);
  return make("tr", {}, what,
    make("td", {}, make("span", { class: red ? "mark red" : "mark" }, line.word)),
    make("td", { class: "took" }, span(line.seconds)),
    make("td", { class: "when", title: clock(line.start) }, bar));
}
