// The page of an episode, or of two that are paired.

const PAGE_TURNS = 100;
const GOAL_LINES = 6;
let page = null;
let asked = 0;

/** Show an episode; what is there already is kept when only the turn has changed. */
async function showEpisode() {
  const row = runs[state.run].byKey.get(state.key);
  if (page && page.item === row.item) {
    chooseSide(state.run);
    return goToTurn(state.turn);
  }
  const ticket = ++asked;
  page = null;
  select();
  const at = list.shown.indexOf(row.item);
  if (at >= 0) list.at = at;
  let loaded;
  try {
    loaded = await Promise.all(row.item.rows.map((one) => one && load(one)));
  } catch (error) {
    throw new Error(`episode ${row.key} cannot be read (${error.message}); was the file cut?`);
  }
  if (ticket !== asked) return; // another episode was asked for meanwhile
  const sides = loaded.map((episode, run) => episode && prepare(episode, row.item.rows[run], run));
  page = { item: row.item, sides, shown: 0, turns: new Map(), turn: null };
  build();
  chooseSide(state.run);
  goToTurn(state.turn);
}

function prepare(episode, row, run) {
  return {
    episode, row, run,
    returns: running(episode.turns),
    most: largest(episode.turns.map((turn) => turn.reward_terms)),
    sameState: repeatedStates(episode),
  };
}

const sidesOf = () => page.sides.filter(Boolean);
const lastTurn = () => Math.max(...sidesOf().map((side) => side.episode.turns.length));

/** Return the first turn in which two episodes act differently; null where there is none. */
function firstDifference() {
  const [a, b] = page.sides;
  if (!a || !b) return null;
  for (let i = 0; i < lastTurn(); i++)
    if (a.episode.turns[i]?.executed !== b.episode.turns[i]?.executed) return i + 1;
  return null;
}

function build() {
  const view = $("episode-view");
  const two = sidesOf().length > 1;
  const one = sidesOf()[0];
  page.list = el("ol", { class: "turns", start: 0 });
  page.more = el("button", { type: "button", class: "more-turns", onclick: () => drawTurns(page.shown + PAGE_TURNS) });
  page.difference = firstDifference();
  view.replaceChildren(
    bar(two),
    el("div", { class: two ? "episode two" : "episode", id: "episode" },
      el("header", { class: "lead" },
        el("h1", {}, line(one.row.task || "(no task)", 300)),
        one.episode.goal && el("div", { class: "goal" }, block(one.episode.goal, one.episode.goal.includes("```") ? "" : "prose", GOAL_LINES)),
        compares() && el("p", { class: "muted" }, pairing()),
        page.difference !== null && el("button", { type: "button", class: "ghost", onclick: () => go({ turn: page.difference }) },
          `First different action: turn ${page.difference} `, el("kbd", {}, "d"))),
      el("div", { class: "sides" }, sidesOf().map(overview)),
      page.list, page.more));
  view.scrollTop = 0;
  drawTurns(PAGE_TURNS);
  view.focus({ preventScroll: true });
  announce(`Episode ${plainLine(one.row.key)}, task ${plainLine(one.row.task, 100)}`);
}

function pairing() {
  if (sidesOf().length < 2) return `Only run ${NAMES[sidesOf()[0].run]} has this episode.`;
  if (page.sides[0].row.paired_by === "seed") return "Paired by task, seed and options.";
  return "Paired by task; seed or options differ.";
}

/** The bar that stays: back, where we are, on, and the side that is shown on narrow screens. */
function bar(two) {
  const at = list.shown.indexOf(page.item);
  const where = at < 0 ? "outside of the filter" : `${number(at + 1)} of ${number(list.shown.length)}`;
  const button = (label, key, action, off) =>
    el("button", { type: "button", class: "ghost", "aria-keyshortcuts": key, disabled: off, onclick: action }, label);
  return el("nav", { class: "bar", "aria-label": "Episodes" },
    button("\u2190 List", "Escape", toList, false),
    el("span", { class: "where" }, where),
    button("Previous", "k", () => moveEpisode(-1), at <= 0),
    button("Next", "j", () => moveEpisode(1), at < 0 || at + 1 >= list.shown.length),
    two && el("span", { class: "switch", role: "group", "aria-label": "Run shown" }, page.sides.map((side, run) =>
      el("button", { type: "button", class: `ghost side-${"ab"[run]}`, "data-run": run, onclick: () => goToSide(run) }, NAMES[run]))));
}

