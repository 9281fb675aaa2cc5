import { fit, h, s, stateNames, stateRank } from "./dom.js";
import { machineOf, row, rows, select, view } from "./store.js";

// A Sheet is an SVG of shapes with keys: what stays keeps its element.
class Sheet {
  constructor(svg) { this.svg = svg; this.old = new Map(); this.next = null; this.order = 0; }
  begin() { this.next = new Map(); }
  // put adds a shape, below those that were put before.
  put(key, tag, attrs, text, make) {
    let shape = this.old.get(key);
    if (!shape) {
      shape = { el: s(tag), attrs: {}, text: undefined };
      if (make) make(shape.el);
      this.svg.append(shape.el);
    }
    for (const [name, value] of Object.entries(attrs)) {
      if (shape.attrs[name] === value) continue;
      if (value === undefined) shape.el.removeAttribute(name);
      else shape.el.setAttribute(name, value);
    }
    for (const name of Object.keys(shape.attrs)) if (!(name in attrs)) shape.el.removeAttribute(name);
    shape.attrs = attrs;
    if (shape.text !== text) { shape.el.textContent = text || ""; shape.text = text; }
    this.next.set(key, shape);
  }
  end() {
    for (const [key, shape] of this.old) if (!this.next.has(key)) shape.el.remove();
    // A shape that came later than those it should be under is moved there.
    let last = null;
    for (const shape of this.next.values()) {
      if (last ? last.nextSibling !== shape.el : this.svg.firstChild !== shape.el) this.svg.insertBefore(shape.el, last ? last.nextSibling : this.svg.firstChild);
      last = shape.el;
    }
    this.old = this.next;
  }
}

const sizes = { pad: 14, card: 176, cardHigh: 58, gap: 10, cell: 20, cellGap: 4, many: 24, side: 206, rules: 300, rule: 18 };

// byGroup gathers what each resource group holds.
function byGroup() {
  const groups = new Map();
  const of = (name) => {
    const key = (name || "no resource group").toLowerCase();
    if (!groups.has(key)) groups.set(key, { name: name || "no resource group", vnets: [], subnets: new Map(), lbs: [], sets: [], vms: [] });
    return groups.get(key);
  };
  const sorted = (section) => [...rows(section)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, r] of sorted("vnet")) of(r.group).vnets.push({ key, ...r });
  for (const [key, r] of sorted("subnet")) {
    const g = of(r.group);
    if (!g.subnets.has(r.vnet)) g.subnets.set(r.vnet, []);
    g.subnets.get(r.vnet).push({ key, ...r });
  }
  for (const [key, r] of sorted("lb")) of(r.group).lbs.push({ key, ...r });
  for (const [key, r] of sorted("set")) of(r.group).sets.push({ key, ...r });
  for (const [key, r] of sorted("vm")) of(r.group).vms.push({ key, ...r });
  return [...groups.values()].sort((a, b) => worstOf(a) - worstOf(b) || (a.name < b.name ? -1 : 1));
}

const worstOf = (g) => Math.min(3, ...g.vms.map((v) => stateRank[v.state]));

