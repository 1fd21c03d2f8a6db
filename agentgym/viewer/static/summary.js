// The head of the list: figures of what is shown. What differs in environment, part or policy is
// never averaged together; it stands in the rows of a table.

const MOST_PARTS = 200;
const PART_NAMES = { env: "Environment", part: "Part", policy: "Policy" };

/** Sum up what is shown: a line of figures where a run has one part, else a table of all parts. */
function summarize() {
  const sides = runs.map((_, side) => list.shown.map((item) => item.rows[side]).filter(Boolean));
  const parts = sides.flatMap((rows, side) => partsOf(rows).map((part) => ({ side, rows: part, figures: measure(part, side) })));
  const single = sides.every((rows) => partsOf(rows).length < 2);
  const pairs = partsOf(list.shown.filter(PAIRS.both), (item) => item.rows[0])
    .map((both) => ({ rows: both.map((item) => item.rows[0]), figures: measurePairs(both) }));
  $("summary").replaceChildren(
    ...(single ? sides.map(figuresOf) : [partsTable(parts)]),
    ...(pairs.length > 1 ? [partsTable(pairs, "Paired, B \u2212 A")] : pairs.map(pairedFigures)),
    ...lost(parts));
}

/** Part rows, or what holds them, by environment, part and policy. */
function partsOf(all, rowOf = (row) => row) {
  const parts = new Map();
  for (const one of all) {
    const { env, part, policy } = rowOf(one);
    const key = JSON.stringify([env, part, policy]);
    if (!parts.has(key)) parts.set(key, []);
    parts.get(key).push(one);
  }
  return [...parts.values()];
}

/** Measure the episodes of one part: labels, values and tones; a value is null where it says nothing. */
function measure(rows, side) {
  const valid = rows.filter((row) => !failed(row));
  const turns = valid.reduce((sum, row) => sum + row.turns, 0);
  const invalid = valid.reduce((sum, row) => sum + row.invalid, 0);
  const tokens = rows.map((row) => row.tokens).filter(isNumber);
  const broken = rows.length - valid.length;
  const planned = rows.length + unplayed(rows, side);
  const own = (row) => row;
  return [
    ["episodes", number(rows.length)],
    ["mean score", number(taskMean(valid, own, (row) => row.score)), "strong"],
    ["solved", percent(taskMean(valid, own, (row) => (row.success ? 1 : 0))), "strong"],
    ["solved, at least", planned > valid.length ? percent(valid.filter((row) => row.success).length / planned) : null, "bad"],
    ["mean return", number(mean(valid.map((row) => row.return).filter(isNumber)))],
    ["mean turns", number(valid.length ? turns / valid.length : null, 1)],
    ["invalid actions", turns ? percent(invalid / turns) : number(null), invalid ? "warn" : ""],
    ["tokens", tokens.length ? short(tokens.reduce((a, b) => a + b, 0)) : null],
    ["broken", broken ? number(broken) : null, "bad"],
  ];
}

/** Measure the pairs of one part. */
function measurePairs(both) {
  const pairs = both.filter((item) => item.difference !== null);
  const change = taskMean(pairs, (item) => item.rows[0], (item) => item.difference);
  const better = pairs.filter((item) => item.difference > 0).length;
  const worse = pairs.filter((item) => item.difference < 0).length;
  const broken = both.length - pairs.length;
  return [
    ["pairs", number(pairs.length)],
    ["score", signed(change), tone(change)],
    ["B better", number(better)],
    ["B worse", number(worse)],
    ["same", number(pairs.length - better - worse)],
    ["left out, one broken", broken ? number(broken) : null, "bad"],
  ];
}

/** Count the episodes of a part that were planned and never played; none if only some are shown. */
function unplayed(rows, side) {
  const source = facts.runs[side].sources.find(({ part }) => part === rows[0]?.part);
  if (!source || source.planned == null || source.cut || rows.length < source.episodes) return 0;
  return Math.max(0, source.planned - source.episodes);
}

