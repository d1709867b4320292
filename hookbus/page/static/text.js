// Texts of strangers. They reach the page as text alone, with whatever is invisible, or would turn
// a line around, written out.

const INVISIBLE =
  /[^\P{C}\n]|[\p{Zl}\p{Zp}\u2800]|[^\P{Zs} ]|\p{Default_Ignorable_Code_Point}/gu;

// The text with \u202e where that character was; of JSON this makes the same JSON.
export function visible(text) {
  return String(text).replace(INVISIBLE, (found) =>
    [...Array(found.length).keys()]
      .map((place) => `\\u${found.charCodeAt(place).toString(16).padStart(4, "0")}`)
      .join(""));
}

// An element with attributes and children. Each child that is no element becomes a text, in an
// element of its own, so that no language's direction reaches its neighbours.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  fill(element, ...children);
  return element;
}

export function fill(element, ...children) {
  const asNode = element.localName === "option" ? plain : isolated;
  element.replaceChildren(...children.flat().filter((child) => child != null).map((child) =>
    child instanceof Node ? child : asNode(child)));
}

const plain = (text) => document.createTextNode(visible(text)); // an option holds no element

function isolated(text) {
  const element = document.createElement("bdi");
  element.textContent = visible(text);
  return element;
}

// Names, and what each is.
export function pairs(facts) {
  return make("dl", {}, ...Object.entries(facts).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

// JSON with each of its texts set apart: one that is written from right to left stays in its place.
export function json(text) {
  return (visible(text).match(/"(?:[^"\\]|\\.)*"|[^"]+/gs) ?? []).map((piece) =>
    piece.startsWith('"') ? piece : document.createTextNode(piece));
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3,
});
const DAY = new Intl.DateTimeFormat("en-CA");

export const clock = (seconds) => CLOCK.format(seconds * 1000);
export const moment = (seconds) => `${DAY.format(seconds * 1000)} ${clock(seconds)}`;

export function span(seconds) {
  if (seconds == null) return "";
  const [size, unit] = seconds < 1e-3 ? [1e6, "µs"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
  return `${Number((seconds * size).toPrecision(3))} ${unit}`;
}
