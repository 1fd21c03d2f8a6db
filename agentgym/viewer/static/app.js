// Start: read the rows, make the filters, show what the address says.

/** Show the list or an episode, as the state says. */
function show() {
  const listed = state.key === null;
  const returning = listed && !$("episode-view").hidden;
  $("list-view").hidden = !listed;
  $("episode-view").hidden = listed;
  if (listed) {
    page = null;
    asked++;
    document.title = title();
    showList(returning);
  } else {
    document.title = `${plainLine(state.key, 60)} \u00b7 ${title()}`;
    showEpisode().catch(fail);
  }
}

const title = () => facts.runs.map((run) => plainLine(run.name, 120)).join(" and ");

function fail(error) {
  $("notices").append(el("p", { class: "notice bad", role: "alert" }, appendText(el("span"), String(error?.message || error))));
}

/** Say what the page does not hold: lines that could not be read, episodes beyond the limit. */
function notices() {
  facts.runs.forEach((run, side) => {
    $("runs").append(el("span", { class: "run" }, compares() && badge(side), line(run.name, 60)));
    for (const source of run.sources) {
      if (source.skipped)
        $("notices").append(notice(`${plural(source.skipped, "line")} of ${source.file} could not be read and ${source.skipped === 1 ? "is" : "are"} left out. First: ${source.reason}`));
      if (source.cut) $("notices").append(notice(`Only the first ${plural(source.episodes, "episode")} of ${source.file}: more were left out by --max-episodes.`));
    }
  });
}

function notice(text) {
  const box = el("div", { class: "notice warn", role: "note" }, line(text, 400));
  box.append(el("button", { type: "button", class: "ghost", "aria-label": "Dismiss", onclick: () => box.remove() }, "\u00d7"));
  return box;
}

async function start() {
  await readRows();
  notices();
  buildFilters();
  let waiting = false;
  $("scroll").addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawRows();
    });
  }, { passive: true });
  addEventListener("resize", () => state.key === null && drawRows());
  addEventListener("hashchange", onAddress);
  document.addEventListener("keydown", onKey);
  $("help-button").addEventListener("click", () => $("help").showModal());
  $("home").addEventListener("click", (event) => {
    event.preventDefault();
    toList();
  });
  onAddress();
  document.documentElement.dataset.ready = Math.round(performance.now());
}

addEventListener("error", (event) => fail(event.error || event.message));
addEventListener("unhandledrejection", (event) => fail(event.reason));
start().catch(fail);
