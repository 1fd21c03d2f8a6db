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

from agentgym import making
from agentgym.core import TextEnv
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure
from trainers.algorithms.presets import SERVES, Preset, get_preset
from trainers.algorithms.schedule import Stages
from trainers.config.families import FamilyDefaults, defaults_for
from trainers.config.resolve import differences, resolve, stages
from trainers.config.schema import TrainConfig, known, override, parse_env_args, validate
from trainers.grpo.arguments import OPTIMISER, loss_arguments
from trainers.rollouts.tasks import TrainingTasks, knows_oracle_lengths

logger = logging.getLogger(__name__)

DEFAULT_PANEL = 500
"""Evaluation tasks where the settings are silent and the test split has as many."""
TRAIN, VALID, TEST = "train", "valid", "test"
STARTS = 20
"""Tasks that are tried in the search for one that starts."""


@dataclass(frozen=True)
class Plan:
    """A run with every default filled in."""

    config: TrainConfig
    """The settings, with every default filled in: of those that decide a number none is None."""
    filled: Mapping[str, Any]
    """What was filled in, by setting: the difference to what was asked for."""
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
    has_expert: bool
    """Whether the environment knows an expert: without one there are no demonstrations."""
    steps: int
    """Reinforcement learning steps: batches of episodes."""
    preset: Preset
    """Credit assignment and loss."""
    defaults: FamilyDefaults
    """What holds where settings and preset are silent."""
    eval_tasks: int
    """Held-out tasks on which policies are compared."""
    out: Path
    """Folder of the run."""

    @property
    def seconds(self) -> float:
        """Wall time after which training is cut short."""
        return 60 * self.config.minutes if self.config.minutes else math.inf

    @property
    def template_args(self) -> dict[str, Any]:
        """Arguments of the chat template."""
        return parse_env_args(self.config.template_args, "--template-args")

    @property
    def updates(self) -> int:
        """Updates of the weights per step."""
        settings = self.config.rl
        return known(settings.minibatches) * known(settings.iterations)

    def resolved(self) -> dict[str, Any]:
        """Return what the settings leave open, as it was filled in: kept with the run."""
        return {
            "env_id": self.env_id,
            "env": dict(self.env_kwargs),
            "rounds": list(self.schedule.rounds),
            **self.filled,
            "preset_parts": self.preset.described(),
            "optimiser": dict(OPTIMISER),
        }

    @property
    def gate_success(self) -> float:
        """Validation success at which the warm start ends."""
        return known(self.config.sft.gate_success)

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
    arguments = parse_env_args(config.env_args)
    defaults = defaults_for(name).suited(arguments)
    kwargs = {**defaults.env, **arguments}
    with _as_configuration_error():
        preset = get_preset(config.preset)
        preset.require(SERVES)
        loss_arguments(preset.loss)
        settings = resolve(config, preset, defaults)
        schedule = stages(settings, _most_turns(arguments) if config.horizon is None else None)
    full = settings.eval.horizon or int(max(schedule.rounds))
    kwargs.setdefault("max_turns", full)
    env = make_env(env_id, kwargs)
    try:
        expert = _has_expert(env)
        settings = override(settings, _open_to_env(config, settings, env, expert))
        # A first stage that no task fits is noticed now, not after the warm start.
        feed = TrainingTasks(env.tasks, TRAIN, config.seed, bool(settings.fit))
        feed.draw(1, known(settings.rl.groups), min(schedule.rounds))
    finally:
        env.close()
    rounds = ",".join(map(str, schedule.rounds))
    settings = override(settings, {"horizon": rounds, "eval": {"horizon": full}})
    model = Path(config.model).name
    return Plan(
        config=settings,
        filled=differences(config, settings),
        family=name,
        env_id=env_id,
        env_kwargs=kwargs,
        schedule=schedule,
        fit=bool(settings.fit),
        has_expert=expert,
        steps=known(settings.steps),
        preset=preset.with_invalid_penalty(known(settings.rl.invalid_penalty)),
        defaults=defaults,
        eval_tasks=known(settings.eval.tasks),
        out=config.out or Path("runs") / f"{name}-{model}-seed{config.seed}",
    )


@contextmanager
def _as_configuration_error() -> Iterator[None]:
    """Raise what the algorithms say about a wrong value as an error of the settings."""
    try:
        yield
    except AgentGymError:
        raise
    except (KeyError, ValueError) as error:
        raise ConfigurationError(str(error.args[0])) from error


def _most_turns(arguments: Mapping[str, Any]) -> int | None:
    """Return the ``max_turns`` the environment was asked for with, if it is a number of turns."""
    turns = arguments.get("max_turns")
    return turns if isinstance(turns, int) and turns > 0 else None


def _open_to_env(
    asked: TrainConfig, settings: TrainConfig, env: TextEnv, expert: bool
) -> dict[str, Any]:
    """Return the settings that depend on what the environment is."""
    if asked.sft.max_steps and not expert:
        raise ConfigurationError(
            f"expected --sft.max-steps 0, because {env.tasks.name} has no expert whose "
            f"demonstrations a warm start could imitate; got {asked.sft.max_steps}"
        )
    return {
        "fit": _fit(asked.fit, env),
        "sft": {"max_steps": settings.sft.max_steps if expert else 0},
        "eval": {"tasks": _panel_size(asked, env)},
    }


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
