"""The row of on-policy distillation in the table of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentgym.trust.table import ADDRESS, PLAIN, Entry, is_public_model
from trainers.methods.distill.credit import TEACHER, ReverseKL
from trainers.methods.distill.presets import PRESETS
from trainers.methods.distill.settings import (
    CURRENT,
    START,
    DistillConfig,
    check_distillation,
    default_teacher,
    has_teacher,
    values_of_distillation,
    with_distillation,
)
from trainers.methods.method import Method, MethodMemory, section_of

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.memory import ModelShape, TrainingSetup

ADVICE = "a smaller --distill.teacher, or one on a server (--distill.url)"
"""How to reduce the memory of a teacher."""


def _memory(run: ResolvedRun, shape: ModelShape, training: TrainingSetup) -> MethodMemory:
    """Return the memory of a teacher: the initial weights, shared with a reference, or its own.

    Raises:
        ConfigurationError: There is no such teacher.
    """
    name = section_of(run.config, DistillConfig).teacher
    if name in (None, START, CURRENT):
        return MethodMemory(reference=name == START)
    from trainers.methods.distill.teacher_names import teacher_weights

    return MethodMemory("teacher", teacher_weights(str(name)) * training.low, ADVICE)


METHOD = Method(
    name="distill",
    needs=(TEACHER,),
    provides=has_teacher,
    presets={"dpo": PRESETS},
    parts={"signal": (ReverseKL,)},
    section=DistillConfig,
    start_settings=("teacher",),
    trust={
        "teacher": Entry("path", lambda value: value in (START, CURRENT) or is_public_model(value)),
        "url": ADDRESS,
        **dict.fromkeys(("weight", "reward_weight", "privileged"), PLAIN),
    },
    extend_preset=with_distillation,
    preset_values=values_of_distillation,
    defaults=default_teacher,
    check=check_distillation,
    check_start="trainers.methods.distill.teacher_names:check_teacher",
    tokenizer="trainers.methods.distill.teacher_names:teacher_tokenizer",
    memory=_memory,
    step_part="trainers.methods.distill.teachers:teacher_part",
)
