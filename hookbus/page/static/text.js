// Untrusted strings. They reach the page as text nodes only, with invisible and bidirectional
// control characters escaped.

const INVISIBLE =
  /[^\P{C}\n]|[\p{Zl}\p{Zp}\u2800]|[^\P{Zs} ]|\p{Default_Ignorable_Code_Point}/gu;

// The string with such characters escaped, as in \u202e. JSON stays equivalent JSON.
export function visible(text) {
  return String(text).replace(INVISIBLE, (found) =>
    [...Array(found.length).keys()]
      .map((place) => `\\u${found.charCodeAt(place).toString(16).padStart(4, "0")}`)
      .join(""));
}

// An element with attributes and children. A child that is not an element becomes text in a
// separate element, so that text direction does not affect its neighbours.
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

const plain = (text) => document.createTextNode(visible(text)); // an option cannot contain elements

function isolated(text) {
  const element = document.createElement("bdi");
  element.textContent = visible(text);
  return element;
}

// A list of names and values.
export function pairs(facts) {
  return make("dl", {}, ...Object.entries(facts).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

// JSON with each string isolated, so that right-to-left text stays in place.
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
