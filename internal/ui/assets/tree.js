import { byId, h, mark, stateNames, stateRank } from "./dom.js";
import { meta, rows, select, touch, view } from "./store.js";
import { VirtualList } from "./list.js";

// What is open: what the user opened or closed, and else what is not a machine.
const opened = new Map();

const short = { KubeadmControlPlane: "ControlPlane", MachineDeployment: "Deployment", AzureMachinePoolMachine: "Instance", AzureMachinePool: "ScaleSet" };

const isOpen = (key, r) => opened.has(key) ? opened.get(key) : r.kind !== "Machine" && r.kind !== "MachinePool";

// matches reports whether a row passes the filter.
function matches(r) {
  if (view.troubled && r.state !== "bad" && r.state !== "wait") return false;
  const text = view.filter.toLowerCase();
  return !text || (r.kind + "/" + r.name + " " + (r.reason || "") + " " + r.ns).toLowerCase().includes(text);
}

// flatten makes the lines of the tree, problems first.
function flatten() {
  const all = rows("object"), below = new Map();
  for (const [key, r] of all) {
    const parent = r.parent && all.has(r.parent) ? r.parent : "";
    if (!below.has(parent)) below.set(parent, []);
    below.get(parent).push([key, r]);
  }
  for (const list of below.values()) {
    list.sort(([, a], [, b]) => stateRank[a.state] - stateRank[b.state] || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.kind < b.kind ? -1 : 1));
  }
  const filtered = view.troubled || view.filter !== "", out = [];
  const add = (parent, level) => {
    const list = below.get(parent) || [];
    let any = false, at = 0;
    for (const [key, r] of list) {
      at++;
      const children = below.has(key), open = filtered || isOpen(key, r), place = out.length;
      const item = { key, r, level, at, of: list.length, open: children ? open : undefined };
      item.sign = [r.state, r.reason, r.detail, r.first, level, at, list.length, item.open, r.message].join("|");
      out.push(item);
      const found = children && open ? add(key, level + 1) : false;
      if (filtered && !found && !matches(r)) out.length = place;
      else any = true;
    }
    return any;
  };
  add("", 1);
  return out;
}

function draw(item) {
  const { r, level } = item;
  const why = r.state === "ok" ? r.detail : r.reason || (r.state === "bad" ? stateNames.bad : r.detail) || stateNames[r.state];
  const el = h("div", {
    role: "treeitem", class: "node " + r.state, "aria-level": level, "aria-posinset": item.at, "aria-setsize": item.of,
    "aria-expanded": item.open === undefined ? undefined : String(item.open), vars: { "--level": level },
    title: r.kind + "/" + r.name + (r.message ? "\n" + r.message : ""),
    "aria-label": [r.kind, r.name, stateNames[r.state], r.first ? "the trouble begins here" : "", why].filter(Boolean).join(", "),
  },
  h("span", { class: "twist", "aria-hidden": "true", "data-twist": item.open === undefined ? undefined : "1" }, item.open === undefined ? "" : item.open ? "▾" : "▸"),
  mark(r.state),
  h("span", { class: "name" }, r.name),
  r.first ? h("span", { class: "first" }, "first") : "",
  h("span", { class: "kind" }, short[r.kind] || r.kind),
  h("span", { class: "why" }, why || ""));
  return el;
}

// makeTree shows the objects of Cluster API.
export function makeTree() {
  const root = byId("tree");
  const list = new VirtualList(root, { height: 30, draw, pick: (item) => select(item.key) });
  const toggle = (item, open) => { opened.set(item.key, open); touch("object"); };
  root.addEventListener("click", (e) => {
    const el = e.target.closest("[data-at]");
    if (el && e.target.dataset.twist) { const item = list.items[Number(el.dataset.at)]; toggle(item, !item.open); }
  });
  root.addEventListener("dblclick", (e) => {
    const el = e.target.closest("[data-at]"), item = el && list.items[Number(el.dataset.at)];
    if (item && item.open !== undefined) toggle(item, !item.open);
  });
  root.addEventListener("keydown", (e) => {
    const item = list.items[list.at()];
    if (!item) return;
    if (e.key === "ArrowRight" && item.open === false) toggle(item, true);
    else if (e.key === "ArrowRight" && item.open) list.go(list.at() + 1);
    else if (e.key === "ArrowLeft" && item.open) toggle(item, false);
    else if (e.key === "ArrowLeft" && item.r.parent) list.go(list.items.findIndex((i) => i.key === item.r.parent));
    else if (e.key === "Enter") byId("detail").querySelector("h2, button")?.focus();
    else return;
    e.preventDefault();
  });
  const empty = h("p", { class: "empty" });
  root.append(empty);
  return (changed) => {
    if (!["object", "view", "meta"].some((name) => changed.has(name))) return;
    const items = flatten();
    const nothing = items.length === 0;
    empty.hidden = !nothing;
    if (nothing) empty.textContent = !rows("meta").size ? "Reading the clusters…" : rows("object").size ? (view.troubled && !view.filter ? "Nothing is in trouble." : "No object matches.") : meta().errors ? "The clusters could not be read." : "There is no cluster yet.";
    if (list.active !== view.selected) {
      list.items = items;
      list.mark(view.selected, true);
    }
    list.set(items);
  };
}