/** What an episode is and came to: figures, the return, the sum of each term, the turns at a glance. */
function overview(side) {
  const { episode, row } = side;
  const counts = (name) => {
    const known = episode.turns.map((turn) => turn[name]).filter(isNumber);
    return known.length ? known.reduce((a, b) => a + b, 0) : null;
  };
  const tokens = [["prompt tokens", "prompt_tokens"], ["cached", "cached_tokens"], ["completion tokens", "completion_tokens"], ["reasoning", "reasoning_tokens"]]
    .map(([label, name]) => [label, counts(name)]).filter(([, count]) => count !== null);
  side.chart = returnChart(side.returns, (turn) => go({ run: side.run, key: row.key, turn }));
  return el("section", { class: `overview of-${"ab"[side.run]}`, "data-run": side.run, "aria-label": `Run ${NAMES[side.run]}` },
    compares() && el("h2", {}, badge(side.run), " ", line(facts.runs[side.run].name, 60)),
    el("p", { class: "verdict" }, drawEnd(row), el("span", { class: "muted" }, line([row.policy, row.part, row.split].filter((t, i, all) => t && all.indexOf(t) === i).join(" \u00b7 "), 120))),
    el("dl", { class: "figures" },
      figure("score", number(row.score)), figure("return", number(row.return)), figure("turns", number(row.turns)),
      tokens.map(([label, count]) => figure(label, short(count)))),
    failure(side),
    episode.turns.length > 0 && el("div", { class: "pictures" }, side.chart.figure,
      Object.keys(row.terms).length > 0 && el("figure", { class: "sums" }, el("figcaption", {}, "Reward terms, summed"), termBars(row.terms, largest([row.terms])))),
    strip(side), calls(episode), settings(episode));
}

/** Say what ended the episode from outside, in the words of what failed or of the endpoint. */
function failure({ episode, row }) {
  const { error, unanswered_action: action } = episode.details || {};
  if (error == null) return null;
  return el("div", { class: "notice bad", role: "note" }, el("h3", {}, failed(row) ? "The episode is broken" : "What ended the episode"), value(error),
    action != null && [el("h4", {}, "Action that was never answered"), value(action)]);
}

/** The turns at a glance, each a link: valid or not, paid or not. */
function strip(side) {
  const cells = side.episode.turns.slice(0, 400).map((turn, i) => {
    const kind = !turn.action_valid ? "bad" : turn.reward > 0 ? "good" : turn.reward < 0 ? "warn" : "";
    const about = `Turn ${i + 1}${turn.action_valid ? "" : ", invalid"}, reward ${signed(turn.reward)}${turn.reason ? `: ${plainLine(turn.reason, 100)}` : ""}`;
    return el("li", {}, el("a", { class: kind, "data-turn": i + 1, "aria-label": about, title: about,
      href: address({ run: side.run, key: side.row.key, turn: i + 1, filters: state.filters }) }, turn.action_valid ? i + 1 : "\u00d7"));
  });
  return el("ol", { class: "strip", "aria-label": "Turns" }, cells);
}

/** What an agent asked of its model: several calls may come before a turn, or none. */
function calls({ extra }) {
  const made = Array.isArray(extra?.calls) ? extra.calls.slice(0, 400) : [];
  if (!made.length) return null;
  const about = (call, i) => `Call ${i + 1}, after turn ${number(call.turn)}: ${number(call.prompt_tokens)} tokens read, ${number(call.completion_tokens)} written`;
  return el("details", { class: "settings" }, el("summary", {}, `Calls of the model (${number(made.length)})`),
    el("dl", {}, made.map((call, i) => el("div", {}, el("dt", {}, about(call, i)), el("dd", {}, value(call.text))))));
}

