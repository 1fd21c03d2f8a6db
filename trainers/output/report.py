"""What a reader of a finished run is given: ``report.html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.caching import write_atomically
from trainers.config.describe import horizon_in_words
from trainers.config.resolve import ResolvedRun
from trainers.output.card import chosen_folder, usage_code
from trainers.output.curve import draw_panels
from trainers.output.health_chart import draw_health
from trainers.output.jsonl import read_jsonl
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder, training_step
from trainers.output.summary import (
    GREEDY,
    Difference,
    Interval,
    Summary,
)
from trainers.output.templates import render

EPISODES_SHOWN = 6
"""Training episodes on the page."""
TASKS_SHOWN = 3
"""Held-out tasks of which the page shows the episodes before and after, whatever came of them."""

PART_NAMES: Mapping[str, tuple[str, str]] = {
    "generation": ("generation", "#0072b2"),
    "environments": ("environments", "#56b4e9"),
    "logprobs": ("log-probabilities", "#009e73"),
    "update": ("forward and backward", "#e69f00"),
    "optimizer": ("optimiser", "#d55e00"),
    "validation": ("validation", "#cc79a7"),
    "rest": ("rest", "#8c929b"),
}
"""Parts of a step as a reader knows them, and their colours (Okabe and Ito's)."""

Episodes = dict[str, dict[str, Any]]
"""Episode records by task."""


def write_report(folder: RunFolder, run: ResolvedRun, summary: Summary) -> Path:
    """Write ``report.html``, one file that needs nothing else, and return its path."""
    metrics = folder.metrics()
    training = [record for record in metrics if record.get("phase") == Phase.REINFORCEMENT]
    before, after = (_episodes(folder, arm) for arm in ("sft", "rl"))
    checkpoint = chosen_folder(folder, summary)
    panels, keys = draw_panels(metrics, summary.names)
    health_panels, health_keys = draw_health(metrics, summary.health)
    page = render(
        "report.html.j2",
        folder=folder.path,
        checkpoint=checkpoint,
        run=run,
        horizon=horizon_in_words(run),
        summary=summary,
        differences=list(_differences(summary)),
        results=list(summary.results()),
        lost=_lost(metrics, summary),
        lost_in_training=any(record.get("ended_by_error") for record in training),
        turns=training[-1].get("turns_total", 0) if training else 0,
        tokens=training[-1].get("tokens_total", 0) if training else 0,
        panels=panels,
        keys=keys,
        health_panels=health_panels,
        health_keys=health_keys,
        parts=PART_NAMES,
        changes=_changes(before, after),
        pairs=[(before[task], after[task]) for task in _shown(before, after)],
        episodes=list(read_jsonl(folder.episodes_path))[-EPISODES_SHOWN:],
        training_step=training_step,
        usage=usage_code(run, summary, checkpoint, str(checkpoint)),
        config=(folder.path / "config.yaml").read_text(),
    )
    path = folder.path / "report.html"
    write_atomically(path, page.encode())
    return path


def _differences(summary: Summary) -> Iterator[tuple[str, float, Interval]]:
    """Yield what training changed: name, mean difference and interval, each a row of the plot."""
    kinds: list[tuple[str, Difference]] = [
        (summary.evaluation.decoding, summary.paired.rl_minus_sft)
    ]
    if summary.greedy:
        kinds.append(("greedy", summary.greedy.rl_minus_sft))
    for decoding, paired in kinds:
        yield f"score, {decoding}", paired.score_mean, paired.score_ci95
        yield f"success, {decoding}", paired.success_mean, paired.success_ci95


def _lost(metrics: Sequence[dict[str, Any]], summary: Summary) -> dict[str, int]:
    """Count the held-out episodes that were lost to a failed environment, by policy."""
    lost = {}
    for record in metrics:
        if record.get("phase") == Phase.COMPARISON:
            arm = record["arm"].removesuffix(GREEDY)
            name = summary.names[arm] + (", greedy" if arm != record["arm"] else "")
            lost[name] = sum(row["stop_reason"] == "error" for row in record["rows"])
    return {name: count for name, count in lost.items() if count}


def _episodes(folder: RunFolder, arm: str) -> Episodes:
    """Read the held-out episodes of a policy."""
    return {episode["task_id"]: episode for episode in read_jsonl(folder.eval_episodes(arm))}


def _changes(before: Episodes, after: Episodes) -> Counter[int]:
    """Count the tasks whose score rose (1), fell (-1) and stayed (0)."""
    return Counter(_change(before, after, task) for task in before if task in after)


def _change(before: Episodes, after: Episodes, task: str) -> int:
    """Return whether the score of a task rose (1), fell (-1) or stayed (0)."""
    first, second = before[task]["score"], after[task]["score"]
    return int(second > first) - int(second < first)


def _shown(before: Episodes, after: Episodes) -> list[str]:
    """Choose tasks: the first few of the panel, then the first that rose and the first that fell.

    A page that showed only the best would mislead, and one without any change would say little.
    """
    both = [task for task in before if task in after]
    moved = [next((t for t in both if _change(before, after, t) == sign), None) for sign in (1, -1)]
    return list(dict.fromkeys(task for task in (*both[:TASKS_SHOWN], *moved) if task))
