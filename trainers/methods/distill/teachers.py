"""Teachers: a model in this process, the policy itself, or a model on a vLLM server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from peft import PeftModel
from torch import Tensor, nn
from trl.trainer.utils import add_fused_lm_head

from agentgym.errors import ConfigurationError, NotSupported
from trainers.config.model_files.precision import weights_dtype
from trainers.config.resolve import ResolvedRun
from trainers.grpo.step_part import MakeStepPart, StepContext
from trainers.methods.distill.privileged import PlanReader
from trainers.methods.distill.served import ServedTeacher
from trainers.methods.distill.settings import CURRENT, START, DistillConfig, distillation_of
from trainers.methods.distill.teacher import Teacher
from trainers.methods.distill.teacher_names import load_tokenizer, teacher_folder
from trainers.methods.distill.vocabulary import check_vocabulary
from trainers.methods.expert_plans import ExpertPlans
from trainers.methods.method import section_of
from trainers.models.loaded_policy import LoadedPolicy
from trainers.models.saved_weights import load_weights
from trainers.models.torch_setup import device
from trainers.rollouts.scoring.forward import TokenForward
from trainers.rollouts.trajectory import Trajectory

__all__ = ["CurrentTeacher", "ModelTeacher", "PrivilegedTeacher", "StartTeacher", "teacher_part"]


def teacher_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of a run's teacher.

    Args:
        run: The run.
        policy: The student.

    Raises:
        ConfigurationError: There is no run, or the teacher cannot be loaded, has other tokens than
            the student, or reads less than it.
    """
    signal = None if run is None else distillation_of(run.preset)
    if run is None or policy is None or signal is None:
        raise ConfigurationError(
            "expected a teacher, which no setting names: pass parts={'distill': ...} to "
            "MultiTurnTrainer, for example partial(ModelTeacher, model, 256)"
        )
    settings, chat = section_of(run.config, DistillConfig), policy.chat
    reads = policy.budget.context
    make: Callable[[StepContext], Teacher]
    if settings.url:
        served = ServedTeacher(settings.url, chat, least=reads)
        make, context = (lambda context: served), served.context
    elif settings.teacher in (START, CURRENT):
        make = StartTeacher if settings.teacher == START else CurrentTeacher
        context = _positions(policy.model)
    else:
        folder = teacher_folder(str(settings.teacher))
        check_vocabulary(chat.tokenizer, load_tokenizer(folder), str(settings.teacher))
        dtype = weights_dtype(run.config.memory.precision, frozen=True)
        model = load_weights(folder, dtype=dtype).to(device())
        context = _positions(model)
        _check_reads(str(settings.teacher), context, reads)
        make = partial(ModelTeacher, model, run.config.memory.logits_mib)
    if signal.privileged == "none":
        return make
    reader = PlanReader(chat, ExpertPlans.of_run(run), context)
    return lambda context: PrivilegedTeacher(make(context), reader)


class ModelTeacher(Teacher):
    """A model in this process, with frozen weights.

    Args:
        model: A causal language model, or adapters over one.
        logits_mib: Maximum memory for logits.
        context: Parts of the trainer that it uses.
    """

    def __init__(self, model: nn.Module, logits_mib: int, context: StepContext) -> None:
        self._model = model.eval().requires_grad_(False)
        base: Any = model.get_base_model() if isinstance(model, PeftModel) else model
        outputs = ("log_probs", "entropy")
        add_fused_lm_head(base, temperature=context.temperature, outputs=outputs)
        self._forward = TokenForward(context.accelerator, model, logits_mib=logits_mib)
        self._context = context

    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return log-probabilities (B, T); see ``Teacher``."""
        return self._forward.logps(self._model, batch, self._context.passes(batch))


class StartTeacher(Teacher):
    """The policy that training began with: without the trainer's adapters, or a frozen copy.

    Raises:
        NotSupported: DeepSpeed has divided the policy's weights among processes.
    """

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._copy: nn.Module | None = None
        if not context.own_adapters and context.forward.reference is None:
            if any(hasattr(weight, "ds_id") for weight in context.policy.parameters()):
                raise NotSupported(
                    "expected a launch with ddp, fsdp2 or zero2 for a teacher that is a copy of "
                    "the policy, got zero3"
                )
            self._copy = copy.deepcopy(context.policy).eval().requires_grad_(False)
            self._copy.to(context.accelerator.device)

    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return log-probabilities (B, T); see ``Teacher``."""
        context = self._context
        passes = context.passes(batch)
        if self._copy is not None:
            return context.forward.logps(self._copy, batch, passes)
        return context.forward.reference_logps(context.wrapped(), batch, passes)


class CurrentTeacher(Teacher):
    """The policy as it is."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return log-probabilities (B, T); see ``Teacher``."""
        context = self._context
        passes = context.passes(batch)
        return context.forward.logps(context.wrapped(), batch, passes)


class PrivilegedTeacher(Teacher):
    """A teacher that reads the expert's plan before the prompts.

    Args:
        teacher: The teacher.
        reader: Puts the plans there.
    """

    def __init__(self, teacher: Teacher, reader: PlanReader) -> None:
        self._teacher, self._reader = teacher, reader

    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return log-probabilities (B, T) of the student's tokens; see ``Teacher``."""
        return self._teacher.logps(self._reader(batch, episodes), episodes)

    def close(self) -> None:
        """Close the environments of the plans."""
        self._reader.close()


def _positions(model: nn.Module) -> int:
    """Return how many tokens a model reads at most."""
    config: Any = model.config
    return int(getattr(config.get_text_config(), "max_position_embeddings", 1 << 15))


def _check_reads(name: str, context: int, least: int) -> None:
    """Check that a teacher reads all that the student may read.

    Raises:
        ConfigurationError: It reads less.
    """
    if context < least:
        raise ConfigurationError(
            f"expected a teacher that reads at least the {least} tokens of the policy's longest "
            f"episodes, but {name} reads {context}: lower --rl.episode-tokens, or choose another"
        )