function settings(episode) {
  const { error, unanswered_action: _, ...details } = episode.details || {};
  const { calls: __, ...extra } = episode.extra || {};
  const all = { environment: episode.env_id, seed: episode.seed, options: episode.options, ...prefixed(details), ...extra, ...episode.settings };
  const known = Object.entries(all).filter(([, content]) => content != null && JSON.stringify(content) !== "{}");
  return el("details", { class: "settings" }, el("summary", {}, "Details and settings"),
    el("dl", {}, known.map(([name, content]) => el("div", {}, el("dt", {}, line(name, 80)), el("dd", {}, value(content))))));
}

const prefixed = (details) => Object.fromEntries(Object.entries(details).map(([name, content]) => ["details: " + name, content]));

/** Draw turns up to a number; a long episode is drawn in pages. */
function drawTurns(wanted) {
  const end = Math.min(wanted, lastTurn());
  const rows = [];
  for (let index = page.shown ? page.shown + 1 : 0; index <= end; index++) rows.push(turnRow(index));
  page.list.append(...rows);
  page.shown = end;
  page.more.hidden = end >= lastTurn();
  page.more.textContent = `Show more turns (${number(end)} of ${number(lastTurn())})`;
}

function turnRow(index) {
  const two = sidesOf().length > 1;
  const cards = sidesOf().map((side) => {
    const there = index <= side.episode.turns.length;
    const content = !there ? el("p", { class: "muted" }, `${NAMES[side.run]} had ended: ${plainLine(endWords(side.row), 60)}`) : index ? turnCard(side, index - 1) : startCard(side.episode);
    return el("article", { class: there ? "card" : "card gone", "data-run": side.run, "aria-label": two ? `Turn ${index}, run ${NAMES[side.run]}` : `Turn ${index}` },
      two && badge(side.run), content);
  });
  const row = el("li", { class: index === page.difference ? "turn differs" : "turn", tabindex: -1, "data-turn": index,
    onclick: () => { if (!String(getSelection())) go({ turn: index }); } }, cards);
  page.turns.set(index, row);
  return row;
}

/** Mark a turn and bring it into view. */
function goToTurn(turn) {
  if (turn !== null) turn = Math.min(turn, lastTurn());
  if (turn !== null && turn > page.shown) drawTurns(turn + 5);
  const before = page.turns.get(page.turn);
  if (before) {
    before.removeAttribute("aria-current");
    before.classList.remove("at");
  }
  for (const side of sidesOf()) side.chart.mark(turn);
  for (const cell of $("episode").querySelectorAll(".strip a")) cell.classList.toggle("at", cell.dataset.turn === String(turn));
  const changed = page.turn !== turn;
  page.turn = turn;
  const row = page.turns.get(turn);
  if (!row) return;
  row.classList.add("at");
  row.setAttribute("aria-current", "step");
  if (!changed) return;
  const box = row.getBoundingClientRect();
  const view = $("episode-view").getBoundingClientRect();
  if (!row.matches(":hover") || box.top < view.top + 40 || box.top > view.bottom - 80) row.scrollIntoView({ block: "start" });
  row.focus({ preventScroll: true });
}

function moveTurn(step) {
  const from = state.turn ?? (step > 0 ? -1 : 1);
  go({ turn: Math.max(0, Math.min(lastTurn(), from + step)) });
}

function moveEpisode(step) {
  const at = list.shown.indexOf(state.key == null ? null : runs[state.run].byKey.get(state.key).item);
  const next = list.shown[at < 0 ? list.at : at + step];
  if (!next) return announce(step > 0 ? "This is the last episode." : "This is the first episode.");
  openItem(next, false);
}

/** Show the other run where only one has room. */
function goToSide(run) {
  const side = page.sides[run];
  if (side) go({ run, key: side.row.key });
}

function chooseSide(run) {
  $("episode").dataset.side = run;
  for (const button of $("episode-view").querySelectorAll(".switch button"))
    button.setAttribute("aria-pressed", String(button.dataset.run === String(run)));
}

const toList = () => go({ run: null, key: null, turn: null }, true);
