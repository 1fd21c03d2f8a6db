// The small pictures: the running return as a line, reward terms as signed bars.

const WIDE = 600;
const HIGH = 84;
const EDGE = 6;

/** Return the running return after each turn, from 0 at the start. */
function running(turns) {
  let sum = 0;
  return [0, ...turns.map((turn) => (sum += isNumber(turn.reward) ? turn.reward : 0))];
}

/** Draw the running return; `select` is called with a turn that is clicked. */
function returnChart(values, select) {
  const low = Math.min(0, ...ends(values));
  const high = Math.max(0, ...ends(values));
  const span = high - low || 1;
  const x = (turn) => EDGE + (turn * (WIDE - 2 * EDGE)) / Math.max(1, values.length - 1);
  const y = (value) => HIGH - EDGE - ((value - low) * (HIGH - 2 * EDGE)) / span;
  const points = values.map((value, turn) => `${x(turn).toFixed(1)},${y(value).toFixed(1)}`);
  const zero = y(0).toFixed(1);
  const area = `M${x(0)},${zero} L${points.join(" L")} L${x(values.length - 1)},${zero} Z`;
  const cursor = svg("line", { class: "cursor", y1: 0, y2: HIGH, x1: -9, x2: -9 });
  const last = values[values.length - 1];
  const about = `Running return: ends at ${number(last)}, lowest ${number(low)}, highest ${number(high)}`;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "line-chart", role: "img", "aria-label": about },
    svg("line", { class: "zero", x1: EDGE, x2: WIDE - EDGE, y1: zero, y2: zero }),
    svg("path", { class: "area", d: area }),
    svg("polyline", { class: "return", points: points.join(" ") }),
    cursor,
  );
  if (values.length <= 80)
    values.forEach((value, turn) => {
      const dot = svg("circle", { class: "dot", cx: x(turn), cy: y(value), r: 3 });
      dot.append(svg("title", {}, `turn ${turn}: ${number(value)}`));
      picture.append(dot);
    });
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * WIDE - EDGE;
    const turn = Math.round((share / (WIDE - 2 * EDGE)) * (values.length - 1));
    select(Math.max(0, Math.min(values.length - 1, turn)));
  });
  const mark = (turn) => {
    const at = turn == null || turn >= values.length ? -9 : x(turn);
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
  };
  const caption = el(
    "figcaption", {},
    el("span", {}, "Running return"), el("b", {}, number(last)),
    el("span", { class: "muted" }, low < 0 || high > last ? `${number(low)} to ${number(high)}` : ""),
  );
  return { figure: el("figure", { class: "chart" }, caption, picture), mark };
}

/** Return the smallest and the largest of many values (too many for arguments of a call). */
function ends(values) {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

/** Draw reward terms as bars to both sides of zero; `most` is the length of a full one. */
function termBars(terms, most) {
  const rows = Object.entries(terms).map(([name, part]) => {
    const share = isNumber(part) && most > 0 ? Math.min(1, Math.abs(part) / most) : 0;
    const fill = el("span", { class: part < 0 ? "fill minus" : "fill plus" });
    fill.style.setProperty("--share", share);
    return el(
      "li", { class: share ? "" : "nil" },
      el("span", { class: "term" }, line(name, 60)),
      el("span", { class: "track", "aria-hidden": "true" }, fill),
      el("span", { class: "amount" }, signed(part)),
    );
  });
  return el("ul", { class: "terms", "aria-label": "Reward terms" }, rows);
}

/** Return the largest size of a term. */
function largest(tables) {
  let most = 0;
  for (const table of tables)
    for (const part of Object.values(table || {})) if (isNumber(part)) most = Math.max(most, Math.abs(part));
  return most;
}

/** Draw a score in [0, 1] as a short bar with its number. */
function scoreBar(score) {
  const bar = el("span", { class: "score-bar", "aria-hidden": "true" }, el("span"));
  bar.firstChild.style.setProperty("--share", isNumber(score) ? Math.max(0, Math.min(1, score)) : 0);
  return el("span", { class: "score" }, bar, el("span", { class: "num" }, isNumber(score) ? score.toFixed(2) : number(score)));
}