/** Say in words what no mean holds. */
function lost(parts) {
  const rows = parts.flatMap((part) => part.rows);
  const broken = rows.filter(failed).length;
  const missing = parts.reduce((sum, { rows, side }) => sum + unplayed(rows, side), 0);
  const told = [
    broken && `${number(broken)} of ${plural(rows.length, "episode")} ${broken === 1 ? "is" : "are"} broken: the environment or the endpoint failed.`,
    missing && `${plural(missing, "planned episode")} ${missing === 1 ? "was" : "were"} not played.`,
  ].filter(Boolean);
  if (!told.length) return [];
  told.push("Means leave them out; \u201csolved, at least\u201d counts them as not solved.");
  return [el("p", { class: "notice bad", role: "note" }, told.join(" "))];
}

function figuresOf(rows, side) {
  const all = runs[side].length;
  const who = compares() && el("div", { class: "who" }, el("dt", {}, badge(side)), el("dd", {}, line(facts.runs[side].name, 40)));
  const [[label, count], ...others] = measure(rows, side);
  const shown = rows.length === all ? count : `${count} of ${number(all)}`;
  return el("dl", { class: "figures" }, who, figure(label, shown),
    rows.length > 0 && told(others));
}

function pairedFigures({ figures }) {
  const who = el("div", { class: "who" }, el("dt", {}, "Paired"), el("dd", {}, "B \u2212 A"));
  return el("dl", { class: "figures paired" }, who, told(figures));
}

const told = (figures) => figures.filter(([, text]) => text !== null).map((one) => figure(...one));

/** Show parts as rows of what tells them apart and of their figures; the name of one chooses it. */
function partsTable(parts, caption = "") {
  const names = Object.keys(PART_NAMES).filter((name) => new Set(parts.map(({ rows }) => rows[0][name])).size > 1);
  const labels = parts[0].figures.map(([label]) => label);
  const columns = [...labels.keys()].filter((at) => parts.some(({ figures }) => figures[at][1] !== null));
  const body = parts.slice(0, MOST_PARTS).map(({ rows: [row], side, figures }) => {
    const part = Object.fromEntries(names.map((name) => [name, row[name] || " "]));
    const choose = () => go({ filters: { ...state.filters, ...part } });
    const [first, ...others] = names.map((name) => line(row[name] || "(none)", 60));
    return el("tr", {},
      el("th", { scope: "row", class: "name" }, compares() && side != null && [badge(side), " "],
        el("button", { type: "button", onclick: choose }, first)),
      others.map((name) => el("td", { class: "name" }, name)),
      columns.map((at) => drawFigure(...figures[at])));
  });
  const more = parts.length - body.length;
  if (more > 0) body.push(el("tr", {}, el("td", { class: "name muted", colspan: names.length + columns.length }, `and ${number(more)} more: filter`)));
  const head = [...names.map((name) => el("th", { scope: "col", class: "name" }, PART_NAMES[name])),
    ...columns.map((at) => el("th", { scope: "col" }, labels[at]))];
  return el("div", { class: "parts", tabindex: 0, role: "region", "aria-label": caption || "Figures of each part" },
    el("table", {}, caption && el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

const drawFigure = (label, text, kind = "") => el("td", { class: text === null ? "muted" : kind, "data-label": label }, text ?? number(null));

const tone = (change) => (change > 0 ? "good" : change < 0 ? "bad" : "");

function figure(label, text, kind = "") {
  return el("div", {}, el("dt", {}, label), el("dd", { class: kind }, text));
}

/** Average as reports do: episodes of one task make one observation, each task counts the same. */
function taskMean(all, rowOf, of) {
  const tasks = new Map();
  for (const one of all) {
    const { task } = rowOf(one);
    if (!tasks.has(task)) tasks.set(task, []);
    if (isNumber(of(one))) tasks.get(task).push(of(one));
  }
  return mean([...tasks.values()].map(mean).filter(isNumber));
}

const badge = (side) => el("span", { class: `side side-${"ab"[side]}` }, NAMES[side]);
