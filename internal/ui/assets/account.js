import { cut, h } from "./dom.js";
import { meta, query, view } from "./store.js";

const table = (caption, heads, lines) => h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...heads.map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, ...lines));

// quotaLine is a quota with a bar; what is full is named in words too.
function quotaLine(q) {
  const full = q.used >= q.limit, part = q.limit ? Math.min(1, q.used / q.limit) : 1;
  return h("tr", { class: full ? "bad" : "" }, h("th", { scope: "row" }, q.name), h("td", {}, q.location), h("td", { class: "number" }, `${q.used} of ${q.limit}`),
    h("td", {}, h("span", { class: "meter", "aria-hidden": "true" }, h("span", { vars: { "--part": part } })), full ? " used up" : ""));
}

function eventLine(e) {
  const verb = e.operation.split("/").slice(1).join("/") || e.operation;
  return h("tr", { class: e.status === "Failed" ? "bad" : "" }, h("td", { class: "number" }, new Date(e.at).toLocaleTimeString()), h("th", { scope: "row", title: e.resource }, cut(e.resource, 44)),
    h("td", { class: "long" }, verb), h("td", {}, e.status), h("td", { class: "long", title: e.by }, cut(e.by, 20)));
}

function show(account) {
  const quotas = account.quotas.length ? table("Quotas in use, the fullest first", ["Quota", "Region", "Used", ""], account.quotas.map(quotaLine)) : h("p", { class: "empty" }, "No quota is in use.");
  const events = account.events.length ? table("Activity log of a day, the newest first", ["Time", "Resource", "Operation", "Result", "By"], account.events.map(eventLine)) : h("p", { class: "empty" }, "The activity log has no entry.");
  return [h("div", { class: "tables" }, quotas), h("div", { class: "tables" }, events)];
}

// makeAccount shows the quotas and the activity log, which are read when the view is opened and when somebody asks.
export function makeAccount(root) {
  const body = h("div", { "aria-live": "polite" });
  const again = h("button", { type: "button", onclick: () => read() }, "Read again");
  root.append(h("div", { class: "scroll" }, view.saved ? "" : h("p", { class: "again" }, again), body));
  let of = null;
  async function read() {
    if (view.saved) {
      body.replaceChildren(...(view.saved.account ? show(view.saved.account) : [h("p", { class: "empty" }, "This report has no quotas and no activity log.")]));
      return;
    }
    again.disabled = true;
    try {
      const answer = await fetch("account?" + query({}));
      body.replaceChildren(...(answer.ok ? show(await answer.json()) : [h("p", { class: "empty" }, await answer.text())]));
    } catch (e) {
      body.replaceChildren(h("p", { class: "empty" }, "It could not be read: " + e.message));
    }
    again.disabled = false;
  }
  return () => {
    if (!meta() || of === view.context) return;
    of = view.context;
    body.replaceChildren(h("p", { class: "empty" }, "Reading…"));
    read();
  };
}
