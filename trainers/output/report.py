"""The report of a finished run: ``report.html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.support.caching import write_atomically
from trainers.config.describe import horizon_in_words
from trainers.config.resolve import ResolvedRun
from trainers.output.card import chosen_folder, usage_code
from trainers.output.curve import Key, draw_panels, family_records
from trainers.output.headline import headline
from trainers.output.health_chart import draw_health
from trainers.output.jsonl import read_jsonl
from trainers.output.page_templates import render
from trainers.output.phase import Phase
from trainers.output.roles import BASELINES, GREEDY, TRAINED, WARM_START
from trainers.output.run_folder import RunFolder, training_step
from trainers.output.summary import (
    Difference,
    GreedyResults,
    Interval,
    Paired,
    Results,
    Summary,
    minus,
)

EPISODES_SHOWN = 6
"""Training episodes on the page."""
TASKS_SHOWN = 3
"""Held-out tasks for which the page shows the episodes before and after training, whatever the
result."""

PART_NAMES: Mapping[str, tuple[str, str]] = {
    "generation": ("generation", "#0072b2"),
    "environments": ("environments", "#56b4e9"),
    "logprobs": ("log-probabilities", "#009e73"),
    "update": ("forward and backward", "#e69f00"),
    "optimizer": ("optimiser", "#d55e00"),
    "validation": ("validation", "#cc79a7"),
    "rest": ("rest", "#8c929b"),
}
"""Names of the parts of a step, and their colours (by Okabe and Ito)."""

Episodes = dict[tuple[str, str], dict[str, Any]]
"""Episode records by environment and task."""


def write_report(folder: RunFolder, run: ResolvedRun, summary: Summary) -> Path:
    """Write ``report.html``, a self-contained file, and return its path."""
    metrics = folder.metrics()
    training = [record for record in metrics if record.get("phase") == Phase.REINFORCEMENT]
    old_episodes, new_episodes = (_episodes(folder, role) for role in (WARM_START, TRAINED))
    checkpoint = chosen_folder(folder, summary)
    parts = list(_parts(summary, metrics))
    health_panels, health_keys = draw_health(metrics, summary.health)
    page = render(
        "report.html.j2",
        folder=folder.path,
        checkpoint=checkpoint,
        run=run,
        horizons={env.name: horizon_in_words(env) for env in run.envs},
        summary=summary,
        headline=headline(summary),
        differences=list(_differences(summary)),
        compared=parts,
        imitated=any(part.results.warm_start for part in parts),
        lost=_count_lost(metrics, summary),
        lost_in_training=any(record.get("ended_by_error") for record in training),
        turns=training[-1].get("turns_total", 0) if training else 0,
        tokens=training[-1].get("tokens_total", 0) if training else 0,
        keys=parts[0].keys,
        health_panels=health_panels,
        health_keys=health_keys,
        parts=PART_NAMES,
        changes=_changes(old_episodes, new_episodes),
        pairs=[
            (old_episodes[task], new_episodes[task])
            for task in _choose_tasks(old_episodes, new_episodes)
        ],
        episodes=list(read_jsonl(folder.episodes_path))[-EPISODES_SHOWN:],
        training_step=training_step,
        usage=usage_code(run, summary, checkpoint, str(checkpoint)),
        config=(folder.path / "config.yaml").read_text(),
    )
    path = folder.path / "report.html"
    write_atomically(path, page.encode())
    return path


class _Part(NamedTuple):
    """The results of an environment, or of several pooled, with their curves."""

    name: str
    """Name of the environment; empty if there is only one, and for the pooled results."""
    results: Results
    """How the policies compare."""
    panels: dict[str, str]
    """Curves by quantity."""
    keys: list[Key]
    """Their legend."""


def _parts(summary: Summary, metrics: Sequence[dict[str, Any]]) -> Iterator[_Part]:
    """Yield the results to show: first those over all tasks."""
    step = summary.chosen.step
    yield _Part("", summary, *draw_panels(metrics, summary.names, step))
    for name, results in summary.families.items():
        records = family_records(metrics, name)
        yield _Part(name, results, *draw_panels(records, results.names, step))


def _differences(summary: Summary) -> Iterator[tuple[str, float, Interval]]:
    """Yield what training changed: name, mean difference and interval, each a row of the plot."""
    start = summary.names[WARM_START]
    pairs: list[tuple[str, Paired | GreedyResults]] = [
        (summary.evaluation.decoding, summary.paired)
    ]
    pairs += [("greedy", summary.greedy)] if summary.greedy else []
    pairs += [(name, part.paired) for name, part in summary.families.items()]
    kinds: list[tuple[str, Difference | None]] = [
        (f"{kind}, minus {start}", results.trained_minus_warm_start) for kind, results in pairs
    ]
    kinds += [
        (f"{kind}, minus {summary.names.get(baseline, baseline)}", minus(results, baseline))
        for baseline in BASELINES
        for kind, results in pairs
    ]
    for kind, paired in kinds:
        if paired is not None:
            yield f"score, {kind}", paired.score_mean, paired.score_ci95
            yield f"success, {kind}", paired.success_mean, paired.success_ci95


def _count_lost(metrics: Sequence[dict[str, Any]], summary: Summary) -> dict[str, int]:
    """Count the held-out episodes lost to a failed environment, by policy."""
    counts: Counter[str] = Counter()
    for record in metrics:
        if record.get("phase") == Phase.COMPARISON:
            arm = record["arm"].removesuffix(GREEDY)
            name = summary.names[arm] + (GREEDY if arm != record["arm"] else "")
            counts[name] += sum(row["stop_reason"] == "error" for row in record["rows"])
    return {name: count for name, count in counts.items() if count}


def _episodes(folder: RunFolder, arm: str) -> Episodes:
    """Read the held-out episodes of a policy, those of several environments in turn."""
    files = [
        [(path.parent.name, episode) for episode in read_jsonl(path)]
        for path in folder.eval_files(arm)
    ]
    mixed = [entry for row in zip_longest(*files) for entry in row if entry is not None]
    return {(name, episode["task_id"]): episode for name, episode in mixed}


def _changes(old_episodes: Episodes, new_episodes: Episodes) -> Counter[int]:
    """Count the tasks whose score rose (1), fell (-1) and stayed (0)."""
    return Counter(
        _change(old_episodes, new_episodes, task) for task in old_episodes if task in new_episodes
    )


def _change(old_episodes: Episodes, new_episodes: Episodes, task: tuple[str, str]) -> int:
    """Return whether the score of a task rose (1), fell (-1) or stayed (0)."""
    first, second = old_episodes[task]["score"], new_episodes[task]["score"]
    return int(second > first) - int(second < first)


def _choose_tasks(old_episodes: Episodes, new_episodes: Episodes) -> list[tuple[str, str]]:
    """Choose tasks: the first few of the panel, then the first that rose and the first that fell.

    Showing only the best would mislead, and showing no change would say little.
    """
    common = [task for task in old_episodes if task in new_episodes]
    moved = [
        next((t for t in common if _change(old_episodes, new_episodes, t) == sign), None)
        for sign in (1, -1)
    ]
    return list(dict.fromkeys(task for task in (*common[:TASKS_SHOWN], *moved) if task))
