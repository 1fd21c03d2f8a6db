// Text of records: never markup, its control characters visible, long ones cut.

const CUT_CHARS = 3000;
const CUT_LINES = 40;
const PIECE_CHARS = 8192;
const MOST_MARKS = 400;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu;
const HARMLESS = /^[\n\t\u200c\u200d]+$/;

/** Name a character that has no shape of its own, or one that turns the text around it. */
function shape(character) {
  const code = character.codePointAt(0);
  if (character === "\n" || character === "\t" || code === 0x200c || code === 0x200d) return character;
  if (code < 0x20 || code === 0x7f) return "^" + String.fromCharCode(code ^ 0x40); // as terminals do
  return "\u27e8U+" + code.toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
}

/** Append text; characters that could hide or reorder it are shown by name. */
function appendText(parent, text) {
  const clean = text.replace(/\r\n/g, "\n");
  let at = 0;
  let marks = 0;
  for (const found of clean.matchAll(HIDDEN)) {
    if (HARMLESS.test(found[0])) continue;
    if (++marks > MOST_MARKS) break;
    parent.append(clean.slice(at, found.index));
    parent.append(el("span", { class: "mark", title: "invisible characters" }, named(found[0])));
    at = found.index + found[0].length;
  }
  parent.append(marks > MOST_MARKS ? visible(clean.slice(at)) : clean.slice(at));
  return parent;
}

/** Name each of the characters given, all of which are hidden ones. */
const named = (hidden) => Array.from(hidden, shape).join("");

/** Name the hidden characters of a text that goes where no elements can: titles, options, labels. */
const visible = (text) => text.replace(HIDDEN, named);

/** Cut a text, never inside a character, to what stands in one line. */
function cut(text, most) {
  const all = String(text);
  const shown = all.slice(0, whole(all, most)).replace(/\s+/g, " ");
  return all.length > most ? shown + "\u2026" : shown;
}

/** Return one line of text, cut. */
const line = (text, most = 200) => appendText(el("span", { class: "line" }), cut(text, most));

/** Return the same for places that hold no elements. */
const plainLine = (text, most = 200) => visible(cut(text, most));

/** Find where a long text is cut: after some lines or characters, never inside a character. */
function cutAt(text, most) {
  let end = Math.min(text.length, CUT_CHARS);
  let lines = 0;
  for (let i = text.indexOf("\n"); i >= 0 && i < end; i = text.indexOf("\n", i + 1))
    if (++lines === most) end = i;
  const rest = text.slice(end, end + 200);
  return rest.length < 200 && rest.split("\n").length < most / 4 + 1 ? text.length : whole(text, end);
}

const whole = (text, end) => (/[\ud800-\udbff]/.test(text[end - 1] || "") ? end - 1 : end);

/** Return a block of text, which is cut and can be opened if it is long. */
function block(text, kind = "", lines = CUT_LINES) {
  const box = el("div", { class: "text " + kind, dir: "auto" });
  const end = cutAt(text, lines);
  appendText(box, text.slice(0, end));
  if (end === text.length) return text ? box : el("div", { class: "text empty" }, "(empty)");
  const label = `Show all (${number(text.length)} characters)`;
  const button = el("button", { type: "button", class: "all", "aria-expanded": "false" }, label);
  const rest = el("div", { class: "rest", hidden: true });
  button.addEventListener("click", () => {
    if (!rest.firstChild) for (const piece of pieces(text)) rest.append(appendText(el("div"), piece));
    const opens = rest.hidden;
    const before = button.getBoundingClientRect().top;
    rest.hidden = !opens;
    box.hidden = opens;
    button.textContent = opens ? "Show less" : label;
    button.setAttribute("aria-expanded", String(opens));
    // Closing must not throw the reader to another turn.
    if (!opens) $("episode-view").scrollTop += button.getBoundingClientRect().top - before;
  });
  rest.className = `rest text ${kind}`;
  return el("div", { class: "long" }, box, rest, button);
}

/** Cut a text into pieces that are laid out one by one; at line breaks where there are some. */
function* pieces(text) {
  for (let at = 0; at < text.length; ) {
    const far = Math.min(at + PIECE_CHARS, text.length);
    const broken = far < text.length ? text.lastIndexOf("\n", far) : -1;
    const end = broken > at ? broken + 1 : whole(text, far);
    yield broken > at ? text.slice(at, broken) : text.slice(at, end);
    at = end;
  }
}

/** Split a model's text into thinking and the rest, as the parsers of actions do. */
function splitThinking(text) {
  const segments = [];
  let at = 0;
  let inside = false;
  for (const tag of text.matchAll(/<(\/?)think>/gi)) {
    const part = text.slice(at, tag.index);
    if (tag[1]) {
      // A closing tag alone: the opening one stood in the prompt, and all before was thinking.
      if (!inside) for (const segment of segments) segment.thinking = true;
      segments.push({ thinking: true, closed: true, text: part });
    } else if (inside) segments.push({ thinking: true, closed: true, text: part });
    else segments.push({ thinking: false, text: part });
    inside = !tag[1];
    at = tag.index + tag[0].length;
  }
  segments.push({ thinking: inside, closed: !inside, text: text.slice(at) });
  return segments.filter((segment) => segment.text.trim());
}

/** Split text into words and calls of tools; a call that cannot be read stays among the words. */
function splitCalls(text) {
  const [open, close] = ["<tool_call>", "</tool_call>"];
  const parts = [];
  let at = 0;
  for (let from = text.indexOf(open); from >= 0; from = text.indexOf(open, from + 1)) {
    const end = text.indexOf(close, from);
    if (end < 0) break;
    const call = readCall(text.slice(from + open.length, end));
    if (call) {
      parts.push({ text: text.slice(at, from) }, { text: text.slice(from, end + close.length), call });
      at = end + close.length;
    }
    from = end;
  }
  parts.push({ text: text.slice(at) });
  return parts.filter((part) => part.text.trim());
}

/** Read a call, whose arguments may be JSON in a string, as models write them; null if it is none. */
function readCall(json) {
  try {
    const { name, arguments: given } = JSON.parse(json);
    const args = typeof given === "string" ? JSON.parse(given) : given;
    return typeof name === "string" && args && typeof args === "object" ? { name, text: argumentText(args) } : null;
  } catch {
    return null;
  }
}

/** Write arguments so that they can be read: text as text, without the escapes of JSON. */
function argumentText(args) {
  const lines = Object.entries(args).map(([key, content]) => {
    if (typeof content !== "string") return `${key}: ${JSON.stringify(content)}`;
    return content.includes("\n") ? `${key}:\n${content}` : `${key}: ${content}`;
  });
  return lines.join("\n");
}

/** Show a value of details: text as text, the rest as JSON. */
function value(content) {
  if (typeof content === "string") return block(content, "plain");
  try {
    return block(JSON.stringify(content, null, 1), "plain");
  } catch {
    return block("(a value too deep to be shown)", "plain");
  }
}
