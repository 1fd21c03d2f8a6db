// One turn: what the model wrote, what was done, what came back, and what it paid.

const WHY_LINES = 4;
const NORMAL_ENDS = new Set(["stop", "tool_calls", "end_turn"]);

/** Show the first observation. */
function startCard(episode) {
  const state = episode.start;
  return [
    el("header", { class: "turn-head" }, el("h3", {}, "Start")),
    el("div", { class: "turn-body" },
      el("div", { class: "lane" }, lane("env", "Observation", block(state.observation))),
      el("aside", { class: "numbers" }, numbers([["Score", number(state.score)], ...about(state)]))),
  ];
}

/** Show a turn; `side` holds the episode and what is the same for all its turns. */
function turnCard(side, index) {
  const turn = side.episode.turns[index];
  const seen = side.sameState[index];
  const reason = turn.finish_reason;
  const agent = (index ? side.episode.turns[index - 1].after : side.episode.start).agent;
  return [
    el("header", { class: "turn-head" },
      el("h3", {}, `Turn ${index + 1}`),
      agent && el("span", { class: "tag", title: "who acted" }, line(agent, 30)),
      el("span", { class: turn.action_valid ? "tag good" : "tag bad" }, turn.action_valid ? "\u2713 valid" : "\u00d7 invalid action"),
      turn.success && el("span", { class: "tag good" }, "solved"),
      turn.truncated && el("span", { class: "tag warn" }, "turn budget spent"),
      reason && el("span", { class: NORMAL_ENDS.has(reason) ? "tag" : "tag warn", title: "why the model stopped" }, "finish: ", line(reason, 30)),
      seen !== null && el("span", { class: "tag", title: "the environment's state has the same key" }, `state as after ${seen ? "turn " + seen : "the start"}`),
      turn.reason && el("div", { class: "why" }, block(turn.reason, "prose", WHY_LINES))),
    el("div", { class: "turn-body" },
      el("div", { class: "lane" }, modelLanes(turn), lane("env", "Observation", block(turn.after.observation))),
      el("aside", { class: "numbers" }, numbersOf(side, turn, index))),
  ];
}

function lane(kind, label, ...content) {
  return el("section", { class: `part ${kind}` }, el("h4", {}, label), content);
}

/** Show what the model wrote, in the order in which it was written, and the action of it. */
function modelLanes(turn) {
  const raw = turn.raw_text ?? turn.action;
  const segments = splitThinking(raw);
  const plain = segments.length === 1 && !segments[0].thinking && segments[0].text.trim() === turn.executed.trim();
  const parts = [];
  if (turn.reasoning) parts.push(lane("think", "Reasoning, sent apart from the text", block(turn.reasoning, "prose")));
  if (!plain)
    for (const { thinking, closed, text } of segments) {
      if (!thinking) parts.push(...splitCalls(text).map(wordsOrCall));
      else parts.push(lane("think", closed ? "Thinking" : "Thinking, never closed", block(text.trim(), "prose")));
    }
  if (!raw.trim()) parts.push(lane("model", "Model text", block("")));
  const given = turn.action.trim();
  if (given !== turn.executed.trim() && given !== raw.trim()) parts.push(lane("model", "Given to the environment", block(turn.action)));
  parts.push(lane(turn.action_valid ? "act" : "act refused", "Action", block(turn.executed)));
  return parts;
}

/** Show words of a model, or a call that it made, which can also be seen as it was written. */
function wordsOrCall({ text, call }) {
  if (!call) return lane("model", "Model text", block(text.trim()));
  const written = el("details", { class: "written" }, el("summary", {}, "As it was written"), block(text));
  return lane("model", ["Tool call ", el("code", {}, line(call.name, 80))], call.text && block(call.text), written);
}

function numbersOf(side, turn, index) {
  const tokens = [
    ["Prompt tokens", turn.prompt_tokens], ["of them cached", turn.cached_tokens],
    ["Completion tokens", turn.completion_tokens], ["of them reasoning", turn.reasoning_tokens],
  ].filter(([, count]) => count != null).map(([label, count]) => [label, number(count)]);
  const before = index ? side.episode.turns[index - 1].after : side.episode.start;
  const moved = turn.after.score - before.score;
  const score = [number(turn.after.score), moved ? el("small", { class: tone(moved) }, ` ${signed(moved)}`) : null];
  return [
    Object.keys(turn.reward_terms).length > 0 && termBars(turn.reward_terms, side.most),
    numbers([
      ["Reward", signed(turn.reward)], ["Return so far", number(side.returns[index + 1])],
      ["Score", score], ...about(turn.after), ...tokens,
    ]),
  ];
}

const about = (state) => [
  ...(state.potential ? [["Potential", number(state.potential)]] : []),
  ...(state.oracle_turns != null ? [["Expert needs", plural(state.oracle_turns, "turn")]] : []),
];

function numbers(pairs) {
  return el("dl", { class: "pairs" }, pairs.map(([label, content]) =>
    el("div", {}, el("dt", {}, label), el("dd", {}, content))));
}

/** Find, for each turn, the first one that led to the same state; null where it is new. */
function repeatedStates(episode) {
  const first = new Map([[episode.start.state_key, 0]]);
  return episode.turns.map((turn, index) => {
    const key = turn.after.state_key;
    if (key && first.has(key)) return first.get(key);
    first.set(key, index + 1);
    return null;
  });
}
