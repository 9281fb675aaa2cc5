import { byId, h, plural } from "./dom.js";
import { apply, meta, onChange, query, remember, rows, touch, view } from "./store.js";
import { makeTree } from "./tree.js";
import { makePicture } from "./picture.js";
import { makeNodes } from "./nodes.js";
import { makeBoots } from "./boot.js";
import { makeCalls } from "./calls.js";
import { makeAccount } from "./account.js";
import { makeDetail } from "./detail.js";

const tabs = [
  { name: "azure", title: "Azure", make: makePicture },
  { name: "nodes", title: "Nodes and pods", make: makeNodes },
  { name: "boot", title: "Boot timeline", make: makeBoots },
  { name: "calls", title: "ARM calls", make: makeCalls },
  { name: "account", title: "Quota and activity", make: makeAccount },
];

// makeTabs shows one view at a time; one that is not seen is not drawn.
function makeTabs() {
  const bar = byId("tabs"), panel = byId("view"), made = new Map();
  for (const t of tabs) {
    t.button = h("button", { type: "button", role: "tab", id: "tab-" + t.name, "aria-controls": "view", onclick: () => open(t) }, t.title);
    bar.append(t.button);
  }
  bar.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const at = tabs.findIndex((t) => t.name === view.tab), next = tabs[(at + step + tabs.length) % tabs.length];
    e.preventDefault();
    open(next);
    next.button.focus();
  });
  function open(t) {
    view.tab = t.name;
    remember();
    show();
    touch("view", "all");
  }
  function show() {
    for (const t of tabs) {
      const on = t.name === view.tab;
      t.button.setAttribute("aria-selected", String(on));
      t.button.tabIndex = on ? 0 : -1;
      if (on) t.button.scrollIntoView({ block: "nearest", inline: "nearest" });
      if (made.has(t.name)) made.get(t.name).root.hidden = !on;
    }
    panel.setAttribute("aria-labelledby", "tab-" + view.tab);
    if (!made.has(view.tab)) {
      const root = h("div", { class: "view view-" + view.tab });
      panel.append(root);
      made.set(view.tab, { root, draw: tabs.find((t) => t.name === view.tab).make(root) });
    }
  }
  show();
  new ResizeObserver(() => touch("all")).observe(panel);
  return (changed) => made.get(view.tab).draw(changed);
}

// drawContexts offers the contexts of the kubeconfig, where there are several.
function drawContexts(m) {
  const chosen = byId("context"), names = (!view.saved && m && m.contexts) || [];
  const sign = names.join("\n");
  if (m && chosen.dataset.sign !== sign) {
    chosen.dataset.sign = sign;
    chosen.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    chosen.hidden = names.length === 0;
  }
  if (m && m.context && document.activeElement !== chosen) chosen.value = m.context;
}

// switchTo shows another context: what is shown of the one before goes.
function switchTo(name) {
  view.context = name;
  view.selected = "";
  view.link = "wait";
  remember();
  apply({ full: true });
  listen(1000);
}

// drawTop shows what the page looks at and how it is.
function drawTop() {
  const m = meta(), saved = view.saved;
  const set = (id, text, kind) => {
    const el = byId(id);
    if (el.textContent !== text) el.textContent = text;
    el.className = kind || "";
  };
  drawContexts(m);
  set("source", m ? m.source + (m.server ? " · " + m.server : "") : "");
  const machines = { ok: 0, bad: 0, wait: 0, gone: 0 };
  let problems = 0;
  for (const c of rows("cluster").values()) problems += c.problems || 0;
  for (const c of rows("cluster").values()) for (const [state, n] of Object.entries(c.machines || {})) machines[state] += n;
  const all = machines.ok + machines.bad + machines.wait + machines.gone;
  const parts = [plural(rows("cluster").size, "cluster"), machines.ok + " of " + plural(all, "machine") + " ready"];
  if (machines.wait) parts.push(machines.wait + " in progress");
  if (machines.gone) parts.push(machines.gone + " being deleted");
  if (problems) parts.push(plural(problems, "problem"));
  set("counts", m ? parts.join(" · ") : "", problems ? "bad" : "");
  const links = { wait: "Connecting…", live: "Live, read-only", lost: "Connection lost" };
  set("link", saved ? "Saved " + new Date(saved.at).toLocaleString() : links[view.link], saved ? "saved" : view.link);
  const banner = byId("banner"), errors = (m && m.errors) || [];
  const text = view.link === "lost" && !saved ? ["What is shown may be old. The page connects again by itself while 'casement ui' runs."] : errors;
  const sign = text.join("\n");
  if (banner.dataset.sign !== sign) {
    banner.dataset.sign = sign;
    banner.replaceChildren(...text.map((t) => h("p", {}, t)));
    banner.hidden = text.length === 0;
  }
  document.title = (problems ? "(" + problems + ") " : "") + "casement";
}

let stream = null, again = 0;

// listen follows the server's events. A stream that ends is opened again, later each time.
function listen(wait) {
  if (stream) stream.close();
  clearTimeout(again);
  const events = new EventSource("events?" + query({}));
  stream = events;
  events.onmessage = (e) => {
    wait = 1000;
    view.link = "live";
    apply(JSON.parse(e.data));
  };
  events.onerror = () => {
    events.close();
    view.link = "lost";
    touch("meta");
    again = setTimeout(() => listen(Math.min(wait * 2, 15000)), wait);
  };
}

function start() {
  const kept = new URLSearchParams(location.hash.slice(1));
  if (tabs.some((t) => t.name === kept.get("tab"))) view.tab = kept.get("tab");
  view.selected = kept.get("select") || "";
  view.context = kept.get("context") || "";
  const drawTree = makeTree(), drawTab = makeTabs(), drawDetail = makeDetail(byId("detail"));
  byId("filter").addEventListener("input", (e) => { view.filter = e.target.value; touch("view"); });
  byId("troubled").addEventListener("change", (e) => { view.troubled = e.target.checked; touch("view"); });
  byId("context").addEventListener("change", (e) => switchTo(e.target.value));
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); byId("filter").focus(); }
    if (e.key === "Escape" && document.activeElement === byId("filter")) byId("tree").focus();
  });
  onChange((changed) => { drawTop(); drawTree(changed); drawTab(changed); drawDetail(changed); });
  const saved = byId("saved");
  if (saved) {
    view.saved = JSON.parse(saved.textContent);
    apply({ full: true, set: view.saved.model });
  } else listen(1000);
  touch("meta", "view");
}

start();
