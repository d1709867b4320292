// The list of calls. Only the visible rows are in the document, however long the list is.

import { isRed, marksOf } from "./calls.js";
import { clock, fill, make, span } from "./text.js";

const SPARE = 4;

export class List {
  // The grid, and a function that is called with the call that the user opens.
  constructor(grid, open) {
    this.grid = grid;
    this.body = grid.querySelector("[role=rowgroup].rows");
    this.open = open;
    this.calls = [];
    this.chosen = null; // the key of a call
    this.rows = new Map();
    grid.addEventListener("scroll", () => this.draw());
    grid.addEventListener("keydown", (pressed) => this.#press(pressed));
    this.body.addEventListener("click", (clicked) => {
      const row = clicked.target.closest("[role=row]");
      if (row) this.#choose(Number(row.dataset.place), true);
    });
    new ResizeObserver(() => this.draw()).observe(grid);
  }

  // Show these calls, newest first. After scrolling, the same calls stay visible.
  show(calls) {
    const scrolled = this.grid.scrollTop;
    const top = scrolled > 0 ? this.calls[Math.floor(scrolled / this.height)] : null;
    this.calls = calls;
    this.grid.setAttribute("aria-rowcount", String(calls.length + 1));
    this.body.style.height = `${calls.length * this.height}px`;
    const place = top ? calls.indexOf(top) : -1;
    if (place >= 0) {
      this.grid.scrollTop = place * this.height + (scrolled % this.height);
    }
    this.draw();
  }

  get height() {
    return parseFloat(getComputedStyle(this.grid).getPropertyValue("--row"));
  }

  draw() {
    const height = this.height;
    const first = Math.max(Math.floor(this.grid.scrollTop / height) - SPARE, 0);
    const last = Math.min(first + Math.ceil(this.grid.clientHeight / height) + 2 * SPARE,
      this.calls.length);
    const inSight = new Set(this.calls.slice(first, last).map((call) => call.key));
    for (const [key, row] of this.rows) {
      if (!inSight.has(key)) {
        row.remove();
        this.rows.delete(key);
      }
    }
    let below = null; // insert upwards, to keep the order of the document
    for (let place = last - 1; place >= first; place--) {
      below = this.#draw(this.calls[place], place, height, below);
    }
    const row = this.rows.get(this.chosen);
    if (row) this.grid.setAttribute("aria-activedescendant", row.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  #draw(call, place, height, below) {
    let row = this.rows.get(call.key);
    if (row === undefined) {
      row = make("div", { role: "row", id: `call-${call.key.replace("/", "-")}` });
      this.rows.set(call.key, row);
    }
    const state = `${call.outcome} ${call.seconds} ${[...call.marks]}`;
    if (row.dataset.state !== state) {
      row.dataset.state = state;
      fill(row, ...cellsOf(call));
    }
    row.dataset.place = String(place);
    row.setAttribute("aria-rowindex", String(place + 2));
    row.setAttribute("aria-selected", String(call.key === this.chosen));
    row.style.transform = `translateY(${place * height}px)`;
    if (row.parentNode !== this.body || row.nextSibling !== below) {
      this.body.insertBefore(row, below);
    }
    return row;
  }

  #choose(place, isOpened) {
    const call = this.calls[place];
    if (!call) return;
    this.chosen = call.key;
    const top = place * this.height;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    const visible = this.grid.clientHeight - this.height * 2; // without the header
    if (top > this.grid.scrollTop + visible) this.grid.scrollTop = top - visible;
    this.draw();
    if (isOpened) this.open(call);
  }

  #press(pressed) {
    const place = this.calls.findIndex((call) => call.key === this.chosen);
    const page = Math.max(Math.floor(this.grid.clientHeight / this.height) - 2, 1);
    const steps = {
      ArrowDown: place + 1, ArrowUp: Math.max(place - 1, 0), PageDown: place + page,
      PageUp: place - page, Home: 0, End: this.calls.length - 1, Enter: place, " ": place,
    };
    if (!(pressed.key in steps) || !this.calls.length) return;
    pressed.preventDefault();
    const to = Math.min(Math.max(steps[pressed.key], 0), this.calls.length - 1);
    this.#choose(to, pressed.key === "Enter" || pressed.key === " ");
  }
}

function cellsOf(call) {
  const cell = (name, ...children) => make("span", { role: "gridcell", class: name }, ...children);
  return [
    cell("at", clock(call.at)),
    cell("hook", `${call.hook} ${call.named}`),
    cell("sender", call.sender),
    cell("session", call.session),
    cell("marks", ...marksOf(call).map((mark) =>
      make("span", { class: isRed(mark) ? "mark red" : "mark" }, mark)),
      call.why ? make("span", { class: "why" }, call.why) : null),
    cell("outcome", make("span", { class: `outcome ${call.outcome}` }, call.outcome)),
    cell("took", span(call.seconds)),
  ];
}
