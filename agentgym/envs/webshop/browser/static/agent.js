// What the agent sees: the observation as it is, the actions it is offered, what its turns paid.

/** Show a state to the person as the agent has it. */
function showAgent(state, send) {
  const over = Boolean(state.stop_reason);
  const equal = pageText() === state.observation;
  const content = [
    el("h2", {}, "What the agent sees"),
    section(
      `Observation (${state.mode}, ${plural(state.observation.length, "character")})`,
      raw("observation", state.observation),
      el("p", { class: equal ? "check good" : "check bad", id: "equal" },
        equal ? "The text of the page is this observation." : "The text of the page is not this observation."),
    ),
    section(
      `Admissible actions (${number(state.admissible.length)})`,
      el("ul", { class: "actions", id: "admissible" }, state.admissible.map((action) =>
        el("li", {}, raw("", action, "button", { type: "button", "data-action": action })))),
      el("form", { class: "own", id: "own", onsubmit: (event) => {
        event.preventDefault();
        send({ action: $("own-action").value });
      } },
      el("label", { class: "hidden", for: "own-action" }, "An action in the agent's words"),
      el("input", { id: "own-action", autocomplete: "off", spellcheck: "false", disabled: over, maxlength: "4096", placeholder: "an action in the agent's words" }),
      el("button", { class: "ghost", disabled: over }, "Send")),
    ),
    section(`Turns (${state.turn} of ${state.horizon})`, turnList(state)),
    over && section("Reward terms", table(Object.entries(state.terms), signed)),
    el("details", {}, el("summary", {}, "How it is told to act"), raw("", state.prompt)),
  ];
  $("agent").replaceChildren(...content.filter(Boolean));
}

function section(title, ...content) {
  return el("section", {}, el("h3", {}, title), ...content);
}

/** Make an element that shows text as it is. */
function raw(id, text, tag = "pre", more = {}) {
  const made = el(tag, { ...more, id: id || null, class: "raw", dir: "auto" });
  made.append(text);
  return made;
}

function turnList(state) {
  if (!state.turns.length) return el("p", { class: "muted" }, "None yet.");
  return el("ol", { class: "turns" }, state.turns.map((turn) =>
    el("li", {}, raw("", turn.action, "code"),
      el("span", { class: turn.valid ? "muted" : "bad" }, turn.valid ? signed(turn.reward) : turn.reason || "not understood"))));
}

function table(rows, write) {
  return el("dl", { class: "table" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, write(value)))));
}

/** Write a value of the details of a purchase. */
function told(value) {
  if (isNumber(value)) return number(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
