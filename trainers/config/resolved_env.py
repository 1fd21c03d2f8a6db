"""An environment of a run, with every setting resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym.conversation import Layout, Prompt
from agentgym.core.env import TextEnv
from agentgym.core.hooks import CostReward, JudgedReward, TurnReward
from agentgym.core.tasks import Panel
from agentgym.registration import making
from agentgym.registration.imports import split
from agentgym.rewards import InvalidAction, SuccessBonus, parse_hooks
from agentgym.support.redaction import for_others
from agentgym.vector.backends import preferred_backend
from trainers.algorithms.sampling import SamplerMaker
from trainers.algorithms.schedule import Gated, Schedule, Stages
from trainers.config.family_defaults import FamilyDefaults, defaults_for, source_of
from trainers.config.own_parts import find_schedule
from trainers.rollouts.task_feed import TrainingTasks

__all__ = ["EXPERT", "TEST", "TRAIN", "VALID", "ResolvedEnv", "names_hook"]

TRAIN, VALID, TEST = "train", "valid", "test"
"""Splits: to learn from, to decide by, to compare on."""
EXPERT = "expert"
"""Argument of an environment that selects its expert."""


@dataclass(frozen=True)
class ResolvedEnv:
    """An environment of a run."""

    name: str
    """Its name within the run and in results."""
    family: str
    """Short name of its family."""
    asked: str
    """As requested: a short name, one of its task sets, an id, or ``MODULE:ID``."""
    env_id: str
    """Gymnasium id."""
    kwargs: Mapping[str, Any]
    """Keyword arguments."""
    prompt: str
    """Name of the prompt."""
    layout: Layout
    """How the messages to the policy are laid out."""
    weight: float
    """Share of the tasks of training, relative to the weights of the others."""
    schedule: str
    """``MODULE:NAME`` of a user's schedule; empty: the stages."""
    rounds: tuple[int, ...]
    """Maximum turns of each stage, or all that a user's schedule may return."""
    horizon_every: int
    """Steps per stage."""
    horizon_gate: float | None
    """Success at which the next stage begins; None: after ``horizon_every`` steps."""
    fit_horizon: bool
    """Whether a stage draws only tasks whose expert needs no more turns than its horizon."""
    full_horizon: int
    """Turns of an evaluation episode."""
    success_bonus: float
    """Reward of the turn that solves the task; 0: none, or a hook's."""
    invalid_penalty: float
    """Penalty for an invalid turn; 0: none, or set by a hook or by the preset."""
    reward_hooks: tuple[str, ...]
    """Further turn-level rewards."""
    target_success: float
    """Validation success at which the warm start ends."""
    eval_tasks: int
    """Held-out tasks of the comparison."""
    has_expert: bool
    """Whether there is an expert, which sets the scale of scores and may be imitated."""
    validates: bool
    """Whether it has validation tasks."""
    quick: bool
    """Whether its sizes are those of ``--quick``."""
    pretrained: bool
    """Whether its sizes are for a pretrained model."""
    demonstrator: str
    """The demonstrator: ``expert``, ``random`` (actions), ``episodes`` (of files), or empty:
    none."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Source of each setting that flags leave open, such as ``eval.num_tasks``."""
    grammar: str = "native"
    """How actions are written."""
    grammar_reason: str = field(default="", compare=False)
    """Why this grammar was chosen; empty if it was requested."""

    @property
    def shown_kwargs(self) -> Mapping[str, Any]:
        """Its keyword arguments without secrets: what reports and cards show."""
        return for_others(self.kwargs)

    @property
    def defaults(self) -> FamilyDefaults:
        """Its family's defaults for these tasks."""
        return self._defaults(self.quick)

    def source_of(self, name: str) -> str:
        """Return the source of a field of `defaults`, see `family_defaults.source_of`."""
        return source_of(name, self.defaults, self._defaults(quick=False), self.pretrained)

    def _defaults(self, quick: bool) -> FamilyDefaults:
        task_set = making.resolve(self.asked).task_set
        return defaults_for(self.family, self.kwargs, quick, task_set, self.pretrained)

    @property
    def title(self) -> str:
        """Its displayed name, such as ``webshop:easy``."""
        return making.env_name(self.env_id, self.kwargs)

    @property
    def label(self) -> str:
        """Its displayed name among several environments."""
        is_renamed = self.name != making.resolve(self.asked).short
        return f"{self.name} ({self.title})" if is_renamed else self.title

    @property
    def module(self) -> str:
        """The user's module that registers it; empty: a built-in environment."""
        module, colon, _ = self.asked.rpartition(":")
        is_builtin = not colon or split(self.asked) or making.resolve(self.asked).task_set
        return "" if is_builtin else module

    @property
    def most_turns(self) -> int:
        """Maximum turns of an episode in training or evaluation."""
        return max(*self.rounds, self.full_horizon)

    @property
    def delegates(self) -> bool:
        """Whether the policy may delegate parts of a task to workers."""
        return bool(self.kwargs.get("worker_turns"))

    @property
    def settings(self) -> dict[str, Any]:
        """The run's settings that it resolves if it is the only environment; see `sources`."""
        return {
            "horizon": self.schedule or ",".join(map(str, self.rounds)),
            "horizon_every": self.horizon_every,
            "fit_horizon": self.fit_horizon,
            "eval.horizon": self.full_horizon,
            "eval.num_tasks": self.eval_tasks,
            "sft.target_success": self.target_success,
            "rl.success_bonus": self.success_bonus,
        }

    @property
    def prices_invalid_by_hook(self) -> bool:
        """Whether a requested hook penalises invalid turns."""
        return names_hook(self.reward_hooks, "invalid_action")

    @property
    def judges(self) -> list[JudgedReward]:
        """The hooks that ask a judge outside of the environment."""
        return [hook for hook in self.make_hooks() if isinstance(hook, JudgedReward)]

    @property
    def costs(self) -> list[CostReward]:
        """The hooks that count costs."""
        return [hook for hook in self.make_hooks() if isinstance(hook, CostReward)]

    def make_schedule(self) -> Schedule:
        """Make the schedule of turns; a gated one keeps the success that it was told."""
        if self.schedule:
            return find_schedule(self.schedule)
        if self.horizon_gate is None:
            return Stages(self.rounds, self.horizon_every)
        return Gated(self.rounds, self.horizon_gate, self.horizon_every)

    def make_hooks(self) -> list[TurnReward]:
        """Make the turn-level rewards that training adds to the family's own."""
        hooks: list[TurnReward] = []
        if self.success_bonus:
            hooks.append(SuccessBonus(self.success_bonus))
        if self.invalid_penalty:
            hooks.append(InvalidAction(self.invalid_penalty))
        return [*hooks, *parse_hooks(self.reward_hooks)]

    def make_training_tasks(self, seed: int, sampler: SamplerMaker) -> TrainingTasks:
        """Make the source of training tasks."""
        env = self.make_env()
        try:
            return TrainingTasks(
                env.tasks, TRAIN, seed, self.fit_horizon, sampler, env.plan_horizon
            )
        finally:
            env.close()

    def panel(self, split: str, limit: int) -> Panel:
        """Choose at most ``limit`` tasks that depend on neither seed nor settings of training."""
        env = self.make_env()
        try:
            return env.tasks.panel(split, min(limit, env.tasks.len(split)))
        finally:
            env.close()

    def make_env(self, **extra: Any) -> TextEnv:
        """Make one environment, with further keyword arguments.

        Raises:
            ConfigurationError: The environment does not take these arguments.
        """
        return making.make_env(self.env_id, {**self.kwargs, **extra}, "--env-kwargs")

    def make_prompt(self) -> Prompt:
        """Make the prompt."""
        env = self.make_env()
        try:
            return Prompt.at(env, self.layout, self.prompt)
        finally:
            env.close()

    @property
    def backend(self) -> str:
        """The back end that suits the environment best."""
        return preferred_backend(self.env_id, self.kwargs)


def names_hook(hooks: Sequence[str], name: str) -> bool:
    """Return whether some reward hooks include one of this name."""
    return name in {hook.name for hook in parse_hooks(hooks)}
