// Elements are made of text and attributes alone: nothing that an object is called can
// become markup.
export const svgSpace = "http://www.w3.org/2000/svg";

// fill sets attributes, listeners and properties, and appends children.
function fill(el, attrs, children) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [v, x] of Object.entries(value)) el.style.setProperty(v, x);
    else el.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== undefined && child !== null && child !== "") el.append(child);
  return el;
}

// h makes an HTML element, s an SVG element.
export const h = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);
export const s = (tag, attrs, ...children) => fill(document.createElementNS(svgSpace, tag), attrs, children);
export const byId = (id) => document.getElementById(id);

export const stateNames = { bad: "problem", wait: "in progress", gone: "being deleted", ok: "ready" };
export const stateRank = { bad: 0, wait: 1, gone: 2, ok: 3 };

// mark is the sign of a state: it differs in shape as well as in colour.
export function mark(state) {
  return h("span", { class: "mark " + state, role: "img", "aria-label": stateNames[state] || state, title: stateNames[state] || state });
}

// cut shortens text to a number of characters in its middle, where names are alike.
export function cut(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return text.slice(0, most - 1 - end) + "…" + text.slice(text.length - end);
}

const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();

// widthOf is how wide a text is in the picture, in pixels.
function widthOf(text, bold) {
  const key = (bold ? "b" : "n") + text;
  let w = widths.get(key);
  if (w === undefined) {
    if (widths.size > 20000) widths.clear();
    pen.font = (bold ? "600 12.5px " : "12.5px ") + getComputedStyle(document.body).fontFamily;
    w = pen.measureText(text).width;
    widths.set(key, w);
  }
  return w;
}

// fit cuts text to a width in pixels.
export function fit(text, px, bold) {
  let most = text.length;
  while (most > 3 && widthOf(cut(text, most), bold) > px) most -= Math.max(1, Math.floor((widthOf(cut(text, most), bold) - px) / 10));
  return cut(text, Math.max(3, most));
}

// took is a duration in words.
export function took(seconds) {
  const n = Math.max(0, Math.round(seconds));
  if (n < 60) return n + " s";
  if (n < 3600) return Math.floor(n / 60) + " min " + (n % 60) + " s";
  if (n < 86400) return Math.floor(n / 3600) + " h " + Math.floor((n % 3600) / 60) + " min";
  return Math.floor(n / 86400) + " d " + Math.floor((n % 86400) / 3600) + " h";
}

export const plural = (n, one, many) => n + " " + (n === 1 ? one : many || one + "s");

// command is a command line with a button that copies it.
export function command(text) {
  const button = h("button", { type: "button", class: "copy", "aria-label": "Copy the command: " + text, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  const code = h("code", {}, text);
  return h("div", { class: "command" }, code, button);
}
