import { command, h, mark, plural, stateNames } from "./dom.js";
import { meta, query, row, rows, view } from "./store.js";
import { keyOfVM } from "./picture.js";

// run is a command that can be copied, as casement is called where the page was opened.
const run = (text) => command(text.replace(/\bcasement (?=[a-z])/g, ((meta() || {}).command || "casement") + " "));

const maxLines = 3000;

// titleOf is what a row is called, by what it is.
function titleOf(key, r) {
  const kinds = { vm: "Virtual machine", nsg: "Security group", lb: "Load balancer", set: "Scale set", subnet: "Subnet", node: "Node", pod: "Pod" };
  return { kind: r.kind || kinds[key.split("/")[0]] || "", name: r.name, state: r.state };
}

// facts are what is known of a row, as pairs.
function facts(key, r) {
  const out = [], add = (name, value) => { if (value) out.push([name, value]); };
  const v = row(keyOfVM(key)) || {};
  add("Cluster", r.cluster && `${r.cluster}${r.ns ? " in namespace " + r.ns : ""}`);
  add("Detail", r.detail);
  add("Resource group", r.group || v.group);
  add("Virtual machine", v.name !== r.name && v.name);
  add("System", v.os || r.os);
  add("Size", v.size || r.size);
  add("Address", v.address || r.address || (r.ips || []).join(", "));
  add("Azure says", v.phase || r.phase);
  add("Note", v.message);
  const boot = v.boot || r.boot;
  if (boot && boot.of) add("Boot", `${boot.done} of ${plural(boot.of, "stage")}${boot.now ? ", last: " + boot.now : ""}`);
  for (const n of rows("node").values()) if (n.machine === key) {
    add("Node", n.name);
    add("Build", n.image + (n.os === "windows" ? " · " + n.build : ""));
    add("Kubelet", n.kubelet + " · " + n.runtime);
  }
  add("Ports", (r.ports || []).join(", "));
  add("Instances", r.capacity !== undefined && String(r.capacity));
  add("Node", r.node);
  return out;
}

