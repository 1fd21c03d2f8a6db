"""Tables of the cost of sandboxes with a container image."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tables.formats import Table, result

FILE = "image_boxes.json"
KINDS = {
    "image": "image, `namespace`",
    "plain": "no image, `namespace`",
    "docker": "image, `docker`",
}


def boxes_table() -> Table:
    """Return the cost of each kind of sandbox, beside one bubblewrap per command."""
    figures = result(FILE)
    boxes = [figures[kind] for kind in KINDS]
    alone = _quantiles(figures["bubblewrap"], "start_and_exec")
    table = [["milliseconds: median, 99th percentile", *KINDS.values(), "bubblewrap"]]
    for part, words in {"start": "start", "exec": "command `true`", "reset": "reset"}.items():
        last = f"{alone} (starts anew)" if part == "exec" else ""
        table.append([words, *(_quantiles(box, part) for box in boxes), last])
    table.append(["snapshot", *(_quantiles(box, "snapshot") for box in boxes), ""])
    count = boxes[0]["boxes_at_once"]
    up = [f"{box['all_up_seconds']:.2f}" for box in boxes]
    memory = [f"{box['own_processes_megabytes_a_box']:.1f}" for box in boxes[:2]]
    table.append([f"{count} sandboxes at once, all started (seconds)", *up, ""])
    return [*table, ["memory of a sandbox's processes (MB)", *memory, "", ""]]


def forks_table() -> Table:
    """Return what it takes to fork an episode of SWE."""
    forks = result(FILE)["forks"]
    table = [["forking an SWE episode, milliseconds", "median", "99th percentile"]]
    for kind, part, words in (
        ("with_pause", "take", "take a snapshot"),
        ("with_pause", "return", "return to it, half a second later"),
        ("back_to_back", "return", "return at once, before the next sandbox has started"),
    ):
        table.append([words, *_quantiles(forks[kind], part).split(", ")])
    return table


def _quantiles(figures: Mapping[str, float], part: str) -> str:
    """Write median and 99th percentile of some milliseconds."""
    values = (figures[f"{part}_milliseconds_{percentile}"] for percentile in ("p50", "p99"))
    return ", ".join(f"{value:.1f}" if value < 100 else f"{value:.0f}" for value in values)
