"""Pretrained distillation: how many tokens does a student need to be as good as its teacher?

SmolLM2-135M-Instruct does sums of MathPython. For each seed one warm start is trained, and
``turn-loo`` goes on from it by reward alone. What it reaches is the level to be reached, and its
policy the teacher of all others, which begin with the same warm start: ``on-policy``, where the
student plays and the teacher scores its tokens (no reward); ``beside-reward``, which adds the
reward of ``turn-loo``; and ``off-policy``, the baseline, which imitates episodes that the teacher
has played on training tasks and solved. Tokens are those that the policy wrote; off-policy, those
that the teacher wrote for it.

Smallest run: ``--seeds 1 --only on-policy --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.runner.curves_picture import draw_success
from benchmarks.studies.runner.measures import Curve, at_equal, tokens_to, validation_curve
from benchmarks.studies.runner.recorded import RECORDED
from benchmarks.studies.runner.study import BEFORE, Arm, Runs, Study
from trainers.output.jsonl import read_jsonl
from trainers.output.phase import Phase
from trainers.output.roles import TRAINED, WARM_START
from trainers.output.seed_summary import spread
from trainers.phases.multirun.played import PlayedRun

REWARD, OFF_POLICY = "turn-loo", "off-policy"
VALID_TASKS = 48
IMITATED = 8
"""Episodes of the teacher in a step of imitation."""
IMITATION_STEPS = 30
"""After these as many of the teacher's episodes are imitated as the others play in ten steps."""
COMMON = f"--env mathpython --quick --eval.valid-tasks {VALID_TASKS} --eval.every 1"
STUDENT = f"{COMMON} --model smollm2 --rl.num-generations 8 --eval.baselines none"
DISTILLED = f"{STUDENT} --preset on-policy-distillation --distill.teacher {BEFORE}"
IMITATING = (
    f"{COMMON} --model {BEFORE}/checkpoints/{WARM_START} --eval.baselines none --steps 1 "
    f"--sft.episodes {BEFORE}/{RECORDED}/episodes.jsonl --sft.batch-size {IMITATED} "
    f"--sft.max-steps {IMITATION_STEPS} --sft.eval-every 3 --sft.eval-tasks {VALID_TASKS} "
    "--sft.target-success 2"
)
"""No validation ends the imitation; the one step of reinforcement learning after it is not read."""
TEACHER = Arm(REWARD, tuple(STUDENT.split()))


def measure(runs: Runs) -> dict[str, Any]:
    """Return how many tokens each arm took to the teacher's level, and what it reached."""
    teachers = {run.seed: run for run in runs.get(REWARD, ())}
    teacher_curves = {seed: validation_curve(run) for seed, run in teachers.items()}
    levels = {seed: plateau(curve) for seed, curve in teacher_curves.items()}
    return {
        "levels": levels,
        "arms": {
            name: _arm(
                name,
                [run for run in arm_runs if run.seed in teachers],
                {
                    run.seed: imitation_curve(run, teachers[run.seed], teacher_curves[run.seed])
                    if name == OFF_POLICY
                    else validation_curve(run)
                    for run in arm_runs
                    if run.seed in teachers
                },
                teacher_curves,
                teachers,
            )
            for name, arm_runs in runs.items()
        },
    }


def _arm(
    name: str,
    arm_runs: Sequence[PlayedRun],
    curves: Mapping[int, Curve],
    teacher_curves: Mapping[int, Curve],
    teachers: Mapping[int, PlayedRun],
) -> dict[str, Any]:
    """Return the figures of an arm, seed by seed beside the teachers."""
    successes = [_success(run, name) for run in arm_runs]
    teacher_successes = [_success(teachers[run.seed], REWARD) for run in arm_runs]
    equal = [at_equal([curves[seed], teacher_curves[seed]], "sampled") for seed in curves]
    return {
        "seeds": list(curves),
        "success": spread(successes, (0.0, 1.0)),
        "minus_turn_loo": spread(
            [a - b for a, b in zip(successes, teacher_successes, strict=True)]
        ),
        "tokens_to_level": [
            tokens_to(curve, plateau(teacher_curves[seed])) for seed, curve in curves.items()
        ],
        "success_at_equal_tokens": spread([pair[0] for pair in equal]),
        "minus_turn_loo_at_equal_tokens": spread([pair[0] - pair[1] for pair in equal]),
        "cpu_minutes": [run.summary["cpu_s"] / 60 for run in arm_runs],
        "curves": [{"seed": seed, **curve} for seed, curve in curves.items()],
    }


def _success(run: PlayedRun, name: str) -> float:
    """Return the success on held-out tasks; off-policy, the warm start is what was distilled."""
    policy = WARM_START if name == OFF_POLICY else TRAINED
    success: float = run.summary["eval"][policy]["success"]
    return success


def plateau(curve: Curve) -> float:
    """Return the mean validation success of the second half of a run, which is its level."""
    success = curve["success"]
    return float(np.mean(success[len(success) // 2 :]))


def imitation_curve(run: PlayedRun, teacher: PlayedRun, teacher_curve: Curve) -> Curve:
    """Return success on validation tasks over the tokens of the teacher that were imitated.

    Args:
        run: The run that imitates.
        teacher: The run of its teacher, with recorded episodes.
        teacher_curve: The teacher's own curve, which begins with the same warm start.
    """
    episodes = read_jsonl(teacher.folder / RECORDED / "episodes.jsonl")
    solved = [episode["turns"] for episode in episodes if episode["success"]]
    tokens_per_success = sum(turn["completion_tokens"] for turns in solved for turn in turns) / len(
        solved
    )
    points = [
        (record["step"] * IMITATED * tokens_per_success, record["success"])
        for record in run.records
        if record["phase"] == Phase.WARM_START and "success" in record
    ]
    return {
        "sampled": [0.0, *(tokens for tokens, _ in points)],
        "success": [teacher_curve["success"][0], *(success for _, success in points)],
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw validation success over tokens."""
    label = "tokens the policy wrote (dashed: the teacher wrote)"
    draw_success(result["arms"], path, "sampled", label, dashed=(OFF_POLICY,))


STUDY = Study(
    name="pretrained_distillation",
    question="How many tokens does a student write until it is as good as its teacher?",
    arms=[
        TEACHER,
        Arm("on-policy", tuple(DISTILLED.split()), after=TEACHER),
        Arm(
            "beside-reward",
            tuple(f"{DISTILLED} --distill.reward-weight 1".split()),
            after=TEACHER,
        ),
        Arm(OFF_POLICY, tuple(IMITATING.split()), after=TEACHER),
    ],
    measure=measure,
    draw=draw,
    recorded=("mathpython:easy", "--split", "train", "--num-tasks", "240"),
)
