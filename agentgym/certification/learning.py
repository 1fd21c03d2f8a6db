"""Checks of what can be learned: strengths are told apart, rewards vary, and a training climbs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentgym.certification.result import Measured, NotApplicable, NotRun
from agentgym.certification.solving import Expert, best_floor, blind_floors, expert_rows
from agentgym.certification.subject import Rows, Subject
from agentgym.core.env import TextEnv
from agentgym.policies.basic import RandomPolicy
from agentgym.policies.mixed import MixedPolicy
from agentgym.support.statistics import mean_ci95, paired_difference, wilson_ci95

CEILING = 0.9
"""Score above which the strongest known policy leaves too little room."""
MIXTURES = 4
"""Number of mixtures of expert and random actions that stand for learners."""
MOST_EXPERT = 0.8
"""Share of the expert's turns that no mixture reaches: it would be no learner."""
SAMPLES = 4
"""Episodes of each task that stand-ins play."""
VARYING = 0.05
"""Share of the tasks whose returns must vary, by the lower end of its 95 % interval."""
TRAINING = ("--quiet", "--eval.baselines", "none")
"""Flags of the training: the family's sizes, but no rivals."""
TESTED = 100
"""Most held-out tasks of the training."""
LEAST_TRAINING = 120.0
"""Seconds below which no training begins."""
MOST_TRAINING = 900.0
"""Seconds after which a training is stopped."""
Strengths = Mapping[str, Mapping[str, float]]
"""Score by task of policies, by their names."""


def reward_reachability(subject: Subject) -> Measured:
    """Policies that are no experts play: given ones, or the expert with random turns, and random.

    A pass means that some of them solve some task, so that a learner can meet a reward.
    """
    scores = {name: by_task for name, by_task in _strengths(subject).items() if name != "expert"}
    reached = {task for by_task in scores.values() for task, score in by_task.items() if score > 0}
    n = len(next(iter(scores.values())))
    if not reached and list(scores) == ["random"]:
        raise NotApplicable("random actions alone reach no reward; give evaluations as `reports`")
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
    scores = _given(subject)
    if not scores:
        floor = best_floor(blind_floors(subject))
        scores = {"random": _by_task(_random_rows(subject)), floor.policy: _by_task(floor.rows)}
    name = max(scores, key=lambda name: sum(scores[name].values()) / len(scores[name]))
    share = mean_ci95([*scores[name].values()], (0.0, 1.0))
    summary = f"{name} scores {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"
    return Measured(share.high <= CEILING, summary, len(scores[name]))


def reward_variance(subject: Subject) -> Measured:
    """A mixture of expert and random actions plays every task several times.

    A pass means that the returns within a task differ in enough tasks for methods that compare
    them, such as GRPO, to learn: the lower end of the share's 95 % interval is above 0.05.
    """
    results = []
    for name, rows in _mixtures(subject).items():
        returns: dict[str, set[float]] = {}
        for row in rows:
            returns.setdefault(row.task_id, set()).add(row.reward)
        varying = sum(len(values) > 1 for values in returns.values())
        results.append((wilson_ci95(varying, subject.n), name))
    (value, low, high), name = max(results)
    summary = (
        f"returns of {SAMPLES} episodes of {name} differ in {value:.3f} [{low:.3f}, {high:.3f}]"
    )
    return Measured(low > VARYING, f"{summary} of the tasks", subject.n)


def training_signal(subject: Subject) -> Measured:
    """The trainer trains a tiny policy (``agentgym train``), or a training is given.

    A pass means that reinforcement learning raised the success on held-out tasks, compared task by
    task with the policy that it began with: the 95 % interval lies above 0.
    """
    if subject.training is not None:
        return _difference(subject.training)
    if find_spec("trainers") is None:
        raise NotApplicable("the trainer is not installed; give a training as `training`")
    seconds = min(MOST_TRAINING, subject.budget.left)
    if seconds < LEAST_TRAINING:
        raise NotRun("a training takes minutes; raise `seconds`, or give a training as `training`")
    pairs = [f"{name}={json.dumps(value)}" for name, value in subject.kwargs.items()]
    num_tasks = min(TESTED, subject.env.tasks.size("test"))
    arguments = [*(["--env-kwargs", *pairs] if pairs else []), "--seed", f"{subject.seed}"]
    arguments += ["--eval.num-tasks", f"{num_tasks}"]
    command = [sys.executable, "-m", "agentgym", "train", "--env", subject.name, *TRAINING]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*command, *arguments, "--out", str(Path(folder, "run"))],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        ) as process,
    ):  # fmt: skip
        try:
            error = process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired as late:
            raise NotRun(
                f"the training did not end in {seconds:.0f} s; give one as `training`"
            ) from late
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # with the workers of its environments
        if process.returncode:
            raise NotRun(f"the training failed: {error.strip()[-300:]}")
        return _difference(Path(folder, "run"))


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
    if scores := _given(subject):
        return scores
    scores = {"random": _by_task(_random_rows(subject))}
    with suppress(NotApplicable):
        rows = {**_mixtures(subject), "expert": expert_rows(subject)}
        scores |= {name: _by_task(episodes) for name, episodes in rows.items()}
    return scores


def _mixtures(subject: Subject) -> dict[str, Rows]:
    """Return the episodes of policies that act as the expert in a share of their turns.

    The share is bisected, so that one scores about half-way between random actions and the expert.
    """
    middle = (_mean_score(expert_rows(subject)) + _mean_score(_random_rows(subject))) / 2
    mixtures: dict[str, Rows] = {}
    low, high = 0.0, MOST_EXPERT
    for _ in range(MIXTURES):
        share, seed = (low + high) / 2, subject.seed
        make = partial(_mix, subject.env, share, seed)
        name = f"{share:.0%} expert"
        mixtures[name] = subject.rows(name, make, samples=SAMPLES)
        low, high = (low, share) if _mean_score(mixtures[name]) > middle else (share, high)
    return mixtures


def _mix(env: TextEnv, share: float, seed: int) -> MixedPolicy:
    return MixedPolicy(Expert(env), RandomPolicy(seed), share, seed)


def _random_rows(subject: Subject) -> Rows:
    return subject.rows("random", partial(RandomPolicy, subject.seed), samples=SAMPLES)


def _mean_score(rows: Rows) -> float:
    return sum(row.score for row in rows) / len(rows)


def _given(subject: Subject) -> dict[str, dict[str, float]]:
    return {report.policy: _by_task(report.rows) for report in subject.reports}


def _by_task(rows: Rows) -> dict[str, float]:
    """Return the mean score of each task."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        scores.setdefault(row.task_id, []).append(row.score)
    return {task_id: sum(values) / len(values) for task_id, values in scores.items()}
