"""The values of ``--distill.teacher``, checked without loading weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.support.text_lines import error_line
from trainers.config.model_files.adapter_folder import base_of, has_adapters
from trainers.config.model_files.source import MODEL_NAMES, model_folder, problem_of
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.methods.distill.settings import CURRENT, START, DistillConfig, distillation_of
from trainers.methods.distill.vocabulary import check_vocabulary
from trainers.methods.method import section_of
from trainers.output.run_checkpoints import chosen_checkpoint, has_weights, run_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = [
    "check_teacher",
    "load_tokenizer",
    "teacher_folder",
    "teacher_tokenizer",
    "teacher_weights",
]


def check_teacher(run: ResolvedRun) -> None:
    """Check, before loading, that the teacher exists and has the student's tokens.

    Raises:
        ConfigurationError: There is none, or its tokens differ.
    """
    tokens = teacher_tokenizer(run)
    if tokens is not None and run.config.model != TINY:
        student = load_tokenizer(model_folder(run.config.model))
        check_vocabulary(student, tokens, str(section_of(run.config, DistillConfig).teacher))


def teacher_tokenizer(run: ResolvedRun) -> PreTrainedTokenizerBase | None:
    """Return the tokenizer of a run's teacher, which a tiny policy is made with.

    None: the run has no teacher, or it is the policy itself or on a server.

    Raises:
        ConfigurationError: It cannot be loaded.
    """
    name = section_of(run.config, DistillConfig).teacher
    if distillation_of(run.preset) is None or name in (None, START, CURRENT):
        return None
    return load_tokenizer(teacher_folder(str(name)))


def teacher_folder(name: str) -> Path:
    """Return the folder of the model that a teacher's name stands for.

    Args:
        name: A folder of a run or of a checkpoint in one, or a model as ``--model`` names it.

    Raises:
        ConfigurationError: There is no such model.
    """
    path = Path(name)
    run = run_of(path) if path.is_dir() else None
    if run is not None and (run == path.resolve() or has_weights(path)):
        return chosen_checkpoint(run, path)
    if problem := problem_of(name):
        raise ConfigurationError(
            "expected --distill.teacher to be the folder of a run or of a checkpoint in one, "
            f"{MODEL_NAMES}, or the policy itself ({START} or {CURRENT}), got {name!r:.200}: "
            f"{problem}"
        )
    return model_folder(name)


def teacher_weights(name: str) -> int:
    """Return how many weights a teacher has, below adapters those of their base.

    Raises:
        ConfigurationError: There is no such model.
    """
    from transformers import AutoConfig

    from trainers.models.memory import ModelShape

    folder = teacher_folder(name)
    place = base_of(folder) if has_adapters(folder) else str(folder)
    return ModelShape.of(AutoConfig.from_pretrained(place)).parameters


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a teacher or a student.

    Raises:
        ConfigurationError: It cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder))
    except Exception as error:  # damaged files fail in as many ways as there are parsers
        raise ConfigurationError(
            f"expected a model with a tokenizer, got {folder}, which has none that can be "
            f"loaded: {error_line(error)}"
        ) from error
