import { h, mark, stateNames, stateRank, took } from "./dom.js";
import { rows, select, view } from "./store.js";
import { VirtualList } from "./list.js";

// stageNames are in the order of a boot; their colours are those of their places.
const stageNames = ["instance seen in the scale set", "machine requested", "bootstrap data rendered", "network interface", "VM provisioned, agent ready", "bootstrap succeeded", "node registered", "node ready (CNI configured)", "first pod ready"];
const stageColor = (name) => { const at = stageNames.indexOf(name); return "stage-" + (at < 0 ? 0 : at); };

const endOf = (b) => (b.stages && b.stages.length ? b.stages[b.stages.length - 1].after : 0);

// scaleOf is how many seconds the chart shows: nearly all machines whole, and not one
// that took hours.
function scaleOf(list) {
  const ends = list.map(([, b]) => endOf(b)).sort((a, b) => a - b);
  const most = Math.max(5, (ends[Math.floor((ends.length - 1) * 0.9)] || 0) * 1.15);
  for (const step of [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 3600, 7200]) if (step >= most) return step;
  return Math.ceil(most / 3600) * 3600;
}

function draw(item) {
  const { b, scale } = item, bar = h("span", { class: "bar", "aria-hidden": "true" });
  let before = 0;
  for (const st of b.stages || []) {
    const from = Math.min(before, scale), to = Math.min(st.after, scale);
    if (to > from) bar.append(h("span", { class: "seg " + stageColor(st.name), vars: { "--from": from / scale, "--to": to / scale }, title: st.name + ": " + took(st.after - before) }));
    before = Math.max(before, st.after);
  }
  if (b.state === "wait" || b.state === "bad") bar.append(h("span", { class: "seg open " + b.state, vars: { "--from": Math.min(before, scale) / scale, "--to": Math.min(1, Math.min(before, scale) / scale + 0.06) } }));
  if (before > scale) bar.append(h("span", { class: "over" }, "…"));
  const last = b.stages && b.stages.length ? b.stages[b.stages.length - 1].name : "requested";
  // A stage that left no time is not waited for when a later one has happened.
  const next = (b.missing || []).find((name) => stageNames.indexOf(name) > stageNames.indexOf(last));
  const text = b.state === "ok" ? took(endOf(b)) : next ? "waits: " + next : stateNames[b.state];
  return h("div", { role: "option", class: "boot " + b.state, title: (b.stages || []).map((st) => took(st.after) + "  " + st.name).join("\n"), "aria-label": `${b.name}, ${stateNames[b.state]}, last ${last} after ${took(endOf(b))}${next ? ", next " + next : ""}` },
    mark(b.state), h("span", { class: "name" }, b.name), bar, h("span", { class: "why" }, text));
}

// fleetOf is a cluster's stages over all of its machines, and what would save seconds.
function fleetOf(f) {
  const row = (st) => h("tr", {}, h("td", {}, h("span", { class: "key " + stageColor(st.name), "aria-hidden": "true" }), st.name),
    ...[String(st.machines), took(st.median), took(st.slowest), st.by].map((text) => h("td", {}, text)));
  return h("details", { class: "fleet", "data-cluster": f.cluster },
    h("summary", {}, `${f.cluster}: ${f.stages.length} stages over all machines`, f.advice ? `, ${f.advice.length} ways to start faster` : ""),
    h("table", {}, h("thead", {}, h("tr", {}, ...["Stage", "Machines", "Median", "Slowest", "By"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, ...f.stages.map(row))),
    f.advice ? h("ul", {}, ...f.advice.map((text) => h("li", {}, text))) : "");
}

// makeBoots shows where the time of every machine's boot went.
export function makeBoots(root) {
  const keys = stageNames.map((name) => h("span", {}, h("span", { class: "key " + stageColor(name), "aria-hidden": "true" }), name));
  const legend = h("p", { class: "legend" }, ...keys);
  const axis = h("div", { class: "boot axis", "aria-hidden": "true" });
  const box = h("div", { id: "boot-list" }), empty = h("p", { class: "empty" });
  const fleets = h("div", { class: "fleets" });
  let fleetSign = "";
  root.append(legend, fleets, axis, box, empty);
  const list = new VirtualList(box, { height: 30, draw, role: "listbox", label: "Machines and the stages of their boot", pick: (item) => select(item.b.machine) });
  let shown = 0;
  return (changed) => {
    if (!["boot", "fleet", "view", "all", "meta"].some((name) => changed.has(name))) return;
    const some = [...rows("fleet")].map(([, f]) => f), sign = JSON.stringify(some);
    if (fleetSign !== sign) {
      fleetSign = sign;
      const open = new Set([...fleets.querySelectorAll("details[open]")].map((d) => d.dataset.cluster));
      fleets.replaceChildren(...some.map(fleetOf));
      for (const d of fleets.querySelectorAll("details")) d.open = open.has(d.dataset.cluster);
    }
    const all = [...rows("boot")], scale = scaleOf(all);
    // The first stage of a machine takes no time, and no key.
    const passed = new Set(all.flatMap(([, b]) => (b.stages || []).slice(1).map((st) => st.name)));
    keys.forEach((key, i) => { key.hidden = !passed.has(stageNames[i]); });
    all.sort(([, a], [, b]) => stateRank[a.state] - stateRank[b.state] || b.at - a.at || (a.name < b.name ? -1 : 1));
    empty.hidden = all.length > 0;
    legend.hidden = axis.hidden = box.hidden = all.length === 0;
    empty.textContent = rows("meta").size ? "No machine has been requested yet." : "Reading…";
    if (shown !== scale) {
      shown = scale;
      axis.replaceChildren(h("span"), h("span", { class: "name" }, "since the request"), h("span", { class: "bar" }, ...[0, 0.5, 1].map((part) => h("span", { class: "tick", vars: { "--from": part } }, took(part * scale)))), h("span"));
    }
    const items = all.map(([key, b]) => ({ key, b, scale, sign: scale + JSON.stringify(b) }));
    const at = items.find((i) => i.b.machine === view.selected);
    list.active = at ? at.key : "";
    list.set(items);
  };
}
