"""Sizes of runs with a pretrained model: in general, of a family's training set, and quick ones.

What the tasks are, and who is imitated, is the same for every model: see `family_defaults`. A size
that a table leaves out is that of the table before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from trainers.config.sections import BaselineName

__all__ = ["ANY_TASKS", "ENOUGH", "GENERAL", "QUICK_SETS", "PretrainedSizes", "sizes_for"]


ENOUGH = 0.1
"""Share of validation tasks that a base model has to solve to begin reinforcement learning without
a warm start. At this success six in ten groups of eight episodes have one that succeeds; at a
fifth of it, one in seven."""


class PretrainedSizes(TypedDict, total=False):
    """Fields of `FamilyDefaults` that depend on what the policy is."""

    prompt: str
    horizon: tuple[int, ...]
    horizon_every: int
    steps: int
    groups: int
    rl_learning_rate: float
    warmup_steps: int
    turn_tokens: int
    episode_tokens: int
    demonstrations: int
    sft_steps: int
    sft_batch: int
    sft_learning_rate: float
    sft_eval_every: int
    target_success: float
    valid_every: int
    valid_tasks: int
    baselines: tuple[BaselineName, ...]
    eval_tasks: int


ANY_TASKS = PretrainedSizes(
    prompt="default",
    turn_tokens=256,
    episode_tokens=4096,
    # Far fewer than from scratch: the model can read, and learns how actions are written.
    demonstrations=512,
    sft_steps=64,
    sft_batch=8,
    sft_eval_every=32,
    target_success=0.5,
    baselines=(),
)
"""Any tasks of any family."""

GENERAL: PretrainedSizes = {
    **ANY_TASKS,
    "steps": 60,
    "groups": 8,
    "horizon_every": 20,
    "valid_every": 10,
    "valid_tasks": 64,
    "eval_tasks": 200,
}
"""The training set of any family, and the tasks of one without an entry."""

TRAINING_SETS: Mapping[str, PretrainedSizes] = {
    # Twice the longest action, and a full horizon of such turns with what the tasks answer.
    "alfworld": PretrainedSizes(turn_tokens=32, episode_tokens=800),
    "babyai": PretrainedSizes(turn_tokens=16, episode_tokens=1000),
    "database": PretrainedSizes(turn_tokens=64, episode_tokens=600),
    "mathpython": PretrainedSizes(turn_tokens=64, episode_tokens=256),
    "search": PretrainedSizes(turn_tokens=48, episode_tokens=800),
    "textcraft": PretrainedSizes(turn_tokens=48, episode_tokens=500),
    "textworld": PretrainedSizes(turn_tokens=24, episode_tokens=800),
    "webshop": PretrainedSizes(turn_tokens=32, episode_tokens=1000),
}
"""The training set of a family, whose actions are short."""

QUICK = PretrainedSizes(
    # Nothing but observations: a third of the tokens of the default prompt, and the demonstrations
    # show how actions are written.
    prompt="bare",
    demonstrations=320,
    sft_steps=40,
    steps=10,
    groups=3,
    warmup_steps=1,
    valid_every=5,
    valid_tasks=24,
    eval_tasks=100,
)
"""What is alike in all families under ``--quick``."""

QUICK_SETS: Mapping[str, PretrainedSizes] = {
    family: {**QUICK, "sft_eval_every": sizes.get("sft_steps", QUICK["sft_steps"]), **sizes}
    for family, sizes in {
        "alfworld": PretrainedSizes(turn_tokens=20, episode_tokens=500),
        "babyai": PretrainedSizes(turn_tokens=8, episode_tokens=700, sft_steps=60),
        "database": PretrainedSizes(
            turn_tokens=40,
            episode_tokens=300,
            sft_steps=60,
            demonstrations=480,
            steps=12,
            groups=4,
        ),
        "mathpython": PretrainedSizes(turn_tokens=40, episode_tokens=120),
        "search": PretrainedSizes(turn_tokens=40, episode_tokens=400, sft_steps=24),
        "textcraft": PretrainedSizes(turn_tokens=32, episode_tokens=250, sft_steps=60),
        "textworld": PretrainedSizes(turn_tokens=16, episode_tokens=450, sft_steps=60),
        "webshop": PretrainedSizes(turn_tokens=20, episode_tokens=700, sft_steps=60),
    }.items()
}
"""The training set of a family under ``--quick``, with 135 million weights on two cores of a CPU.

The warm start is validated once, at its end."""


def sizes_for(
    family: str, *, training_set: bool, quick: bool, short: bool
) -> PretrainedSizes | None:
    """Return the sizes of a run with a pretrained model; None if there are no quick ones.

    Args:
        family: Short name.
        training_set: Whether the tasks are those of the family's training set.
        quick: Whether they are to be those for a first look.
        short: Whether an action stands alone in a turn, without thoughts or the form of a call.
    """
    if quick and not (training_set and family in QUICK_SETS):
        return None
    sizes = ANY_TASKS
    if training_set:
        sizes = GENERAL | TRAINING_SETS.get(family, {})
    if quick:
        sizes = sizes | QUICK_SETS[family]
    if not short:
        sizes = sizes | PretrainedSizes(
            turn_tokens=ANY_TASKS["turn_tokens"], episode_tokens=ANY_TASKS["episode_tokens"]
        )
    return sizes
