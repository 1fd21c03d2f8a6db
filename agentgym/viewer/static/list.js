// The list of episodes: filters, order, and rows that exist while they are in view.

const FACETS = [
  { id: "env", label: "Environment", of: (row) => [row.env] },
  { id: "part", label: "Part", of: (row) => [row.part] },
  { id: "split", label: "Split", of: (row) => [row.split] },
  { id: "policy", label: "Policy", of: (row) => [row.policy] },
  { id: "outcome", label: "Outcome", of: (row) => [outcome(row)] },
  { id: "stop", label: "Stop reason", of: (row) => [row.stop], say: reasonWords },
  { id: "term", label: "Reward term", of: (row) => row.paying },
  { id: "actions", label: "Actions", of: (row) => [row.invalid ? "some invalid" : "all valid"] },
  { id: "finish", label: "Finish reason", of: (row) => row.finish },
];
const PAIRS = {
  both: (item) => item.rows[0] && item.rows[1],
  "B better": (item) => item.difference > 0,
  "B worse": (item) => item.difference < 0,
  "same score": (item) => item.difference === 0,
  "only A": (item) => !item.rows[1],
  "only B": (item) => !item.rows[0],
};
const ORDERS = [
  { id: "", label: "Order of the file" },
  { id: "score", label: "Score", of: (row) => row.score },
  { id: "difference", label: "B \u2212 A", item: (item) => item.difference },
  { id: "return", label: "Return", of: (row) => row.return },
  { id: "turns", label: "Turns", of: (row) => row.turns },
  { id: "tokens", label: "Tokens", of: (row) => row.tokens },
  { id: "term", label: "Term", of: (row) => row.terms[state.filters.term] },
];
const list = { shown: [], at: 0, drawn: new Map(), filters: null };

function outcome(row) {
  if (failed(row)) return "broken";
  return row.success ? "solved" : "not solved";
}

/** Make the filters that can tell episodes apart. */
function buildFilters() {
  const all = runs.flat();
  const box = $("facets");
  for (const facet of FACETS) {
    const counts = new Map();
    for (const row of all) for (const name of facet.of(row)) counts.set(name, (counts.get(name) || 0) + 1);
    const telling = counts.size > 1 || [...counts.values()].some((count) => count < all.length);
    if (telling) box.append(choice(facet.id, facet.label, [...counts].sort((a, b) => b[1] - a[1]), "any", facet.say));
  }
  if (compares()) {
    const counts = Object.entries(PAIRS).map(([name, test]) => [name, items.filter(test).length]);
    box.append(choice("pair", "Pairs", counts.filter(([, count]) => count)));
  }
  const orders = ORDERS.filter((order) => order.id !== "difference" || compares());
  box.append(choice("sort", "Sort by", orders.flatMap(({ id, label }) =>
    id ? [["-" + id, `${label}, high first`], [id, `${label}, low first`]] : []), ORDERS[0].label));
  $("q").addEventListener("input", (event) => filter("q", event.target.value));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", () => go({ filters: {} }));
  $("more").addEventListener("click", () => {
    const open = $("filters").classList.toggle("open");
    $("more").setAttribute("aria-expanded", String(open));
  });
}

function choice(id, label, values, none = "any", say = String) {
  const options = values.map(([name, about]) => {
    const text = plainLine(say(name), 60) || "(none)";
    return el("option", { value: String(name) || " " }, isNumber(about) ? `${text} (${number(about)})` : about);
  });
  const select = el("select", { name: id, onchange: (event) => filter(id, event.target.value) },
    el("option", { value: "" }, none), options);
  return el("label", { class: "facet" }, el("span", {}, label), select);
}

function filter(id, value) {
  const filters = { ...state.filters, [id]: value };
  if (!value) delete filters[id];
  if (id === "term" && !value && /term$/.test(filters.sort || "")) delete filters.sort;
  go({ filters });
}

