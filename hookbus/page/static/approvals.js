// Pending approvals: shown in full, answered once.

import { fill, json, make, moment, pairs, visible } from "./text.js";

const SETTLE = 500; // milliseconds after a change of the list in which no answer is accepted

export class Approvals {
  constructor(section) {
    this.section = section;
    this.list = section.querySelector("ol");
    this.said = section.querySelector("[role=status]");
    this.items = new Map();
    this.moved = 0;
  }

  // Show the pending requests. Items that are shown already keep their state and input.
  show(requests) {
    const ids = new Set(requests.map((request) => request.id));
    for (const id of [...this.items.keys()].filter((id) => !ids.has(id))) this.#remove(id);
    for (const request of requests) this.#refresh(request);
    for (const request of requests.filter((each) => !this.items.has(each.id))) {
      const item = this.#item(request);
      this.items.set(request.id, item);
      this.list.append(item);
      if (location.hash === `#${item.id}`) item.scrollIntoView(); // the link of a notification
      fill(this.said, `Approval pending: ${request.question}`);
    }
    this.section.querySelector(".none").hidden = this.items.size > 0;
    const waiting = this.items.size ? `(${this.items.size}) ` : "";
    document.title = `${waiting}hookbus`;
  }

  // List the standing approvals. They are revoked on the command line.
  showRules(rules) {
    const place = this.section.querySelector("#rules");
    place.hidden = rules.length === 0;
    fill(place.querySelector("summary"), `Standing approvals: ${rules.length}`);
    fill(place.querySelector("ul"), ...rules.map((rule) => make("li", {}, pairs({
      arguments: rule.arguments,
      "made for": rule.question,
      by: rule.by,
      used: rule.uses == null ? rule.used : `${rule.used} of ${rule.uses}`,
      ...(rule.until ? { until: moment(rule.until) } : {}),
      "to revoke": `hookbus approvals revoke ${rule.id}`,
    }))));
  }

  // Show who has approved an item that is shown already.
  #refresh(request) {
    const shown = this.items.get(request.id)?.querySelector(".people");
    if (shown) fill(shown, people(request));
  }

  #remove(id) {
    this.items.get(id).remove();
    this.items.delete(id);
    this.moved = performance.now();
  }

  #item(request) {
    const title = `asks-${request.id}`;
    const form = make("form", { novalidate: true },
      label("Approval valid for", select("remember", {
        "": "this attempt only", 600: "10 minutes", 3600: "an hour", 28800: "8 hours",
      })),
      label("Reason for denial (shown to the agent)",
        make("input", { name: "reason", autocomplete: "off" })),
      make("div", { class: "buttons" },
        button("approve", "Approve"), button("edit", "Edit"), button("deny", "Deny")),
      make("p", { role: "alert" }));
    const facts = { hook: request.hook, sender: request.sender, guard: request.receiver };
    if (request.code) facts.code = request.code;
    if (request.deadline) facts.expires = moment(request.deadline);
    const item = make("li", { id: `request-${request.id}`, "aria-labelledby": title },
      make("h3", { id: title }, request.question),
      pairs(facts),
      make("p", { class: "people" }, people(request)),
      make("h4", {}, "Arguments of the call, in full"), block(request.arguments, "arguments"),
      ...sinceThen(request.since),
      ...[["details", "Details"], ["baggage", "Baggage"]].flatMap(([name, head]) =>
        ["null", "{}"].includes(request[name]) ? []
          : [make("h4", {}, head), block(request[name], name)]),
      form);
    form.addEventListener("submit", (sent) => sent.preventDefault()); // the Enter key sends no answer
    form.addEventListener("click", (clicked) => {
      if (clicked.target.closest("button")) {
        this.#press(request, form, clicked.target.closest("button").value);
      }
    });
    return item;
  }

  #press(request, form, action) {
    const edited = form.querySelector("textarea");
    if (action === "edit") return edited ? unedit(form) : edit(form, request);
    if (performance.now() - this.moved < SETTLE) {
      return this.#tell(form, "The list has just changed. Check the request, then press again.");
    }
    const answer = { answer: action };
    if (action === "deny") answer.reason = form.elements.reason.value;
    else if (edited) answer.arguments = edited.value;
    else if (form.elements.remember.value) answer.remember = Number(form.elements.remember.value);
    if (answer.arguments !== undefined) {
      try {
        JSON.parse(answer.arguments);
      } catch (error) {
        return this.#tell(form, `This is not valid JSON: ${error.message}`);
      }
    }
    return this.#send(request, form, answer);
  }

  async #send(request, form, answer) {
    form.inert = true; // one answer at a time
    try {
      const sent = await fetch(`approvals/${encodeURIComponent(request.id)}`, {
        method: "POST", body: JSON.stringify(answer),
        headers: { "content-type": "application/json", "x-hookbus": "1" },
      });
      if (!sent.ok) throw new Error((await sent.json()).problem);
      const what = answer.answer === "deny" ? "Denied" : "Approved";
      fill(this.said, `${what}: ${request.question}`);
      const isOver = (await sent.json()).state !== "pending"; // or other people must approve it, too
      if (isOver && this.items.has(request.id)) this.#remove(request.id);
    } catch (error) {
      this.#tell(form, error.message);
    } finally {
      form.inert = false;
    }
  }

  #tell(form, text) {
    fill(form.querySelector("[role=alert]"), text);
  }
}

function edit(form, request) {
  const area = make("textarea", { name: "arguments", rows: "8", spellcheck: "false", dir: "ltr" });
  area.value = visible(request.arguments);
  form.prepend(label("New arguments (keep all of them)", area));
  form.elements.remember.disabled = true; // only for the unchanged call
  form.querySelector("[value=approve]").textContent = "Approve with edits";
  form.querySelector("[value=edit]").textContent = "Discard edits";
  area.focus();
}

function unedit(form) {
  form.querySelector("textarea").closest("label").remove();
  form.elements.remember.disabled = false;
  form.querySelector("[value=approve]").textContent = "Approve";
  form.querySelector("[value=edit]").textContent = "Edit";
}

// Who has approved a request that needs several people or a role, and what is missing.
function people(request) {
  if (!request.required.length) return "";
  const approved = request.approved_by.length ? request.approved_by.join(", ") : "none yet";
  return `Approved by: ${approved}. Missing: ${request.missing.join("; ")}.`;
}

// The changes since the last request for the same tool.
function sinceThen(since) {
  if (!since) return [];
  const changes = since.changes.length ? since.changes : ["none: the arguments are the same"];
  const head = `Changes since the last request of this tool, ${moment(since.asked)} `
    + `(${since.state})`;
  return [make("h4", {}, head),
    make("div", { class: "since" }, ...changes.map((each) => make("p", {}, each)))];
}

const block = (text, name) => make("pre", { class: name }, ...json(text));
const label = (text, field) => make("label", {}, make("span", {}, text), field);
const select = (name, options) => make("select", { name }, ...Object.entries(options).map(
  ([value, text]) => make("option", { value, selected: value === "" }, text)));
const button = (value, text) => make("button", { value, type: "button" }, text);
