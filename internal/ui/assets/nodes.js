import { h, mark, stateNames, stateRank } from "./dom.js";
import { machineOf, rows, select, view } from "./store.js";
import { VirtualList } from "./list.js";

const systems = { linux: "Linux" };

// buildName is a node's system and build in words.
const buildName = (n) => n.os === "windows" ? [n.image || "Windows", n.build].filter(Boolean).join(" · ") : [systems[n.os] || n.os || "unknown system", n.build].filter(Boolean).join(" · ");

function podText(pods) {
  if (!pods) return "no pods";
  const parts = [];
  if (pods.ok) parts.push(pods.ok + " running");
  if (pods.wait) parts.push(pods.wait + " starting");
  if (pods.gone) parts.push(pods.gone + " ending");
  if (pods.bad) parts.push(pods.bad + " in trouble");
  return parts.join(", ") || "no pods";
}

// lines are nodes below their builds, then the pods, those that do not run first.
function lines() {
  const builds = new Map();
  for (const [key, n] of rows("node")) {
    const name = buildName(n);
    if (!builds.has(name)) builds.set(name, []);
    builds.get(name).push({ key, n });
  }
  const out = [];
  for (const [name, nodes] of [...builds].sort(([a], [b]) => (a < b ? 1 : -1))) {
    nodes.sort((a, b) => stateRank[a.n.state] - stateRank[b.n.state] || (a.n.name < b.n.name ? -1 : 1));
    const ready = nodes.filter(({ n }) => n.state === "ok").length;
    out.push({ key: "build:" + name, head: true, name, ready, of: nodes.length, sign: ready + "/" + nodes.length });
    for (const { key, n } of nodes) out.push({ key, n, sign: JSON.stringify(n) });
  }
  const pods = [...rows("pod")].sort(([ka, a], [kb, b]) => stateRank[a.state] - stateRank[b.state] || (ka < kb ? -1 : 1));
  for (const [name, of] of [["Pods that are not running", pods.filter(([, p]) => p.state !== "ok")], ["Pods that run", pods.filter(([, p]) => p.state === "ok")]]) {
    if (of.length) out.push({ key: name, head: true, name, count: of.length, sign: String(of.length) });
    for (const [key, p] of of) out.push({ key, p, sign: JSON.stringify(p) });
  }
  return out;
}

function draw(item) {
  if (item.head) {
    const text = item.of === undefined ? String(item.count) : `${item.ready} of ${item.of} ready`;
    return h("div", { class: "head", role: "option", "aria-label": item.name + ", " + text },
      h("span", { class: "name" }, item.name), item.of === undefined ? "" : h("span", { class: "meter", "aria-hidden": "true" }, h("span", { vars: { "--part": item.ready / item.of } })), h("span", { class: "why" }, text));
  }
  const r = item.n || item.p;
  const cells = item.n
    ? [r.name, r.cluster, r.kubelet, (r.runtime || "").replace("://", " "), r.state === "ok" ? podText(r.pods) : r.reason || stateNames[r.state]]
    : [r.ns + "/" + r.name, r.cluster, r.node || "no node", r.reason || "Running", r.message || ""];
  return h("div", { role: "option", class: "cells " + r.state, title: r.message || r.reason || undefined, "aria-label": [cells[0], stateNames[r.state], ...cells.slice(1)].filter(Boolean).join(", ") },
    mark(r.state), ...cells.map((c, i) => h("span", { class: i === 0 ? "name" : i === 4 ? "why" : "cell" }, c)));
}

// makeNodes shows the nodes by system and build.
export function makeNodes(root) {
  const head = h("div", { class: "cells columns", "aria-hidden": "true" }, h("span"), ...["Node or pod", "Cluster", "Kubelet", "Runtime", "Pods"].map((t) => h("span", {}, t)));
  const box = h("div", { id: "node-list" }), empty = h("p", { class: "empty" });
  root.append(head, box, empty);
  const list = new VirtualList(box, { height: 30, draw, role: "listbox", label: "Nodes by system and build, and pods",
    pick: (item) => { if (!item.head) select(item.n ? machineOf(item.key) : item.key); } });
  return (changed) => {
    if (!["node", "pod", "view", "all", "meta"].some((name) => changed.has(name))) return;
    const items = lines();
    empty.hidden = items.length > 0;
    head.hidden = box.hidden = items.length === 0;
    empty.textContent = rows("meta").size ? "No node has registered yet." : "Reading…";
    const at = items.find((i) => i.key === view.selected || (i.n && i.n.machine === view.selected));
    list.active = at ? at.key : "";
    list.set(items);
  };
}
