// Calls, built from their records. Only the newest are kept.

export class Calls {
  constructor(most) {
    this.most = most;
    this.all = [];
    this.byKey = new Map();
  }

  take(rows) {
    for (const row of rows) this.#note(row);
    if (this.all.length > this.most) {
      for (const old of this.all.splice(0, this.all.length - this.most)) {
        this.byKey.delete(old.key);
      }
    }
  }

  #note(row) {
    if (!row.call) return; // not part of a call: a receiver was garbage collected
    const key = `${row.run}/${row.call}`;
    let call = this.byKey.get(key);
    if (call === undefined) {
      call = {
        key, run: row.run, id: row.call, seq: row.seq, hook: row.hook, sender: row.sender ?? "",
        session: row.session ?? "", named: row.named ?? "",
        at: row.at - (row.event === "Finished" ? row.seconds : 0), seconds: null,
        outcome: "running", marks: new Set(), receivers: new Set(), why: "",
      };
      this.byKey.set(key, call);
      this.all.push(call);
    }
    if (row.receiver !== undefined) call.receivers.add(row.receiver);
    if (row.mark !== undefined) call.marks.add(row.mark);
    if (row.event === "Blocked") call.why = `${row.receiver}: ${row.reason}`;
    if (row.event === "Failed" && !call.why) call.why = `${row.receiver}: ${row.error}`;
    if (row.event === "Finished") {
      const waits = row.outcome === "blocked" && call.marks.has("pending");
      call.outcome = waits ? "pending" : row.outcome;
      call.seconds = row.seconds;
      if (row.error && !call.why) call.why = row.error;
    }
  }
}

const MARKS = ["pending", "blocked", "failed open", "failed", "shadow", "changed"];

// The marks of a call, worst first.
export const marksOf = (call) => MARKS.filter((mark) => call.marks.has(mark));
export const isRed = (mark) => mark === "blocked" || mark.startsWith("failed");

export function matches(call, filter) {
  return has(`${call.hook} ${call.named}`, filter.hook) && has(call.session, filter.session)
    && (!filter.outcome || call.outcome === filter.outcome || call.marks.has(filter.outcome))
    && (!filter.receiver || [...call.receivers].some((name) => has(name, filter.receiver)));
}

const has = (text, part) => !part || String(text).toLowerCase().includes(part.toLowerCase());