// draws one resource group from y on and returns where it ends.
function drawGroup(sheet, g, y, width) {
  const k = (part) => g.name + "|" + part;
  const top = y;
  sheet.put(k("frame"), "rect", { class: "frame" });
  const bad = g.vms.filter((v) => v.state === "bad").length;
  sheet.put(k("title"), "text", { x: sizes.pad, y: y + 24, class: "title" }, fit(g.name, width * 0.42, true));
  const location = g.vnets.map((v) => v.location).find(Boolean);
  const sum = [location, g.vms.length + (g.vms.length === 1 ? " VM" : " VMs"), bad ? bad + " in trouble" : ""].filter(Boolean).join(" · ");
  sheet.put(k("sum"), "text", { x: width - sizes.pad, y: y + 24, class: bad ? "sum bad" : "sum", "text-anchor": "end" }, sum);
  y += 38;
  const beside = width > 640 && g.lbs.length > 0;
  const left = sizes.pad + (beside ? sizes.side + 34 : 0), right = width - sizes.pad;
  let yLB = y;
  const lbs = new Map();
  for (const lb of g.lbs) {
    const w = beside ? sizes.side : right - sizes.pad;
    const members = g.vms.filter((v) => (v.lbs || []).includes(lb.key)).length;
    const lines = [(lb.internal ? "internal" : "public") + " load balancer", [(lb.ips || []).join(", "), (lb.ports || []).slice(0, 3).join(", ")].filter(Boolean).join("  ·  ") || "no rule", members + (members === 1 ? " backend" : " backends")];
    box(sheet, lb.key, sizes.pad, yLB, w, 74, "lb", fit(lb.name, w - 20, true), lines.map((l) => fit(l, w - 20)), "Load balancer " + lb.name + ", " + lines.join(", "));
    lbs.set(lb.key, yLB + 37);
    yLB += 84;
  }
  if (!beside) y = yLB;
  const drawn = new Set(), places = new Map();
  for (const net of g.vnets) {
    const from = y;
    sheet.put(net.key, "rect", { class: "vnet" });
    sheet.put(net.key + "|t", "text", { x: left + 12, y: y + 20, class: "name" }, fit(net.name, (right - left) * 0.45, true));
    sheet.put(net.key + "|p", "text", { x: right - 12, y: y + 20, class: "small", "text-anchor": "end" }, fit(["virtual network", ...(net.prefixes || [])].join(" · "), (right - left) * 0.48));
    y += 30;
    for (const sub of g.subnets.get(net.key) || []) {
      places.set(sub.key, y + 20);
      y = drawSubnet(sheet, g, sub, left + 10, y, right - left - 20, drawn) + 10;
    }
    sheet.put(net.key, "rect", { class: "vnet", x: left, y: from, width: right - left, height: y - from, rx: 8 });
    y += 10;
  }
  const lost = g.vms.filter((v) => !drawn.has(v.key));
  if (lost.length) {
    sheet.put(k("lost"), "text", { x: left, y: y + 14, class: "small" }, "in no subnet that is known");
    y = drawVMs(sheet, lost, left, y + 22, right - left) + 10;
  }
  if (beside) {
    y = Math.max(y, yLB);
    for (const [lb, at] of lbs) {
      for (const [sub, to] of places) {
        const n = g.vms.filter((v) => v.subnet === sub && (v.lbs || []).includes(lb)).length;
        if (!n) continue;
        const x1 = sizes.pad + sizes.side, x2 = left + 10;
        sheet.put(lb + "|" + sub, "path", { class: "wire", d: `M${x1} ${at} C${x1 + 22} ${at} ${x2 - 22} ${to} ${x2} ${to}` });
      }
    }
  }
  sheet.put(k("frame"), "rect", { class: "frame", x: 0.5, y: top + 0.5, width: width - 1, height: y - top, rx: 10 });
  return y + 18;
}

// box is a rectangle with a name and lines, that can be chosen.
function box(sheet, key, x, y, w, high, kind, name, lines, label) {
  const chosen = view.selected === key;
  sheet.put(key, "rect", { class: "box " + kind + (chosen ? " chosen" : ""), x, y, width: w, height: high, rx: 6, "data-key": key, role: "button", tabindex: -1, "aria-label": label });
  sheet.put(key + "|n", "text", { x: x + 10, y: y + 20, class: "name" }, name);
  lines.forEach((line, i) => sheet.put(key + "|" + i, "text", { x: x + 10, y: y + 37 + i * 15, class: "small" }, line));
}