/** Choose and order what is shown; `list.at` stays on its episode. */
function select() {
  const key = JSON.stringify(state.filters);
  if (list.filters === key) return;
  list.filters = key;
  const current = list.shown[list.at];
  const words = (state.filters.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  const facets = FACETS.filter(({ id }) => state.filters[id]);
  const fits = (row) =>
    facets.every(({ id, of }) => of(row).some((name) => (String(name) || " ") === state.filters[id])) &&
    words.every((word) => haystack(row).includes(word));
  const pair = Object.hasOwn(PAIRS, state.filters.pair || "") ? PAIRS[state.filters.pair] : () => true;
  list.shown = items.filter((item) => pair(item) && present(item).some(fits));
  order(list.shown);
  list.at = Math.max(0, list.shown.indexOf(current));
  list.drawn.forEach((row) => row.remove());
  list.drawn.clear();
  buildHead();
  summarize();
  syncFilters();
}

function haystack(row) {
  row.hay ??= `${row.task}\n${row.goal}`.toLowerCase();
  return row.hay;
}

/** Sort by the order asked for; what has no such number stands last. */
function order(shown) {
  const asked = state.filters.sort || "";
  const found = ORDERS.find(({ id }) => id && id === asked.replace(/^-/, ""));
  if (!found) return;
  const sign = asked.startsWith("-") ? -1 : 1;
  const measure = (item) => (found.item ? found.item(item) : found.of(present(item)[0]));
  const keys = new Map(shown.map((item) => [item, measure(item)]));
  shown.sort((x, y) => {
    const [a, b] = [keys.get(x), keys.get(y)];
    if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
    return (isNumber(a) ? sign * (a - b) : 0) || x.order - y.order;
  });
}

/** Put the filters of the state into their controls. */
function syncFilters() {
  if (document.activeElement !== $("q")) $("q").value = state.filters.q || "";
  for (const control of $("facets").querySelectorAll("select")) {
    control.value = state.filters[control.name] || "";
    control.closest("label").classList.toggle("on", Boolean(control.value));
  }
  const active = Object.keys(state.filters).filter((id) => id !== "sort" && state.filters[id]).length;
  $("clear").hidden = !Object.keys(state.filters).length;
  $("more").textContent = active ? `Filters (${active})` : "Filters";
  announce(plural(list.shown.length, "episode"));
}

/** Name the columns; those that can be sorted by are buttons. */
function columns() {
  const term = state.filters.term;
  const row = (id, label, draw, kind = "num") => ({ id, label, kind, draw: (item) => draw(present(item)[0]) });
  const both = (id, label, draw, kind = "num two") => ({
    id, label, kind,
    draw: (item) => item.rows.map((one, side) => el("span", { class: `of of-${"ab"[side]}` }, one ? draw(one) : "\u2013")),
  });
  const make = compares() ? both : row;
  const some = (of) => runs.some((side) => side.some((one) => isNumber(of(one))));
  return [
    { id: null, label: "Task", kind: "task", draw: drawTask },
    make("score", "Score", (one) => scoreBar(one.score), compares() ? "two" : "num"),
    compares() && { id: "difference", label: "B \u2212 A", kind: "num diff", draw: drawDifference },
    term && make("term", plainLine(term, 24), (one) => signed(one.terms[term] ?? null)),
    make("return", "Return", (one) => number(one.return, 2)),
    make("turns", "Turns", (one) => number(one.turns)),
    some((one) => one.tokens) && make("tokens", "Tokens", (one) => short(one.tokens)),
    make(null, "Ended", drawEnd, compares() ? "end two" : "end"),
  ].filter(Boolean);
}

function drawTask(item) {
  const row = present(item)[0];
  const sideMark = compares() && !(item.rows[0] && item.rows[1]) && el("em", {}, `only ${NAMES[row.run]} `);
  const also = [row.part, row.policy].filter((text, i, all) => text && all.indexOf(text) === i).join(" \u00b7 ");
  const link = el("a", { href: address({ run: row.run, key: row.key, turn: null, filters: state.filters }), class: "open" },
    line(row.task || "(no task)", 120));
  return [
    el("span", { class: "first" }, sideMark, link),
    el("span", { class: "second" }, compares() ? null : also && el("span", { class: "also" }, line(also, 60)), line(row.goal, 200)),
  ];
}

function drawDifference(item) {
  if (item.difference === null) return "";
  const sign = item.difference > 0 ? "\u25b2 " : item.difference < 0 ? "\u25bc " : "";
  return el("span", { class: tone(item.difference) }, sign + signed(item.difference));
}

function drawEnd(row) {
  const kind = failed(row) ? "bad" : row.success ? "good" : "dull";
  const sign = failed(row) ? "!" : row.success ? "\u2713" : "\u00d7";
  return [
    el("span", { class: "stop " + kind, title: row.error ? plainLine(row.error, 300) : null },
      el("span", { "aria-hidden": "true" }, sign), line(endWords(row) || "(none)", 24)),
    row.invalid > 0 && el("span", { class: "stop warn", title: "turns whose action was not valid" }, `${number(row.invalid)} invalid`),
  ];
}

function buildHead() {
  list.columns = columns();
  const asked = state.filters.sort || "";
  const cells = list.columns.map(({ id, label, kind }) => {
    const sorted = id && asked.replace(/^-/, "") === id;
    const direction = sorted ? (asked.startsWith("-") ? "descending" : "ascending") : null;
    const arrow = sorted ? (direction === "descending" ? " \u2193" : " \u2191") : "";
    const next = direction === "descending" ? id : direction === "ascending" ? "" : "-" + id;
    const content = id ? el("button", { type: "button", onclick: () => filter("sort", next) }, label + arrow) : label;
    return el("div", { role: "columnheader", class: "cell " + kind, "aria-sort": direction }, content);
  });
  $("head").replaceChildren(el("div", { role: "row", class: "row" }, cells));
  $("table").style.setProperty("--columns", template());
  $("table").setAttribute("aria-rowcount", list.shown.length + 1);
  $("table").classList.toggle("compare", compares());
}

function template() {
  const widths = { task: "minmax(12rem, 1fr)", end: compares() ? "9rem" : "10rem" };
  return list.columns.map(({ kind, id }) => widths[kind.split(" ")[0]] || (id === "score" ? "8rem" : "5.5rem")).join(" ");
}

const rowHeight = () => parseFloat(getComputedStyle($("table")).getPropertyValue("--row-height"));

/** Draw the rows that are in view. */
function drawRows() {
  const box = $("scroll");
  const height = rowHeight();
  $("space").style.height = list.shown.length * height + "px";
  $("head").style.paddingRight = box.offsetWidth - box.clientWidth + "px"; // as wide as the scroll bar
  const first = Math.max(0, Math.floor(box.scrollTop / height) - 6);
  const last = Math.min(list.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + 6);
  for (const [index, row] of list.drawn)
    if (index < first || index >= last) {
      row.remove();
      list.drawn.delete(index);
    }
  for (let index = first; index < last; index++) {
    if (!list.drawn.has(index)) {
      list.drawn.set(index, drawRow(list.shown[index], index));
      $("space").append(list.drawn.get(index));
    }
    const row = list.drawn.get(index);
    row.style.transform = `translateY(${index * height}px)`;
    row.classList.toggle("at", index === list.at);
  }
  if (!list.shown.length && !$("space").firstChild)
    $("space").append(el("p", { class: "nothing" }, "No episode fits these filters."));
  else if (list.shown.length) $("space").querySelector(".nothing")?.remove();
}

function drawRow(item, index) {
  const cells = list.columns.map(({ kind, label, draw }) =>
    el("div", { role: "cell", class: "cell " + kind, "data-label": label }, draw(item)));
  return el("div", { role: "row", class: "row", "aria-rowindex": index + 2,
    onclick: (event) => {
      if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      list.at = index;
      openItem(item);
    } }, cells);
}

function openItem(item, push = true) {
  const row = present(item)[0];
  go({ run: row.run, key: row.key, turn: null }, push);
}

/** Move the mark in the list, and bring it into view. */
function moveMark(to) {
  list.at = Math.max(0, Math.min(list.shown.length - 1, to));
  reveal();
  drawRows();
  list.drawn.get(list.at)?.querySelector("a")?.focus({ preventScroll: true });
}

function reveal() {
  const box = $("scroll");
  const top = list.at * rowHeight();
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight() > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight() - box.clientHeight;
}

function showList(returning) {
  select();
  if (returning) reveal();
  drawRows();
  if (returning && list.shown.length) list.drawn.get(list.at)?.querySelector("a")?.focus({ preventScroll: true });
}
