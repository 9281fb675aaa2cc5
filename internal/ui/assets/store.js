// The store holds the rows of the model by section, which is the first part of a key,
// and what is selected.
const sections = new Map();
const readers = new Set();
let dirty = new Set();
let scheduled = false;
const none = new Map();

export const rows = (section) => sections.get(section) || none;
export const row = (key) => rows(key.slice(0, key.indexOf("/"))).get(key);
export const meta = () => rows("meta").get("meta");
export const view = { selected: "", tab: "azure", filter: "", troubled: false, link: "wait", saved: null, context: "" };

// query makes the parameters of a request, with the context that is shown.
export const query = (parts) => new URLSearchParams(view.context ? { ...parts, context: view.context } : parts);

// onChange calls fn with the changed sections, at most once a frame.
export function onChange(fn) { readers.add(fn); }

// touch says that something changed: a section, or "view".
export function touch(...names) {
  for (const name of names) dirty.add(name);
  if (scheduled) return;
  scheduled = true;
  const draw = () => {
    scheduled = false;
    const now = dirty;
    dirty = new Set();
    for (const fn of readers) fn(now);
  };
  if (document.hidden) setTimeout(draw, 250);
  else requestAnimationFrame(draw);
}

function sectionOf(key) {
  const at = key.indexOf("/");
  return at < 0 ? key : key.slice(0, at);
}

// apply makes the change that the server sent.
export function apply(change) {
  if (change.full) {
    for (const name of sections.keys()) touch(name);
    sections.clear();
  }
  for (const [key, value] of Object.entries(change.set || {})) {
    const name = sectionOf(key);
    if (!sections.has(name)) sections.set(name, new Map());
    sections.get(name).set(key, value);
    touch(name);
  }
  for (const key of change.gone || []) {
    rows(sectionOf(key)).delete(key);
    touch(sectionOf(key));
  }
  touch("meta");
}

// select chooses a row for the panel, by its key. The address keeps it for a reload.
export function select(key) {
  if (view.selected === key) return;
  view.selected = key;
  remember();
  touch("view");
}

export function remember() {
  const parts = new URLSearchParams({ tab: view.tab });
  if (view.selected) parts.set("select", view.selected);
  if (view.context) parts.set("context", view.context);
  history.replaceState(null, "", "#" + parts);
}

// machineOf is the key that stands for a row in all views: a machine's where it has one.
export function machineOf(key) {
  const r = row(key);
  return (r && r.machine) || key;
}