function drawSubnet(sheet, g, sub, x, y, width, drawn) {
  const from = y;
  sheet.put(sub.key, "rect", { class: "subnet" });
  const words = [(sub.prefixes || []).join(", "), sub.nat ? "NAT " + sub.nat : ""].filter(Boolean).join(" · ");
  sheet.put(sub.key + "|n", "text", { x: x + 12, y: y + 20, class: "name" }, fit(sub.name, width * 0.45, true));
  sheet.put(sub.key + "|p", "text", { x: x + width - 12, y: y + 20, class: "small", "text-anchor": "end" }, fit(words, width * 0.48));
  y += 32;
  const group = sub.nsg && row(sub.nsg);
  const beside = width > 560 && group;
  const inner = width - 24 - (beside ? sizes.rules + 16 : 0);
  let end = y;
  const own = g.vms.filter((v) => v.subnet === sub.key && !v.set);
  const sets = g.sets.filter((set) => set.subnet === sub.key || g.vms.some((v) => v.set === set.key && v.subnet === sub.key));
  for (const v of own) drawn.add(v.key);
  if (own.length) end = drawVMs(sheet, own, x + 12, end, inner) + 4;
  for (const set of sets) {
    const members = g.vms.filter((v) => v.set === set.key);
    for (const v of members) drawn.add(v.key);
    const start = end;
    sheet.put(set.key, "rect", { class: "set" });
    sheet.put(set.key + "|n", "text", { x: x + 22, y: end + 20, class: "name" }, fit(set.name, inner * 0.4, true));
    sheet.put(set.key + "|s", "text", { x: x + 2 + inner, y: end + 20, class: "small", "text-anchor": "end" }, fit(`scale set · ${members.length} of ${set.capacity} · ${set.size}`, inner * 0.5));
    end = (members.length ? drawVMs(sheet, members, x + 22, end + 30, inner - 20) : end + 30) + 4;
    sheet.put(set.key, "rect", { class: "set" + (view.selected === set.key ? " chosen" : ""), x: x + 12, y: start, width: inner, height: end - start, rx: 6, "data-key": set.key, role: "button", tabindex: -1, "aria-label": `Scale set ${set.name}, ${members.length} of ${set.capacity} instances` });
    end += 8;
  }
  if (!own.length && !sets.length) {
    sheet.put(sub.key + "|e", "text", { x: x + 12, y: end + 16, class: "small faint" }, "no machine here");
    end += 26;
  }
  if (group) {
    const rx = beside ? x + width - sizes.rules - 8 : x + 12, ry = beside ? y : end + 4, rw = beside ? sizes.rules - 4 : width - 24;
    const last = drawRules(sheet, sub.nsg, group, rx, ry, rw);
    end = Math.max(end, last);
  }
  end += 8;
  sheet.put(sub.key, "rect", { class: "subnet", x, y: from, width, height: end - from, rx: 6 });
  return end;
}

// drawRules lists the first rules of a security group.
function drawRules(sheet, key, group, x, y, width) {
  const rules = [...(group.rules || [])].sort((a, b) => Number(b.inbound) - Number(a.inbound) || a.priority - b.priority);
  const shown = rules.slice(0, rules.length > 5 ? 4 : 5);
  const high = 28 + Math.max(1, shown.length + (rules.length > shown.length ? 1 : 0)) * sizes.rule + 4;
  const label = `Security group ${group.name}, ${rules.length} rules`;
  sheet.put(key, "rect", { class: "box nsg" + (view.selected === key ? " chosen" : ""), x, y, width, height: high, rx: 6, "data-key": key, role: "button", tabindex: -1, "aria-label": label });
  sheet.put(key + "|n", "text", { x: x + 10, y: y + 19, class: "name" }, fit(group.name, width - 70, true));
  sheet.put(key + "|c", "text", { x: x + width - 10, y: y + 19, class: "small", "text-anchor": "end" }, "NSG");
  shown.forEach((r, i) => {
    const at = y + 38 + i * sizes.rule;
    sheet.put(key + "|d" + i, "text", { x: x + 10, y: at, class: r.allow ? "allow" : "deny" }, r.allow ? "✓" : "✕");
    sheet.put(key + "|r" + i, "text", { x: x + 26, y: at, class: "small" }, fit(`${r.priority} ${r.name}`, width * 0.54 - 26));
    sheet.put(key + "|p" + i, "text", { x: x + width - 10, y: at, class: "small", "text-anchor": "end" }, fit(`${r.inbound ? "in" : "out"} ${r.protocol} ${r.ports || "*"}`, width * 0.4));
  });
  const rest = rules.length - shown.length;
  if (rest || !rules.length) sheet.put(key + "|more", "text", { x: x + 26, y: y + 38 + shown.length * sizes.rule, class: "small faint" }, rules.length ? `and ${rest} more` : "no rule beside Azure's own");
  return y + high;
}

// stageText is how far a VM is, in words.
const stageText = (v) => v.state === "ok" ? "ready" : v.message || (v.boot.now && v.boot.done < v.boot.of ? v.boot.now : v.phase || stateNames[v.state]);

