// One visit: what the server says is shown, what the person does is sent. Turns are numbered, so a
// page that lags behind, in a second tab or after a double click, does nothing.

const KEPT = "agentgym-shop";
let state = null;
let busy = false;
let shows = 0;

const searchForm = (() => {
  const input = el("input", { type: "search", id: "q", required: true, maxlength: "1000", autocomplete: "off", spellcheck: "false", placeholder: "Search the shop", "aria-label": "Search the shop", "aria-keyshortcuts": "/" });
  const glass = svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" },
    svg("circle", { cx: 8.5, cy: 8.5, r: 5.5 }), svg("path", { d: "M12.8 12.8 17 17" }));
  const go = el("button", { type: "submit", class: "glass", "aria-label": "Search" }, glass);
  const element = el("form", { role: "search", class: "search", onsubmit: (event) => {
    event.preventDefault();
    if (input.value.trim()) send({ search: input.value });
  } }, input, go);
  return { element, input, go };
})();

/** Ask the server; its complaints are shown. */
async function ask(what, body) {
  let answer;
  let content;
  try {
    answer = await fetch(`api/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    content = await answer.json();
  } catch {
    throw new Error("The shop does not answer. Is agentgym serve still running?");
  }
  if (answer.ok) return content;
  const problem = new Error(content.error || `The shop answers with ${answer.status}.`);
  problem.status = answer.status;
  throw problem;
}

/** Do something that ends with a new state, one thing at a time. */
async function change(what, body) {
  if (busy) return false;
  busy = true;
  document.documentElement.setAttribute("aria-busy", "true");
  try {
    show(await ask(what, body));
    return true;
  } catch (problem) {
    await recover(problem);
    return false;
  } finally {
    busy = false;
    document.documentElement.removeAttribute("aria-busy");
  }
}

/** Take the last turn's page where this one lags behind; begin again where the visit is gone. */
async function recover(problem) {
  try {
    if (problem.status === 409) show(await ask("look", { session: state.session }));
    else if (problem.status === 410) show(await ask("begin", state ? taskOf(state) : {}));
  } catch (further) {
    problem = further;
  }
  complain(problem.message);
}

const taskOf = ({ task }) => ({ split: task.split, index: task.index, seed: task.seed });

function send(action) {
  return change("act", { session: state.session, turn: state.turn, ...action });
}

function begin(asked) {
  return change("begin", { session: state ? state.session : null, ...asked });
}

function complain(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

/** Show a state. */
function show(next) {
  const before = state;
  const focused = document.activeElement?.dataset?.action;
  const inside = document.activeElement?.closest("#page, #agent, #others, .search, .end") != null;
  state = next;
  sessionStorage.setItem(KEPT, state.session);
  complain("");
  showStrip();
  showPage(state, searchForm);
  showSaid(state);
  showAround();
  showEnd();
  showAgent(state, send);
  $("strip").hidden = $("columns").hidden = false;
  const began = !before || state.turn === 0;
  const moved = began || whereabouts(before) !== whereabouts(state) || state.stop_reason;
  if (state.kind !== "index") searchForm.input.value = state.query;
  else if (began || moved) searchForm.input.value = "";
  if (moved) scrollTo({ top: 0 });
  if (inside || began) settle(moved ? null : focused);
  document.title = `${places().at(-1) || "WebShop"} \u00b7 WebShop`;
  announce(state.stop_reason ? "The episode is over" : `${places().at(-1) || "Search page"}, turn ${state.turn} of ${state.horizon}`);
  document.documentElement.dataset.ready = String(++shows);
}

const whereabouts = (one) => [one.kind, one.query, one.number, one.product, one.sub].join("\n");

/** Put the focus where the person goes on: the same button, the search box, or the page. */
function settle(action) {
  const same = action && [...$("page").querySelectorAll("[data-action]")].find((each) => each.dataset.action === action);
  if (same) same.focus();
  else if (state.stop_reason) $("end").focus();
  else if (state.kind === "index") searchForm.input.focus();
  else $("page").focus({ preventScroll: true });
}

function showStrip() {
  $("turn").textContent = `Turn ${state.turn} of ${state.horizon}`;
  $("meter").max = state.horizon;
  $("meter").value = state.turn;
  $("reward").textContent = number(state.reward);
  $("task").textContent = `${state.task.split} task ${number(state.task.index)} of ${number(state.splits[state.task.split])}, seed ${state.task.seed}`;
  $("task").title = state.task.id;
  const { file, written, waiting, problem } = state.record;
  $("record").textContent = file == null ? "Not recorded" : waiting ? `${plural(waiting, "episode")} not written yet` : `${plural(written, "episode")} recorded in ${file}`;
  $("record").title = problem;
  $("record").classList.toggle("bad", Boolean(problem));
}

/** Show what stands around the page: where it is, the task where the page does not say it, controls that it lacks. */
function showAround() {
  const path = places();
  $("where").hidden = !path.length;
  $("where").replaceChildren(...path.map((name) => el("span", { dir: "auto" }, name)));
  $("wanted").hidden = state.page.some((part) => part.kind === "instruction");
  $("wanted").replaceChildren(el("p", { class: "instruction", dir: "auto" }, state.goal));
  const empty = !state.page.some((part) => part.box || part.kind === "detail");
  const hints = { results: "No products on this page.", sub: "The shop has nothing here." };
  $("aside").hidden = !(empty && hints[state.kind]);
  $("aside").textContent = hints[state.kind] || "";
  $("others").hidden = !state.others.length;
  $("others").replaceChildren(...state.others.map((part) => partElement({ ...part, before: "", after: "" }, false)));
  for (const each of $("others").children) each.removeAttribute("data-part");
}

/** Name the pages from the search to the present one. */
function places() {
  const sub = state.sub && state.sub[0].toUpperCase() + state.sub.slice(1);
  if (state.kind === "index") return [];
  const found = [`Results for "${state.query}", page ${state.number}`];
  if (state.product) found.push(state.mode === "compact" ? "Product" : `Product ${state.product}`);
  if (state.kind === "sub") found.push(sub);
  if (state.kind === "done") found.push("Bought");
  return found;
}

/** Say how the episode ended. */
function showEnd() {
  const box = $("end");
  box.hidden = !state.stop_reason;
  box.replaceChildren();
  if (!state.stop_reason) return;
  const size = state.splits[state.task.split];
  const bought = state.kind === "done";
  const ending = state.success ? "Just what was asked for" : bought ? "Bought, but not all that was asked for" : "The turns are used up";
  const { written, waiting, file, problem } = state.record;
  box.classList.toggle("solved", state.success);
  box.classList.toggle("partly", !state.success && state.score > 0);
  box.append(
    el("h2", {}, ending),
    el("p", { class: "figures" }, el("span", {}, "Score ", el("b", {}, number(state.score))), el("span", {}, "Reward ", el("b", {}, number(state.reward))), el("span", {}, plural(state.turn, "turn"))),
    el("div", { class: "row" },
      el("button", { type: "button", class: "main", id: "next-task", onclick: () => begin({ ...taskOf(state), index: (state.task.index + 1) % size }) }, "Next task"),
      el("button", { type: "button", class: "ghost", id: "again", onclick: () => begin(taskOf(state)) }, "Play it again")),
    file != null && el("p", { class: problem ? "bad" : "muted" }, waiting ? `Not written yet: ${problem}` : `Written to ${file}, episode ${number(written)} of this server.`),
    el("details", {}, el("summary", {}, "What the reward is made of"), table([...Object.entries(state.terms), ...Object.entries(state.details)], told)),
  );
}

/** Show or hide what the agent sees. */
function toggleAgent(open) {
  $("agent").hidden = !open;
  $("columns").classList.toggle("two", open);
  $("agent-button").setAttribute("aria-pressed", String(open));
  sessionStorage.setItem(`${KEPT}-agent`, open ? "1" : "");
  if (open && innerWidth < 1000) $("agent").scrollIntoView();
}

function openTasks() {
  const { task, splits } = state;
  $("split").replaceChildren(...Object.keys(splits).map((name) => el("option", { value: name, selected: name === task.split }, name)));
  $("index").value = task.index;
  $("seed").value = task.seed;
  $("task-id").value = "";
  hintTasks();
  $("task-dialog").showModal();
}

function hintTasks() {
  const size = state.splits[$("split").value];
  $("index").max = size - 1;
  $("task-hint").textContent = `${$("split").value} has tasks 0 to ${number(size - 1)}. An empty field leaves the choice to the seed.`;
}

/** Begin the task that the form names. */
async function startTask(event) {
  event.preventDefault();
  const id = $("task-id").value.trim();
  const index = $("index").value === "" ? {} : { index: Number($("index").value) };
  const asked = id ? { task_id: id } : { split: $("split").value, ...index };
  $("task-dialog").close();
  await begin({ ...asked, seed: Number($("seed").value) });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action]");
  if (button && !button.disabled) send({ action: button.dataset.action });
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, dialog");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  searchForm.input.select();
  searchForm.input.focus();
});
$("agent-button").addEventListener("click", () => toggleAgent($("agent").hidden));
$("task-button").addEventListener("click", () => state && openTasks());
$("task-cancel").addEventListener("click", () => $("task-dialog").close());
$("task-again").addEventListener("click", () => {
  $("task-dialog").close();
  begin(taskOf(state));
});
$("split").addEventListener("change", hintTasks);
$("task-form").addEventListener("submit", startTask);
toggleAgent(Boolean(sessionStorage.getItem(`${KEPT}-agent`)));

/** Go on with this tab's visit, or begin one. */
(async () => {
  const kept = sessionStorage.getItem(KEPT);
  try {
    show(kept ? await ask("look", { session: kept }).catch(() => ask("begin", {})) : await ask("begin", {}));
  } catch (problem) {
    complain(problem.message);
    document.documentElement.dataset.ready = "failed";
  }
})();
