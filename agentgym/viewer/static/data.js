// The data in the page: blocks that are unpacked when they are needed.

const PACKED = "application/zlib";
const KEPT_CHUNKS = 8;
const kept = new Map();
let facts, runs, items;

/** Read a block: JSON as it stands, or packed JSON. */
async function read(id) {
  const block = $(id);
  if (block.type !== PACKED) return block.textContent;
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old to unpack the data; use one of 2023 or later");
  const packed = atob(block.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/** Return the lines of a chunk; the chunks used last are kept. */
function chunk(number) {
  const lines = kept.get(number) || read("chunk-" + number).then((text) => text.split("\n"));
  kept.delete(number);
  kept.set(number, lines);
  if (kept.size > KEPT_CHUNKS) kept.delete(kept.keys().next().value);
  return lines;
}

/** Return the whole episode of a row. */
async function load(row) {
  const lines = await chunk(row.at[0]);
  const episode = JSON.parse(lines[row.at[1]]);
  return Object.assign(episode, { settings: facts.shared[episode.shared] || {} });
}

/** Read what the list needs, and join paired episodes into items. */
async function readRows() {
  facts = JSON.parse(await read("facts"));
  runs = JSON.parse(await read("rows"));
  items = runs[0].map((row) => ({ rows: [row, runs.length > 1 && row.pair != null ? runs[1][row.pair] : null] }));
  for (const row of runs[1] || []) if (row.pair == null) items.push({ rows: [null, row] });
  items.forEach((item, order) => {
    item.order = order;
    for (const row of item.rows) if (row) row.item = item;
    const [a, b] = item.rows;
    item.difference = a && b && scored(a) && scored(b) ? b.score - a.score : null;
  });
  for (const side of runs) side.byKey = new Map(side.map((row) => [row.key, row]));
}

/** Say a stop reason in words; what is none stays as it is. */
const reasonWords = (reason) => (Object.hasOwn(facts.words, reason) ? facts.words[reason] : reason);

/** Say how an episode ended: an answer that did not solve its task was wrong. */
const endWords = (row) => reasonWords(row.stop !== "answer" ? row.stop : row.success ? "success" : "failure");

/** Whether the environment, the policy or its endpoint failed: such an episode has no result. */
const failed = (row) => row.stop === "error";
const scored = (row) => !failed(row) && isNumber(row.score);
const compares = () => runs.length > 1;
const present = (item) => item.rows.filter(Boolean);