// drawVMs draws machines as cards, or as cells where they are many. Each fills up as it boots.
function drawVMs(sheet, vms, x, y, width) {
  const many = vms.length > sizes.many;
  // Cards come problems first; cells keep their places, so that a change is seen.
  vms = [...vms].sort((a, b) => (many ? 0 : stateRank[a.state] - stateRank[b.state]) || (a.name < b.name ? -1 : 1));
  const w = many ? sizes.cell : Math.min(sizes.card, width), high = many ? sizes.cell : sizes.cardHigh, gap = many ? sizes.cellGap : sizes.gap;
  const columns = Math.max(1, Math.floor((width + gap) / (w + gap)));
  vms.forEach((v, i) => {
    const at = x + (i % columns) * (w + gap), top = y + Math.floor(i / columns) * (high + gap);
    const part = v.state === "ok" ? 1 : v.boot.of ? v.boot.done / v.boot.of : 0;
    const key = v.machine || v.key, chosen = view.selected === key || view.selected === v.key;
    const label = `${v.name}, ${v.os || "unknown system"}, ${stateNames[v.state]}, ${stageText(v)}`;
    const shape = { class: "vm " + v.state + (chosen ? " chosen" : ""), "data-key": key, role: "button", tabindex: -1, "aria-label": label };
    sheet.put(v.key, "rect", { ...shape, x: at, y: top, width: w, height: high, rx: many ? 3 : 6 });
    if (many) {
      sheet.put(v.key + "|f", "rect", { class: "fill cell " + v.state, x: at + 3, y: top + 3 + (high - 6) * (1 - part), width: w - 6, height: (high - 6) * part, rx: 1.5 });
      return;
    }
    sheet.put(v.key + "|n", "text", { x: at + 10, y: top + 18, class: "name" }, fit(v.name, w - 20, true));
    sheet.put(v.key + "|d", "text", { x: at + 10, y: top + 34, class: "small" }, fit(v.state === "ok" ? [v.os, v.address].filter(Boolean).join(" · ") : stageText(v), w - 20));
    sheet.put(v.key + "|b", "rect", { class: "track", x: at + 10, y: top + high - 14, width: w - 20, height: 6, rx: 3 });
    sheet.put(v.key + "|f", "rect", { class: "fill " + v.state, x: at + 10, y: top + high - 14, width: Math.max(2, (w - 20) * part), height: 6, rx: 3 });
  });
  return y + Math.ceil(vms.length / columns) * (high + gap) - gap + 6;
}

// makePicture shows the resources of Azure.
export function makePicture(root) {
  const svg = s("svg", { class: "picture", role: "group", "aria-label": "Azure resources. Arrow keys go from one to the next.", tabindex: 0 });
  const empty = h("p", { class: "empty" });
  const legend = h("p", { class: "legend" }, ...["ok", "wait", "bad", "gone"].map((state) => h("span", {}, h("span", { class: "key " + state, "aria-hidden": "true" }), stateNames[state])), h("span", { class: "hint" }, "A machine fills up as it boots."));
  const scroll = h("div", { class: "scroll" }, legend, svg, empty);
  root.append(scroll);
  const sheet = new Sheet(svg);
  svg.addEventListener("click", (e) => { const at = e.target.closest("[data-key]"); if (at) select(at.dataset.key); });
  svg.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    const all = [...svg.querySelectorAll("[data-key]")], at = all.indexOf(document.activeElement);
    if (step && all.length) {
      e.preventDefault();
      const next = all[(at + step + all.length) % all.length];
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    } else if ((e.key === "Enter" || e.key === " ") && at >= 0) {
      e.preventDefault();
      select(all[at].dataset.key);
    }
  });
  return (changed) => {
    if (!["vnet", "subnet", "nsg", "lb", "set", "vm", "view", "all", "meta"].some((name) => changed.has(name))) return;
    const groups = byGroup(), width = Math.max(300, scroll.clientWidth - 32);
    empty.hidden = groups.length > 0;
    legend.hidden = groups.length === 0;
    svg.classList.toggle("none", groups.length === 0);
    empty.textContent = rows("meta").size ? "There is nothing in Azure yet. What a cluster needs appears here as it is created." : "Reading…";
    sheet.begin();
    let y = 0;
    for (const g of groups) y = drawGroup(sheet, g, y, width);
    sheet.end();
    svg.setAttribute("width", width);
    svg.setAttribute("height", Math.max(1, y));
    svg.setAttribute("viewBox", `0 0 ${width} ${Math.max(1, y)}`);
  };
}

export const keyOfVM = (machine) => { for (const [key, v] of rows("vm")) if (v.machine === machine || key === machine) return key; return ""; };
