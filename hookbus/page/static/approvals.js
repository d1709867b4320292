// What waits for a person's yes: shown whole, answered once.

import { fill, json, make, moment, pairs, visible } from "./text.js";

const SETTLE = 500; // milliseconds in which a list that has moved takes no yes

export class Approvals {
  constructor(section) {
    this.section = section;
    this.list = section.querySelector("ol");
    this.said = section.querySelector("[role=status]");
    this.items = new Map();
    this.moved = 0;
  }

  // Show what waits now. What stands already stays as it is, with what is being written in it.
  show(requests) {
    const ids = new Set(requests.map((request) => request.id));
    for (const id of [...this.items.keys()].filter((id) => !ids.has(id))) this.#remove(id);
    for (const request of requests.filter((each) => !this.items.has(each.id))) {
      const item = this.#item(request);
      this.items.set(request.id, item);
      this.list.append(item);
      fill(this.said, `Waits for a yes: ${request.question}`);
    }
    this.section.querySelector(".none").hidden = this.items.size > 0;
    const waiting = this.items.size ? `(${this.items.size}) ` : "";
    document.title = `${waiting}hookbus`;
  }

  #remove(id) {
    this.items.get(id).remove();
    this.items.delete(id);
    this.moved = performance.now();
  }

  #item(request) {
    const title = `asks-${request.id}`;
    const form = make("form", { novalidate: true },
      label("Yes holds for", select("remember", {
        "": "this attempt", 600: "10 minutes", 3600: "an hour", 28800: "8 hours",
      })),
      label("Why not (the agent may read it)",
        make("input", { name: "reason", autocomplete: "off" })),
      make("div", { class: "buttons" },
        button("approve", "Approve"), button("edit", "Edit"), button("deny", "Deny")),
      make("p", { role: "alert" }));
    const facts = { hook: request.hook, of: request.sender, "asked by": request.receiver };
    if (request.code) facts.code = request.code;
    if (request.deadline) facts.until = moment(request.deadline);
    const item = make("li", { "aria-labelledby": title },
      make("h3", { id: title }, request.question),
      pairs(facts),
      make("h4", {}, "What would run, in full"), block(request.arguments, "arguments"),
      ...sinceThen(request.since),
      ...[["details", "Details"], ["baggage", "Around the call"]].flatMap(([name, head]) =>
        ["null", "{}"].includes(request[name]) ? []
          : [make("h4", {}, head), block(request[name], name)]),
      form);
    form.addEventListener("submit", (sent) => sent.preventDefault()); // Enter in a field: no answer
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
      return this.#tell(form, "The list has just changed: look again, then press.");
    }
    const answer = { answer: action };
    if (action === "deny") answer.reason = form.elements.reason.value;
    else if (edited) answer.arguments = edited.value;
    else if (form.elements.remember.value) answer.remember = Number(form.elements.remember.value);
    if (answer.arguments !== undefined) {
      try {
        JSON.parse(answer.arguments);
      } catch (error) {
        return this.#tell(form, `This is no JSON: ${error.message}`);
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
      if (this.items.has(request.id)) this.#remove(request.id);
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
  form.prepend(label("Arguments as they are to be, all of them", area));
  form.elements.remember.disabled = true; // that is for the call as it was asked
  form.querySelector("[value=approve]").textContent = "Approve as edited";
  form.querySelector("[value=edit]").textContent = "Do not edit";
  area.focus();
}

function unedit(form) {
  form.querySelector("textarea").closest("label").remove();
  form.elements.remember.disabled = false;
  form.querySelector("[value=approve]").textContent = "Approve";
  form.querySelector("[value=edit]").textContent = "Edit";
}

// What is new since the same tool was last asked for.
function sinceThen(since) {
  if (!since) return [];
  const changes = since.changes.length ? since.changes : ["nothing: the same arguments"];
  const head = `What is new since ${moment(since.asked)}, when this was last asked for `
    + `(${since.state})`;
  return [make("h4", {}, head),
    make("div", { class: "since" }, ...changes.map((each) => make("p", {}, each)))];
}

const block = (text, name) => make("pre", { class: name }, ...json(text));
const label = (text, field) => make("label", {}, make("span", {}, text), field);
const select = (name, options) => make("select", { name }, ...Object.entries(options).map(
  ([value, text]) => make("option", { value, selected: value === "" }, text)));
const button = (value, text) => make("button", { value, type: "button" }, text);
