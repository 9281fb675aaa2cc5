import { h, plural, s } from "./dom.js";
import { meta, rows } from "./store.js";

const kinds = ["read", "poll", "write", "delete", "throttled", "refused"];
const minutesShown = 30;

const total = (m) => Object.values(m.kinds).reduce((a, b) => a + b, 0);

// nice is a round number that is not below n.
function nice(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 4, 5, 10].map((x) => x * power).find((x) => x >= n);
}

// chart draws a bar for each minute, by kind from the bottom up.
function chart(minutes, width) {
  const high = 220, left = 44, bottom = 26, top = 12;
  const most = nice(Math.max(4, ...minutes.map(total)));
  const svg = s("svg", { width, height: high, viewBox: `0 0 ${width} ${high}`, role: "img", "aria-label": `ARM calls per minute, at most ${most}; the table below has the numbers` });
  for (const part of [0, 0.5, 1]) {
    const y = top + (high - top - bottom) * (1 - part);
    svg.append(s("line", { class: "grid", x1: left, x2: width - 8, y1: y, y2: y }), s("text", { class: "small", x: left - 8, y: y + 4, "text-anchor": "end" }, String(most * part)));
  }
  const last = Math.max(...minutes.map((m) => Date.parse(m.at))), slot = (width - left - 8) / minutesShown;
  for (const m of minutes) {
    const ago = Math.round((last - Date.parse(m.at)) / 60000);
    if (ago >= minutesShown) continue;
    const x = left + (minutesShown - 1 - ago) * slot;
    let y = high - bottom;
    for (const kind of kinds) {
      const n = m.kinds[kind] || 0, part = ((high - top - bottom) * n) / most;
      if (!n) continue;
      y -= part;
      svg.append(s("rect", { class: "call " + kind, x: x + 2, y, width: Math.max(1, slot - 4), height: part }, s("title", {}, `${new Date(m.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}: ${plural(n, kind)}`)));
    }
  }
  for (const ago of [0, 10, 20, 29]) {
    const x = left + (minutesShown - 1 - ago) * slot + slot / 2;
    svg.append(s("text", { class: "small", x, y: high - 8, "text-anchor": ago === 0 ? "end" : "middle" }, new Date(last - ago * 60000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
  }
  return svg;
}

function table(caption, heads, lines) {
  return h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...heads.map((t, i) => h("th", { scope: "col", class: i ? "number" : "" }, t)))),
    h("tbody", {}, ...lines.map((line) => h("tr", {}, ...line.map((t, i) => h(i ? "td" : "th", { scope: i ? undefined : "row", class: i ? "number" : "" }, String(t)))))));
}

// makeCalls shows what Azure was asked, minute by minute.
export function makeCalls(root) {
  const scroll = h("div", { class: "scroll" });
  root.append(scroll);
  let drawn = "";
  return (changed) => {
    if (!["calls", "all", "meta"].some((name) => changed.has(name))) return;
    const minutes = [...rows("calls")].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, m]) => m), width = Math.max(320, scroll.clientWidth - 32);
    const sign = width + JSON.stringify(minutes) + (meta() ? meta().local : "");
    if (sign === drawn) return;
    drawn = sign;
    if (!minutes.length) {
      const m = meta();
      scroll.replaceChildren(h("p", { class: "empty" }, !m ? "Reading…" : m.local ? "The local Azure was not asked anything yet." : "Calls are counted by the local Azure alone. For the real one look at casement_arm_requests_total among the metrics of casement-manager."));
      return;
    }
    const legend = h("p", { class: "legend" }, ...kinds.map((kind) => h("span", {}, h("span", { class: "key call " + kind, "aria-hidden": "true" }), kind)));
    const types = new Map();
    for (const m of minutes) for (const [type, n] of Object.entries(m.types || {})) types.set(type, (types.get(type) || 0) + n);
    const top = [...types].sort((a, b) => b[1] - a[1]).slice(0, 12);
    const recent = minutes.slice(-10).reverse();
    scroll.replaceChildren(legend, chart(minutes, width), h("div", { class: "tables" },
      table("The last minutes", ["Minute", ...kinds], recent.map((m) => [new Date(m.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }), ...kinds.map((kind) => m.kinds[kind] || 0)])),
      table("By resource type, 30 minutes", ["Type", "Calls"], top)));
  };
}
