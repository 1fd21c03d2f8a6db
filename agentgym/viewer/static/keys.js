// The keyboard: every key is also a button or a link.

const IN_LIST = {
  j: () => moveMark(list.at + 1),
  k: () => moveMark(list.at - 1),
  ArrowDown: () => moveMark(list.at + 1),
  ArrowUp: () => moveMark(list.at - 1),
  Home: () => moveMark(0),
  End: () => moveMark(list.shown.length - 1),
  Enter: () => list.shown[list.at] && openItem(list.shown[list.at]),
};
/** Also while an episode is being read: of a held key, no press is lost. */
const TO_EPISODE = {
  j: () => moveEpisode(1),
  k: () => moveEpisode(-1),
  ArrowRight: () => moveEpisode(1),
  ArrowLeft: () => moveEpisode(-1),
  Escape: toList,
};
const ON_EPISODE = {
  ...TO_EPISODE,
  n: () => moveTurn(1),
  p: () => moveTurn(-1),
  d: () => page.difference !== null && go({ turn: page.difference }),
  x: () => goToSide(1 - state.run),
};
const EVERYWHERE = { "?": () => $("help").showModal(), "/": focusFilter };

function focusFilter() {
  if (state.key !== null) toList();
  $("q").focus();
  $("q").select();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const field = event.target.closest?.("input, select, textarea");
  if (field) {
    if (event.key === "Escape" || (event.key === "Enter" && field.id === "q")) {
      event.preventDefault();
      field.blur();
      if (state.key === null) moveMark(list.at);
    }
    return;
  }
  // A focused button or link keeps its own key.
  if (event.key === "Enter" && event.target.closest?.("a, button, summary")) return;
  const keys = { ...EVERYWHERE, ...(state.key === null ? IN_LIST : page ? ON_EPISODE : TO_EPISODE) };
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
}
