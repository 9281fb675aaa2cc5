import { h, mark, stateNames, stateRank } from "./dom.js";
import { machineOf, rows, select, view } from "./store.js";
import { VirtualList } from "./list.js";

const systems = { linux: "Linux" };

// systemName is a node's system in words.
const systemName = (n) => n.os === "windows" ? n.image || "Windows" : systems[n.os] || n.os || "unknown system";

function podText(pods) {
  if (!pods) return "no pods";
  const parts = [];
  if (pods.ok) parts.push(pods.ok + " running");
  if (pods.wait) parts.push(pods.wait + " starting");
  if (pods.gone) parts.push(pods.gone + " ending");
  if (pods.bad) parts.push(pods.bad + " in trouble");
  return parts.join(", ") || "no pods";
}

// lines are nodes below their builds, then pods below their workloads, those with a problem first.
function lines() {
  const builds = new Map();
  for (const [key, n] of rows("node")) {
    const name = [systemName(n), n.build].filter(Boolean).join(" · ");
    if (!builds.has(name)) builds.set(name, []);
    builds.get(name).push({ key, n });
  }
  const out = [];
  for (const [name, nodes] of [...builds].sort(([a], [b]) => (a < b ? 1 : -1))) {
    nodes.sort((a, b) => stateRank[a.n.state] - stateRank[b.n.state] || (a.n.name < b.n.name ? -1 : 1));
    const ready = nodes.filter(({ n }) => n.state === "ok").length;
    out.push({ key: "build:" + name, head: true, name: systemName(nodes[0].n), build: nodes[0].n.build, ready, of: nodes.length, sign: ready + "/" + nodes.length });
    for (const { key, n } of nodes) out.push({ key, n, sign: JSON.stringify(n) });
  }
  // Pods are below what made them, those in trouble first.
  const workloads = new Map();
  for (const [key, p] of rows("pod")) {
    const name = `${p.workload || "Pods by themselves"} in ${p.ns} of ${p.cluster}`;
    if (!workloads.has(name)) workloads.set(name, []);
    workloads.get(name).push({ key, p });
  }
  const worst = (pods) => Math.min(...pods.map(({ p }) => stateRank[p.state]));
  for (const [name, pods] of [...workloads].sort(([na, a], [nb, b]) => worst(a) - worst(b) || (na < nb ? -1 : 1))) {
    pods.sort((a, b) => stateRank[a.p.state] - stateRank[b.p.state] || (a.key < b.key ? -1 : 1));
    const ready = pods.filter(({ p }) => p.state === "ok").length;
    out.push({ key: "workload:" + name, head: true, name, ready, of: pods.length, sign: ready + "/" + pods.length });
    for (const { key, p } of pods) out.push({ key, p, sign: JSON.stringify(p) });
  }
  return out;
}

function draw(item) {
  if (item.head) {
    const text = `${item.ready} of ${item.of} ready`;
    return h("div", { class: "head", role: "option", title: item.name, "aria-label": [item.name, item.build, text].filter(Boolean).join(", ") },
      h("span", { class: "name" }, item.name), item.build ? h("span", { class: "build" }, "· " + item.build) : "", h("span", { class: "meter", "aria-hidden": "true" }, h("span", { vars: { "--part": item.ready / item.of } })), h("span", { class: "why" }, text));
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
  const list = new VirtualList(box, { height: 30, draw, role: "listbox", label: "Nodes by system and build, and pods by workload",
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
