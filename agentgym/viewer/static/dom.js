// Elements and numbers. Text of records reaches the page through text nodes only.

const $ = (id) => document.getElementById(id);
const NAMES = ["A", "B"];

/** Make an element; children are elements or strings, of which empty ones are left out. */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child != null && child !== "" && child !== false));
  return made;
}

/** Make an element of an inline picture. */
function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Write a number with at most three decimals; what is none is written as it is. */
function number(value, digits = 3) {
  if (value == null) return "\u2013";
  if (!isNumber(value)) return String(value).slice(0, 40);
  const size = Math.abs(value);
  if (size && size < 0.5 * 10 ** -digits) return value.toExponential(1).replace("-", "\u2212");
  if (size >= 1e15) return value.toExponential(3);
  // Rounded by its exact value, as Python does: 13.45 is a little less, and its decimals are not.
  const rounded = Number(value.toFixed(digits));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: digits }).replace("-", "\u2212");
}

/** Write a number with its sign. */
const signed = (value) => (isNumber(value) && value > 0 ? "+" : "") + number(value);

/** Write a count shortly: 950, 12.3k, 4.5M. */
function short(value) {
  if (!isNumber(value)) return number(value);
  if (value >= 1e6) return number(value / 1e6, 1) + "M";
  return value >= 1e4 ? number(value / 1e3, 1) + "k" : number(value, 0);
}

const percent = (share) => (share == null ? number(share) : number(100 * share, 1) + " %");
const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

function announce(text) {
  $("status").textContent = text;
}
