// What is shown, as the part of the address behind "#": run/episode/turn?filters.

const state = { run: null, key: null, turn: null, filters: {} };
let written = null;
let writing = 0;

/** Read the address; what is not understood shows the list. */
function parseAddress() {
  const [path, query] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  const [run, key, turn] = path.split("/").map(decoded);
  const side = ["a", "b"].indexOf(run);
  const known = side >= 0 && side < runs.length && runs[side].byKey.has(key);
  return {
    run: known ? side : null,
    key: known ? key : null,
    turn: known && /^\d{1,6}$/.test(turn || "") ? Number(turn) : null,
    filters: Object.fromEntries(new URLSearchParams(query || "")),
    unknown: path !== "" && !known,
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the address of a state. */
function address({ run, key, turn, filters }) {
  const parts = key == null ? [] : ["ab"[run], encodeURIComponent(key).replace(/%3A/g, ":")];
  if (parts.length && turn != null) parts.push(turn);
  const chosen = Object.entries(filters).filter(([, value]) => value !== "" && value != null);
  const query = chosen.length ? "?" + new URLSearchParams(chosen) : "";
  return "#" + parts.join("/") + query;
}

/** Show another state; a new page of the history is begun where `push` is set. */
function go(change, push = false) {
  Object.assign(state, change);
  clearTimeout(writing);
  // Browsers refuse many changes a second, so a held key is written down once it is let go.
  if (push) writeAddress(true);
  else writing = setTimeout(writeAddress, 150);
  show();
}

function writeAddress(push = false) {
  written = address(state);
  if (written === (location.hash || "#")) return;
  if (push) location.hash = written;
  else location.replace(written);
}

function onAddress() {
  if ((location.hash || "#") === written) return;
  written = location.hash || "#";
  clearTimeout(writing);
  const { unknown, ...found } = parseAddress();
  Object.assign(state, found);
  if (unknown) announce("There is no such episode in this file.");
  show();
}
