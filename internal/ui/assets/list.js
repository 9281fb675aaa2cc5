import { h } from "./dom.js";

// VirtualList shows rows of one height and has elements only for those that are seen.
// Its element keeps the focus; aria-activedescendant names the active row.
export class VirtualList {
  // draw(item) returns a row's element, same(a, b) whether two items look alike.
  constructor(root, { height, draw, pick, role, label }) {
    Object.assign(this, { root, height, draw, pick, items: [], shown: new Map(), active: "", serial: 0 });
    this.inner = h("div", { class: "rows", role: "presentation" });
    root.append(this.inner);
    root.classList.add("list");
    if (role) root.setAttribute("role", role);
    if (label) root.setAttribute("aria-label", label);
    root.tabIndex = 0;
    root.addEventListener("scroll", () => this.render(), { passive: true });
    root.addEventListener("keydown", (e) => this.key(e));
    root.addEventListener("click", (e) => { // assistive technology clicks, without a mouse
      const el = e.target.closest("[data-at]");
      if (el && this.inner.contains(el)) this.go(Number(el.dataset.at), true);
    });
    new ResizeObserver(() => this.render()).observe(root);
  }

  // set replaces the items, each {key, sign, ...}: an item with the same key and sign
  // keeps its element.
  set(items) {
    this.items = items;
    this.render();
  }

  render() {
    const top = this.root.scrollTop, seen = this.root.clientHeight || 400;
    const from = Math.max(0, Math.floor(top / this.height) - 6);
    const to = Math.min(this.items.length, Math.ceil((top + seen) / this.height) + 6);
    this.inner.style.height = this.items.length * this.height + "px";
    const kept = new Map();
    let activeID = "";
    for (let i = from; i < to; i++) {
      const item = this.items[i];
      let old = this.shown.get(item.key);
      if (!old || old.sign !== item.sign) {
        const el = this.draw(item);
        el.classList.add("row");
        el.id = (old && old.el.id) || this.root.id + "-" + this.serial++;
        if (old) old.el.replaceWith(el);
        else this.inner.append(el);
        old = { el, sign: item.sign };
      }
      const el = old.el, active = item.key === this.active;
      if (el.dataset.at !== String(i)) {
        el.dataset.at = i;
        el.style.transform = "translateY(" + i * this.height + "px)";
      }
      if (el.classList.contains("active") !== active) {
        el.classList.toggle("active", active);
        el.setAttribute("aria-selected", String(active));
      }
      if (active) activeID = el.id;
      kept.set(item.key, old);
    }
    for (const [key, old] of this.shown) if (kept.get(key) !== old && !kept.has(key)) old.el.remove();
    this.shown = kept;
    if (this.root.getAttribute("aria-activedescendant") !== activeID) {
      if (activeID) this.root.setAttribute("aria-activedescendant", activeID);
      else this.root.removeAttribute("aria-activedescendant");
    }
  }

  // mark makes the row of a key the active one.
  mark(key, reveal) {
    this.active = key;
    const at = this.items.findIndex((item) => item.key === key);
    if (at >= 0 && reveal) this.reveal(at);
    this.render();
  }

  reveal(at) {
    const top = at * this.height, seen = this.root.clientHeight;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top + this.height > this.root.scrollTop + seen) this.root.scrollTop = top + this.height - seen;
  }

  go(at, picked) {
    const item = this.items[Math.max(0, Math.min(this.items.length - 1, at))];
    if (!item) return;
    this.mark(item.key, true);
    if (picked !== false && this.pick) this.pick(item);
  }

  at() { return this.items.findIndex((item) => item.key === this.active); }

  key(e) {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.height) - 1), at = this.at();
    const to = { ArrowDown: at + 1, ArrowUp: Math.max(0, at - 1), Home: 0, End: this.items.length - 1, PageDown: Math.max(0, at) + page, PageUp: Math.max(0, at - page) }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    this.go(to);
  }
}
