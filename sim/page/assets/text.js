/* text.js - numbers and names as a person reads them.  Text of a recording goes into the page by `make` alone,
 * as text and never as markup; what would turn the direction of writing is shown. */
const GONE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function shown (text) {
  return String (text).replace (GONE, c => "\\u" + c.charCodeAt (0).toString (16).padStart (4, "0"));
}

/* Appends elements and text; what is null or false is left out. */
function fill (element, ...children) {
  for (const child of children.flat (Infinity))
    if (child !== null && child !== undefined && child !== false)
      element.append (child instanceof Node ? child : shown (child));
  return element;
}

/* An element: "p.soft", its attributes, its children (elements, or text). */
function make (kind, attributes, ...children) {
  const [name, ...classes] = kind.split (".");
  const element = document.createElement (name);
  if (classes.length > 0)
    element.className = classes.join (" ");
  for (const key in attributes || {})
    if (key.startsWith ("on"))
      element.addEventListener (key.slice (2), attributes[key]);
    else if (attributes[key] !== null && attributes[key] !== undefined)
      element.setAttribute (key, attributes[key]);
    return fill (element, ...children);
}

function scaled (value, names, base) {
  let i = 0, x = Math.abs (value);
  while (x >= base && i + 1 < names.length) {
    x /= base;
    i++;
  }
  const digits = i === 0 || x >= 1000 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : 3;
  return (value < 0 ? "-" : "") + x.toFixed (digits) + " " + names[i];
}

function bytes (value) {
  const number = Number (value);
  if (number >= 2 ** 63)
    return "unlimited";
  return scaled (number, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
}

/* For axes: without zeros at the end. */
function brief (text) {
  return text.replace (/(\.\d*?)0+ /, (_, kept) => (kept === "." ? "" : kept) + " ");
}

function duration (ns) {
  return Number (ns) < 6e10 ? scaled (Number (ns), ["ns", "us", "ms", "s"], 1000) : (Number (ns) / 6e10).toFixed (1) + " min";
}

function count (value) {
  return Number (value).toLocaleString ("en-US").replace (/,/g, "\u202f");
}

/* A value of a measure by its unit; null: not known. */
function measured (value, unit) {
  if (value === null || value === undefined)
    return "-";
  if (value === "none")
    return "none";
  return unit === "bytes" ? bytes (value) : unit === "ns" ? duration (value)
    : unit === "percent" ? (100 * value).toFixed (1) + " %" : unit === "ratio" ? Number (value).toFixed (2) : count (value);
}
