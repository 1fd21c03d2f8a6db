"""Checks of what can be learned: strengths are told apart, rewards vary, and a training climbs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentgym.certification.players import blind_floors, expert_rows, mixed_rows, random_rows
from agentgym.certification.result import Measured, NotApplicable, NotRun
from agentgym.certification.solving import best_floor
from agentgym.certification.subject import Rows, Subject
from agentgym.support.statistics import mean_ci95, paired_difference, wilson_ci95

CEILING = 0.9
"""Score above which the strongest known policy leaves too little room."""
SHARES = (0.1, 0.25, 0.5, 0.75)
"""Shares of turns in which the expert acts, of the mixtures that stand for learners."""
LEAST_TRAINING = 570.0
"""Seconds below which no training begins."""
SAMPLES = 4
"""Episodes of each task that stand-ins play."""
VARYING = 0.05
"""Share of the tasks whose returns must vary, by the lower end of its 95 % interval."""
Strengths = Mapping[str, Mapping[str, float]]
"""Score by task of policies, by their names."""


def reward_reachability(subject: Subject) -> Measured:
    """Policies that are no experts play: given ones, or the expert with random turns, and random.

    A pass means that some of them solve some task, so that a learner can meet a reward.
    """
    scores = {name: by_task for name, by_task in _strengths(subject).items() if name != "expert"}
    reached = {task for by_task in scores.values() for task, score in by_task.items() if score > 0}
    n = len(next(iter(scores.values())))
    summary = f"a score above 0 in {len(reached):,} of {n:,} tasks by {', '.join(scores)}"
    return Measured(bool(reached), summary, n)


def difficulty_separation(subject: Subject) -> Measured:
    """Three policies of growing strength play the same tasks; their scores are compared in pairs.

    Of the given evaluations or, without any, of stand-ins (random actions, mixtures of random
    actions and the expert, and the expert), the weakest, the strongest and the one nearest to their
    middle count. A pass means that each scores above the one before it, by the 95 % interval.
    """
    scores = _strengths(subject)
    tasks = [
        task for task in next(iter(scores.values())) if all(task in s for s in scores.values())
    ]
    if len(scores) < 3 or not tasks:
        raise NotApplicable(
            "three policies on the same tasks are needed; give evaluations as `reports`"
        )
    means = {name: sum(by_task[t] for t in tasks) / len(tasks) for name, by_task in scores.items()}
    weakest, *others, strongest = sorted(means, key=lambda name: means[name])
    middle = (means[weakest] + means[strongest]) / 2
    chosen = [weakest, min(others, key=lambda name: abs(means[name] - middle)), strongest]
    gaps = [
        paired_difference([scores[strong][t] for t in tasks], [scores[weak][t] for t in tasks])
        for weak, strong in pairwise(chosen)
    ]
    steps = ", ".join(f"{gap.value:+.3f} [{gap.low:.3f}, {gap.high:.3f}]" for gap in gaps)
    separated = all(gap.low > 0 for gap in gaps)
    order = " < ".join(f"{name} {means[name]:.3f}" for name in chosen)
    return Measured(separated, f"{order}; differences {steps}", len(tasks))


def headroom(subject: Subject) -> Measured:
    """The strongest given policy is scored; without any, the best blind policy and random actions.

    A pass means that the upper end of its 95 % interval is at most 0.9: there is room to learn.
    """
    floor = best_floor(blind_floors(subject))
    weak = {
        "random": _by_task(random_rows(subject, SAMPLES)),
        floor.policy: _by_task(floor.rows),
    }
    scores = _given(subject) or weak
    name = max(scores, key=lambda name: sum(scores[name].values()) / len(scores[name]))
    share = mean_ci95([*scores[name].values()], (0.0, 1.0))
    summary = f"{name} scores {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"
    return Measured(share.high <= CEILING, summary, len(scores[name]))


def reward_variance(subject: Subject) -> Measured:
    """A mixture of expert and random actions plays every task several times.

    A pass means that the returns within a task differ in enough tasks for methods that compare
    them, such as GRPO, to learn: the lower end of the share's 95 % interval is above 0.05.
    """
    if expert_rows(subject) is None:
        raise NotApplicable("there is no expert to mix with random actions")
    results = []
    for share in SHARES:
        returns: dict[str, set[float]] = {}
        for row in mixed_rows(subject, share, SAMPLES):
            returns.setdefault(row.task_id, set()).add(row.reward)
        varying = sum(len(values) > 1 for values in returns.values())
        results.append((wilson_ci95(varying, len(returns)), share, len(returns)))
    estimate, share, n = max(results)
    summary = (
        f"returns of {SAMPLES} episodes differ in {estimate.value:.3f} [{estimate.low:.3f}, "
        f"{estimate.high:.3f}] of the tasks with the expert in {share:.0%} of the turns"
    )
    return Measured(estimate.low > VARYING, summary, n)


def training_signal(subject: Subject) -> Measured:
    """The trainer trains for a few minutes (``agentgym train --quick``), or a training is given.

    A pass means that reinforcement learning raised the success on held-out tasks, compared task by
    task with the policy that it began with: the 95 % interval lies above 0.
    """
    if subject.training is not None:
        return _difference(subject.training)
    if find_spec("trainers") is None:
        raise NotApplicable("the trainer is not installed; give a training as `training`")
    if subject.budget.left < LEAST_TRAINING:
        raise NotRun(
            "a training takes minutes; raise `seconds` to 1200 s or more, or "
            "give a training as `training`"
        )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [sys.executable, "-m", "agentgym", "train", "--env", subject.name, "--quick"]
        pairs = [f"{name}={json.dumps(value)}" for name, value in subject.kwargs.items()]
        arguments = ["--env-kwargs", *pairs] if pairs else []
        try:
            process = subprocess.run(
                [*command, *arguments, "--seed", f"{subject.seed}", "--out", str(out)],
                capture_output=True, text=True, timeout=subject.budget.left, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise NotRun(
                f"the training did not end in {subject.budget.seconds:.0f} s; raise `seconds`, or "
                "give a training as `training`"
            ) from error
        if process.returncode:
            raise NotRun(f"the training failed: {process.stderr.strip()[-300:]}")
        return _difference(out)


def _difference(folder: Path) -> Measured:
    """Read what reinforcement learning changed, from the summary of a training."""
    try:
        summary: Any = json.loads((folder / "summary.json").read_text("utf-8"))
        entry = summary["paired"]["trained_minus_warm_start"]
        mean, (low, high), n = entry["success_mean"], entry["success_ci95"], entry["n"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotRun(
            f"expected the folder of a finished training with summary.json, got {folder}"
        ) from error
    return Measured(low > 0, f"success changed by {mean:+.3f} [{low:.3f}, {high:.3f}]", n)


def _strengths(subject: Subject) -> Strengths:
    """Return the scores of given policies; without any, of stand-ins of growing strength."""
    if given_scores := _given(subject):
        return given_scores
    scores = {"random": _by_task(random_rows(subject, SAMPLES))}
    rows = expert_rows(subject)
    if rows is not None:
        for share in SHARES:
            scores[f"{share:.0%} expert"] = _by_task(mixed_rows(subject, share, SAMPLES))
        scores["expert"] = _by_task(rows)
    return scores


def _given(subject: Subject) -> Strengths:
    return {report.policy: _by_task(report.rows) for report in subject.reports}


def _by_task(rows: Rows) -> dict[str, float]:
    """Return the mean score of each task."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        scores.setdefault(row.task_id, []).append(row.score)
    return {task_id: sum(values) / len(values) for task_id, values in scores.items()}
