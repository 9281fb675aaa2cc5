// A search over the sections of the book: all words have to be there; those in headings count more.
const field = document.getElementById("search"), list = document.getElementById("found"), contents = document.getElementById("contents");
const root = document.body.dataset.root;
const texts = index.map((s) => [s.t.toLowerCase(), s.x.toLowerCase(), (s.o || "").toLowerCase()]);

function find(words) {
  const hits = [];
  index.forEach((section, i) => {
    let score = 0;
    for (const w of words) {
      const title = texts[i][0].includes(w), text = texts[i][1].includes(w), page = texts[i][2].includes(w);
      if (!title && !text && !page) return;
      score += (title ? 10 : 0) + (page ? 2 : 0) + (text ? 1 : 0) + (texts[i][0].split(/[^a-z0-9]+/).includes(w) ? 10 : 0);
    }
    hits.push([score, section, texts[i][1].indexOf(words[0])]);
  });
  return hits.sort((a, b) => b[0] - a[0] || (a[1].p < b[1].p ? -1 : 1)).slice(0, 30);
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter((w) => w.length > 1);
  contents.hidden = words.length > 0;
  list.replaceChildren();
  if (!words.length) return;
  const hits = find(words);
  if (!hits.length) list.textContent = "Nothing is found.";
  for (const [, section, at] of hits) {
    const link = document.createElement("a"), text = document.createElement("p");
    link.href = root + section.p;
    link.textContent = section.o ? section.o + ": " + section.t : section.t;
    text.textContent = section.x.slice(Math.max(0, at - 40), Math.max(0, at - 40) + 140);
    list.append(link, text);
  }
}
field.addEventListener("input", show);
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== field) { e.preventDefault(); field.focus(); }
  if (e.key === "Escape") { field.value = ""; show(); }
});

// Other versions of the book, where there are some: the same page of one, or its first page where it has not that.
if (versions.length > 1) {
  const { home, page, version } = document.body.dataset, choice = document.createElement("select");
  choice.setAttribute("aria-label", "Version of the book");
  for (const v of versions) choice.append(new Option(v.name, home + v.dir + (v.pages.includes(page) ? page : "index.html"), false, v.name === version));
  choice.addEventListener("change", () => { location.href = choice.value; });
  document.getElementById("version").replaceWith(choice);
}