function ruleTable(r) {
  const rules = [...(r.rules || [])].sort((a, b) => Number(b.inbound) - Number(a.inbound) || a.priority - b.priority);
  if (!rules.length) return h("p", { class: "note" }, "It has no rule.");
  return h("table", { class: "rules" }, h("caption", {}, "Rules, in the order in which they apply"), h("thead", {}, h("tr", {}, ...["", "Rule", "Traffic", "From"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, ...rules.map((x) => h("tr", { class: x.allow ? "" : "bad" }, h("td", { class: "number" }, String(x.priority)), h("th", { scope: "row" }, x.name),
      h("td", {}, `${x.allow ? "allow" : "deny"} ${x.inbound ? "in" : "out"} ${x.protocol} ${x.ports || "*"}`), h("td", {}, x.source || "*")))));
}

// answerOf shows the first thing that is wrong, its evidence, and what to do.
function answerOf(answer, cluster, ns) {
  if (answer.error) return [h("p", { class: "note" }, answer.error)];
  const unseen = answer.notExamined && answer.notExamined.length ? [h("h4", {}, "Not looked at"), ...answer.notExamined.map((e) => h("p", { class: "note" }, e))] : [];
  if (answer.healthy) return [h("p", { class: "fine" }, mark("ok"), `${answer.object}: nothing is wrong`), ...unseen];
  if (answer.waiting) return [h("p", { class: "fine" }, mark("wait"), answer.means.says), h("p", { class: "note" }, answer.at), ...unseen];
  const out = [h("p", { class: "cause" }, h("strong", {}, answer.means.cause || "The cause is not known here"), h("span", {}, answer.means.says || ""))];
  out.push(h("p", { class: "note" }, `${answer.at || answer.object}${answer.step ? " · " + answer.step : ""}`));
  const seen = (answer.seen || []).filter((s) => s.line), fix = answer.means.fix, also = answer.also || [];
  if (seen.length) out.push(h("h4", {}, "Seen"), ...seen.map((s) => h("pre", { class: "evidence" }, s.line)));
  if (fix) out.push(h("h4", {}, "Fix"), /^(casement|kubectl) [^;]*$/.test(fix) ? run(fix) : h("p", {}, fix));
  if (answer.means.harm) out.push(h("p", { class: "note" }, answer.means.harm));
  if (also.length) out.push(h("h4", {}, "Also"), ...also.map((s) => h("pre", { class: "evidence" }, `${s.at}: ${s.line}`)));
  out.push(h("h4", {}, "Next"), run((answer.seen && answer.seen[0] && answer.seen[0].show) || `casement why ${cluster} -n ${ns}`), ...unseen);
  return out;
}

// A Console follows the boot log of one machine.
class Console {
  constructor() {
    this.pre = h("pre", { class: "console", role: "log", tabindex: 0, "aria-label": "Boot log", "aria-live": "off" });
    this.root = h("div", {}, h("h3", {}, "Boot log"), this.pre);
    this.lines = 0;
  }
  add(text) {
    const end = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 24;
    for (const line of text.split(/(?<=\n)/)) {
      this.pre.append(h("span", { class: /error|fail|fatal|denied|refused/i.test(line) ? "alarm" : "" }, line));
      this.lines++;
    }
    while (this.lines > maxLines) { this.pre.firstChild.remove(); this.lines--; }
    if (end) this.pre.scrollTop = this.pre.scrollHeight;
  }
  note(text) { this.pre.replaceChildren(h("span", { class: "faint" }, text)); }
  stop() { if (this.abort) this.abort.abort(); }
  async follow(key, cluster) {
    if (view.saved) {
      const text = view.saved.consoles[key];
      if (text) this.add(text);
      else this.note("This report holds the boot logs of machines that were not ready.");
      return;
    }
    if (!(meta() && meta().local)) { this.note("Boot logs are read from the local plane. For a machine in Azure: casement logs " + key.split("/").pop()); return; }
    this.abort = new AbortController();
    try {
      const answer = await fetch("console?" + query({ object: key, cluster }), { signal: this.abort.signal });
      if (!answer.ok) { this.note(await answer.text()); this.ended = true; return; }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) this.add(part.value);
    } catch (e) {
      if (e.name !== "AbortError") this.note("The boot log could not be read: " + e.message);
    }
    this.ended = true;
  }
}

// shows are what is read of an object when it is asked for: buttons, and the text below them.
function shows(key, cluster, logs) {
  const pre = h("pre", { class: "console", role: "region", tabindex: 0, hidden: true });
  const get = async (what, title) => {
    pre.hidden = false;
    pre.setAttribute("aria-label", title);
    pre.textContent = "Reading…";
    try {
      pre.textContent = await (await fetch("show?" + query({ object: key, cluster, what }))).text() || "It is empty.";
    } catch (e) {
      pre.textContent = "It could not be read: " + e.message;
    }
    if (what === "logs") pre.scrollTop = pre.scrollHeight;
  };
  const all = [...(logs ? [["logs", "Logs"]] : []), ["events", "Events"], ["yaml", "YAML"]];
  return h("div", { class: "shows" }, ...all.map(([what, title]) => h("button", { type: "button", onclick: () => get(what, title) }, title)), pre);
}

async function ask(key, cluster) {
  if (view.saved) return view.saved.answers[key] || { error: (row(key) || {}).state === "ok" ? "It was ready when this report was saved." : "This report has no answer about it." };
  try {
    const answer = await fetch("why?" + query({ object: key, cluster }));
    return await answer.json();
  } catch (e) {
    return { error: "It could not be asked: " + e.message };
  }
}

// welcome is the panel when nothing is selected: each cluster's first cause.
function welcome() {
  const clusters = [...rows("cluster").entries()];
  const out = [h("h2", { tabindex: -1 }, "What is wrong")];
  if (!meta()) return [h("p", { class: "empty" }, "Reading…")];
  if (!clusters.length) {
    out[0].textContent = "Begin";
    if (meta().errors && meta().local) out.push(h("p", {}, "The local plane does not answer. This starts it, and the page goes on by itself:"), run("casement up"));
    else if (meta().errors) out.push(h("p", {}, "The management cluster could not be read. The reason is above; the page tries again by itself."));
    else if (meta().local) out.push(h("p", {}, "There is no cluster yet. This makes one with a Windows node:"), run("casement generate cluster demo --flavor windows | casement kubectl apply -f -"), h("p", { class: "note" }, "It appears here as it comes up."));
    else out.push(h("p", {}, "This management cluster has no cluster in the namespaces that are shown."));
    return out;
  }
  for (const [, c] of clusters) {
    if (c.answer.healthy && c.state === "bad") {
      out.push(h("section", { class: "card" }, h("h3", {}, mark(c.state), c.name), h("p", {}, "Something is not ready, and no cause is found from outside. The tree marks it; this looks further:"), run(`casement doctor ${c.name} -n ${c.ns}`)));
      continue;
    }
    const settled = !c.answer.healthy && c.state !== "gone";
    out.push(h("section", { class: "card" }, h("h3", {}, mark(c.state), c.name), h("p", { class: "note" }, `namespace ${c.ns} · ${plural(c.nodes, "node")}`),
      ...(c.answer.healthy || settled ? answerOf(c.answer, c.name, c.ns) : [h("p", {}, c.state === "gone" ? "It is being deleted." : "It is coming up."), h("p", { class: "note" }, `at ${c.answer.at}: ${c.answer.means.says}`)])));
  }
  return out;
}

// makeDetail shows what is selected: what is wrong with it, what is known, its log.
export function makeDetail(root) {
  const head = h("div"), why = h("div", { class: "answer" }), known = h("div"), log = h("div");
  const more = h("div");
  root.append(head, why, known, more, log);
  let key = null, console = null, signs = {}, asked = 0, timer = 0, busy = false;
  const put = (place, sign, make) => {
    if (signs[place.n] === sign) return;
    signs[place.n] = sign;
    place.el.replaceChildren(...make());
  };
  const places = { head: { n: "head", el: head }, why: { n: "why", el: why }, known: { n: "known", el: known }, log: { n: "log", el: log } };
  const question = async (wanted, cluster, ns) => {
    if (busy) return;
    busy = true;
    const answer = await ask(wanted, cluster);
    busy = false;
    asked = Date.now();
    if (wanted !== key) return;
    put(places.why, JSON.stringify(answer), () => [h("h3", {}, "Why"), ...answerOf(answer, cluster, ns)]);
  };
  return (changed) => {
    const r = view.selected ? row(view.selected) : null;
    const chosen = r ? view.selected : "";
    if (chosen !== key) {
      if (console) console.stop();
      console = null;
      key = chosen;
      signs = {};
      asked = 0;
      clearTimeout(timer);
      timer = 0;
      for (const place of Object.values(places)) place.el.replaceChildren();
      more.replaceChildren();
      const what = r && key.split("/")[0];
      if (!view.saved && (what === "object" || what === "pod" || what === "node")) more.append(shows(key, r.kind === "Cluster" ? r.name : r.cluster, what === "pod"));
    } else if (changed.size === 1 && changed.has("calls")) return;
    if (!r) {
      const clusters = [...rows("cluster").values()].map((c) => [c.name, c.ns, c.state, c.nodes, c.answer]);
      const gone = view.selected && meta() && !meta().errors ? "It is no longer there: " + view.selected.split("/").slice(1).join("/") : "";
      put(places.head, gone, () => (gone ? [h("p", { class: "note" }, gone)] : []));
      put(places.why, JSON.stringify([clusters, meta() && [meta().local, meta().errors]]), welcome);
      return;
    }
    const t = titleOf(key, r);
    put(places.head, JSON.stringify([t, r.reason, r.message]), () => [
      h("p", { class: "note" }, t.kind), h("h2", { tabindex: -1 }, t.state ? mark(t.state) : "", t.name),
      t.state && t.state !== "ok" ? h("p", { class: "state " + t.state }, [stateNames[t.state], r.reason].filter(Boolean).join(" · ")) : "",
      r.message ? h("pre", { class: "message" }, r.message) : ""]);
    const pairs = facts(key, r);
    put(places.known, JSON.stringify([pairs, r.rules]), () => [h("dl", {}, ...pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])), r.rules ? ruleTable(r) : ""]);
    const what = key.split("/")[0];
    if (what === "object" || what === "pod" || what === "node") {
      const cluster = r.kind === "Cluster" ? r.name : r.cluster, ns = key.split("/")[what === "object" ? 2 : 1];
      if (!asked && !busy) put(places.why, "asking", () => [h("h3", {}, "Why"), h("p", { class: "note" }, "Looking…")]);
      const due = !asked || changed.has("object") || changed.has("pod") || changed.has("node");
      if (due && !timer) timer = setTimeout(() => { timer = 0; question(key, cluster, ns); }, asked ? Math.max(0, 2500 - (Date.now() - asked)) : 0);
    }
    if (r.kind === "Machine" && (!console || console.ended && !console.lines && changed.has("vm"))) {
      console = new Console();
      log.replaceChildren(console.root);
      console.follow(key, r.cluster);
    }
  };
}
