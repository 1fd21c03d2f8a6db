"""From a configuration to a checked plan: every choice made before anything expensive begins."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from agentgym.cli import making
from agentgym.core import TextEnv
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure
from trainers.algorithms.presets import SERVES, get_preset
from trainers.algorithms.recipe import Preset
from trainers.algorithms.schedule import Stages, parse_horizon
from trainers.arguments import loss_arguments
from trainers.config import TrainConfig, parse_env_args, validate
from trainers.defaults import FamilyDefaults, defaults_for
from trainers.feed import TaskFeed, knows_oracle_lengths

logger = logging.getLogger(__name__)

DEFAULT_MINUTES = 12.0
"""Of the default run, which is to end within 15 minutes, evaluation included."""
DEFAULT_PANEL = 500
"""Evaluation tasks where the settings are silent and the test split has as many."""
TRAIN, VALID, TEST = "train", "valid", "test"
STARTS = 20
"""Tasks that are tried in the search for one that starts."""


@dataclass(frozen=True)
class Plan:
    """A run with every default filled in."""

    config: TrainConfig
    """The settings that were asked for."""
    family: str
    """Short name of the environment family."""
    env_id: str
    """Gymnasium id."""
    env_kwargs: Mapping[str, Any]
    """Keyword arguments of the environment."""
    schedule: Stages
    """Turns that an agent may take, by step."""
    fit: bool
    """Whether a stage draws only tasks whose expert plan fits its horizon."""
    steps: int
    """Reinforcement learning steps."""
    preset: Preset
    """Credit assignment and loss."""
    defaults: FamilyDefaults
    """What holds where the settings are silent."""
    eval_tasks: int
    """Held-out tasks on which policies are compared."""
    out: Path
    """Folder of the run."""
    has_expert: bool = True
    """Whether the environment knows an expert: without one there are no demonstrations."""

    @property
    def seconds(self) -> float:
        """Wall time after which training is cut short."""
        minutes = self.config.minutes
        if minutes is None:
            tiny = self.config.model == "tiny" and self.config.steps is None
            minutes = DEFAULT_MINUTES if tiny else 0.0
        return 60 * minutes if minutes else math.inf

    @property
    def template_args(self) -> dict[str, Any]:
        """Arguments of the chat template."""
        return parse_env_args(self.config.template_args, "--template-args")

    def resolved(self) -> dict[str, Any]:
        """Return what the settings leave open, as it was filled in: kept with the run."""
        return {
            "env_id": self.env_id,
            "env": dict(self.env_kwargs),
            "rounds": list(self.schedule.rounds),
            "every": self.schedule.every,
            "fit": self.fit,
            "steps": self.steps,
            "gate_success": self.gate_success,
            "eval_tasks": self.eval_tasks,
        }

    @property
    def gate_success(self) -> float:
        """Validation success at which the warm start ends."""
        asked = self.config.sft.gate_success
        return self.defaults.gate if asked is None else asked

    @property
    def full_horizon(self) -> int:
        """Turns of an evaluation episode."""
        return self.config.eval.horizon or int(max(self.schedule.rounds))

    def make_env(self, **extra: Any) -> TextEnv:
        """Make one environment of the run.

        Args:
            **extra: Further keyword arguments.

        Raises:
            ConfigurationError: The environment does not take these arguments.
        """
        return make_env(self.env_id, {**self.env_kwargs, **extra})


def make_env(env_id: str, kwargs: Mapping[str, Any]) -> TextEnv:
    """Make an environment, with wrong keyword arguments as a clear error.

    Raises:
        ConfigurationError: The environment does not take one of the arguments.
    """
    return making.make_env(env_id, kwargs, "--env-args")


class GuardedEnv(gymnasium.Wrapper[str, str, str, str]):
    """Turns whatever an environment raises into :class:`EnvFailure`, as the vector env does.

    Errors of agentgym's own, such as an unknown task, pass through.

    Args:
        base: The environment.
    """

    def __init__(self, base: TextEnv) -> None:
        super().__init__(base)
        self.base = base

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """That of the environment: the guard changes nothing of what is played."""
        return self.env.spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode."""
        with failures_as_env_failure():
            return self.env.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn."""
        with failures_as_env_failure():
            observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward), terminated, truncated, info


@contextmanager
def failures_as_env_failure() -> Iterator[None]:
    """Raise what an environment raises as an ``EnvFailure``."""
    try:
        yield
    except AgentGymError:
        raise
    except Exception as error:
        logger.warning("an environment failed; its episode is left out", exc_info=error)
        raise EnvFailure(f"{type(error).__name__}: {error}") from error


def make_plan(config: TrainConfig) -> Plan:
    """Check a configuration and fill in what it leaves open.

    Args:
        config: The settings.

    Returns:
        The plan.

    Raises:
        AgentGymError: A setting names something that does not exist, or is out of range.
    """
    validate(config)
    name, env_id = making.resolve(config.env)
    asked = parse_env_args(config.env_args)
    defaults = defaults_for(name).suited(asked)
    kwargs = {**defaults.env, **asked}
    try:
        preset = get_preset(config.preset)
        preset.require(SERVES)
        loss_arguments(preset.loss)
        schedule = _schedule(config, defaults)
    except AgentGymError:
        raise
    except (KeyError, ValueError) as error:
        raise ConfigurationError(str(error.args[0])) from error
    kwargs.setdefault("max_turns", config.eval.horizon or int(max(schedule.rounds)))
    env = make_env(env_id, kwargs)
    try:
        fit = _fit(config.fit, env)
        expert = _has_expert(env)
        panel = _panel_size(config, env)
        # A first stage that no task fits is noticed now, not after the warm start.
        feed = TaskFeed(env.tasks, TRAIN, config.seed, fit)
        feed.draw(1, config.rl.groups, min(schedule.rounds))
    finally:
        env.close()
    if config.sft.max_steps and not expert:
        raise ConfigurationError(
            f"expected --sft.max-steps 0, because {env_id} has no expert whose episodes could be "
            f"imitated; got {config.sft.max_steps}"
        )
    model = Path(config.model).name
    out = config.out or Path("runs") / f"{name}-{model}-seed{config.seed}"
    steps = config.steps or defaults.steps
    return Plan(
        config, name, env_id, kwargs, schedule, fit, steps, preset, defaults, panel, out, expert
    )


def _schedule(config: TrainConfig, defaults: FamilyDefaults) -> Stages:
    """Build the horizon schedule."""
    every = config.every or defaults.every
    default = ",".join(map(str, defaults.horizon))
    text = default if config.horizon is None else config.horizon
    schedule = parse_horizon(text, every)
    stages = schedule if isinstance(schedule, Stages) else Stages((int(schedule(1)),), every)
    if list(stages.rounds) != sorted(stages.rounds):
        raise ConfigurationError(
            f"expected --horizon to grow from stage to stage, such as 5,8,10; got {text!r}"
        )
    return stages


def _fit(asked: bool | None, env: TextEnv) -> bool:
    """Decide on ``fit``; refuse it where nothing is known about the expert's plans."""
    known = knows_oracle_lengths(env.tasks, TRAIN)
    if asked and not known:
        raise ConfigurationError(
            f"expected --fit only where the expert's plan lengths are known, but {env.tasks.name} "
            "does not know them; pass --no-fit"
        )
    return known if asked is None else asked


def _has_expert(env: TextEnv) -> bool:
    """Return whether an expert can say what to do in the first training task that starts."""
    for index in range(min(STARTS, env.tasks.len(TRAIN))):
        try:
            env.reset(seed=0, options={"split": TRAIN, "index": index})
        except Exception:
            logger.info("task %d of %s does not start", index, env.tasks.name, exc_info=True)
        else:
            return env.oracle_action() is not None
    return True  # Whatever fails is reported by the phases that play.


def _panel_size(config: TrainConfig, env: TextEnv) -> int:
    """Return the number of evaluation tasks; refuse more than the test split has."""
    size, asked = env.tasks.len(TEST), config.eval.tasks
    if asked is not None and asked > size:
        raise ConfigurationError(
            f"expected --eval.tasks of at most {size}, the size of the test split of "
            f"{env.tasks.name}; got {asked}"
        )
    return min(DEFAULT_PANEL, size) if asked is None else asked
