// The page of the shop. Each part of the environment's page becomes one element, whose text is the
// part's and whose marks (data-before, data-after) are those of the observation. Nothing else in the
// page holds text: `pageText` rebuilds from what is displayed what the agent reads.

const TAGS = { instruction: "p", title: "h2", count: "p", detail: "p", note: "p", group: "h3" };
const CLICKED = new Set(["button", "link", "option"]);

/** Return the text of the regions that show this turn's observation, with its marks. */
function pageText() {
  return [...document.querySelectorAll("[data-now=true] [data-part]")]
    .map((each) => each.dataset.before + each.textContent + each.dataset.after)
    .join("");
}

/** Make the element of a part. */
function partElement(part, over) {
  const marks = { "data-part": part.kind, "data-before": part.before, "data-after": part.after, dir: "auto" };
  if (part.kind === "search") return el("button", { ...marks, type: "submit", class: "go", disabled: over }, part.text);
  if (!CLICKED.has(part.kind)) {
    const made = el(TAGS[part.kind] || "span", { ...marks, class: part.kind });
    made.append(part.text);
    return made;
  }
  const made = el("button", {
    ...marks,
    type: "button",
    class: `${part.kind} ${part.kind === "button" ? slug(part.text) : ""}`.trim(),
    disabled: !part.action,
    "data-action": part.action,
    "aria-pressed": part.kind === "option" ? String(part.chosen) : null,
    title: part.action || over ? null : "No action can name this one",
  });
  if (part.kind === "link" && part.chosen) made.classList.add("seen");
  made.append(part.text);
  return made;
}

const slug = (text) => text.toLowerCase().replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "");

/** Say in which zone of the page a part stands. */
function zoneOf(part, kind, before) {
  if (kind === "index") return "hero";
  if (kind === "done") return "receipt";
  if (part.box) return part.box;
  if (part.kind === "note") return "notes";
  if (part.kind === "instruction") return "banner";
  const begun = before.some((zone) => !["notes", "banner"].includes(zone));
  if (part.kind === "text") return begun ? "facts" : "banner";
  if (part.kind === "button") return before.includes("facts") ? "buttons" : "bar";
  return { count: "bar", title: "facts", price: "facts" }[part.kind] || "details";
}

/** Cut the parts into runs that stand in one zone. */
function zones(parts, kind) {
  const found = [];
  for (const part of parts) {
    const name = zoneOf(part, kind, found.map((zone) => zone.name));
    if (found.length && found.at(-1).name === name) found.at(-1).parts.push(part);
    else found.push({ name, parts: [part] });
  }
  return found;
}

/** Show the page of a state; the search box goes to where the page has it. */
function showPage(state, form) {
  const over = Boolean(state.stop_reason);
  const page = $("page");
  page.replaceChildren();
  form.element.querySelector("[data-part]")?.remove();
  page.dataset.kind = state.kind;
  page.dataset.now = String(state.now);
  const place = state.kind === "index" ? page : $("search-place");
  const frames = {};
  for (const zone of zones(state.page, state.kind)) {
    const made = zoneElement(zone, state, over);
    const frame = frameOf(zone.name, state.kind);
    if (!frame) page.append(made);
    else {
      if (!frames[frame]) page.append((frames[frame] = frameElement(frame, state)));
      (frames[frame].querySelector(".info") || frames[frame]).append(made);
    }
  }
  form.go.hidden = false;
  if (place === page) {
    const own = page.querySelector(".go");
    form.go.hidden = Boolean(own);
    page.querySelector(".zone").append(form.element);
    if (own) form.element.append(own);
  } else place.append(form.element);
  for (const control of form.element.elements) control.disabled = over;
}

function frameOf(zone, kind) {
  if (kind === "results" && zone.startsWith("hit ")) return "hits";
  return kind === "item" && !["notes", "banner", "bar"].includes(zone) ? "product" : "";
}

function frameElement(frame, state) {
  if (frame === "hits") return el("ul", { class: "hits" });
  const title = state.page.find((part) => part.kind === "title");
  return el("div", { class: "product" }, tile(title ? title.text : state.product), el("div", { class: "info" }));
}

/** Make the element of a zone, with its parts. */
function zoneElement(zone, state, over) {
  const parts = zone.parts.map((part) => partElement(part, over));
  const [kind] = zone.name.split(" ");
  if (kind === "hit") return hitElement(parts, zone.parts);
  const made = el("div", { class: `zone ${kind}` });
  if (kind === "group") {
    const [name, ...values] = parts;
    made.setAttribute("role", "group");
    name.id = `name-of-${zone.name.replace(" ", "-")}`;
    made.setAttribute("aria-labelledby", name.id);
    made.append(name, el("div", { class: "values" }, values));
  } else made.append(...parts);
  return made;
}

/** Make a product of the results: all of it is the button. */
function hitElement(parts, shown) {
  const title = parts.find((part) => part.classList.contains("title"));
  const link = parts.find((part) => part.classList.contains("link"));
  if (title && link) {
    title.id = `title-of-${slugOf(link)}`;
    link.id = `link-of-${slugOf(link)}`;
    link.setAttribute("aria-labelledby", `${title.id} ${link.id}`);
  }
  const text = shown.find((part) => part.kind === "title");
  return el("li", { class: "hit" }, tile(text ? text.text : ""), el("div", { class: "lines" }, parts));
}

const slugOf = (link) => Array.from(link.textContent, (sign) => sign.codePointAt(0).toString(36)).join("-");

/** Make a tile in the place of a picture, which the shop does not have; it holds no text. */
function tile(title) {
  const clean = title.trim();
  const made = el("div", { class: "tile", "aria-hidden": "true", "data-initial": (/[\p{L}\p{N}]/u.exec(clean) || ["?"])[0].toUpperCase() });
  let hue = 7;
  for (const sign of clean) hue = (hue * 31 + sign.codePointAt(0)) % 360;
  made.style.setProperty("--hue", String(hue));
  return made;
}

/** Show what the environment said instead of the page, or before it. */
function showSaid(state) {
  const box = $("said");
  box.hidden = state.said == null;
  box.dataset.now = String(state.said != null);
  box.replaceChildren();
  if (state.said == null) return;
  const text = el("p", { "data-part": "said", "data-before": "", "data-after": state.now ? "\n" : "", dir: "auto" });
  text.append(state.said);
  box.append(text);
}
