"""Keys of runs: a hash of the settings with every default resolved.

A flag that spells out a default changes nothing. The commit is not part of a key: code changes
seldom change numbers, and re-running everything for each would make the cache useless. Instead
every run and result stores the commit, and results list runs of other commits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.core.tasks import canonical_json
from benchmarks.studies.runner.study import BEFORE, Arm
from trainers.cli import parse_config
from trainers.config.config_file import FREE
from trainers.config.resolve import resolve
from trainers.config.schema import TINY
from trainers.methods.table import methods
from trainers.phases.multirun.cache import Keys, Run

LENGTH = 16
"""Hexadecimal digits of a key."""
ELSEWHERE = ("out", "resume", "seed", "env", "env_kwargs", "envs", "template_args", *FREE)
"""Settings that change no result, or are in the hashed data in another form."""
HORIZONS = ("horizon", "horizon_every", "horizon_gate", "fit_horizon")
"""Settings that are resolved per environment."""
AFTER_START = (
    *HORIZONS, "steps", "preset", "health", "eval.every", "eval.valid_tasks", "eval.keep",
    "eval.baselines", "eval.baseline_steps", "sft.save_every",
)  # fmt: skip
"""Settings that take effect after the warm start and its evaluation, besides most of those of
methods (``Method.start_settings``)."""
TEACHER = "distill.teacher"
"""Setting that takes effect before it where a policy is made with the teacher's tokens."""
START_RL = (
    "temperature", "top_p", "rl.turn_tokens", "rl.episode_tokens", "rl.groups",
    "rl.num_generations",
)  # fmt: skip
"""Settings of the section ``rl`` that also affect the gate and the evaluation of the warm start:
the number of concurrent episodes decides which random numbers an action gets."""
AFTER_START_ENV = (
    "rounds", *HORIZONS, "success_bonus", "invalid_penalty", "reward_hooks",
)  # fmt: skip
"""Resolved settings of an environment that take effect after the warm start."""


@dataclass(frozen=True)
class Settings:
    """The resolved settings of an arm, independent of the seed."""

    config: Mapping[str, Any]
    """Settings by their flags' names, such as ``rl.learning_rate``."""
    envs: tuple[Mapping[str, Any], ...]
    """Resolved settings of each environment."""
    preset: Mapping[str, Any]
    """The parts of the preset."""
    template_args: Mapping[str, Any]
    """Arguments of the chat template."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Settings that name files of the run that comes before, with ``{before}`` for its folder."""

    def flat(self) -> dict[str, Any]:
        """Return all settings under names such as ``rl.learning_rate`` and ``rounds``.

        Those of one environment among several have its name before them: ``webshop.rounds``.
        """
        envs = {env["name"]: env for env in self.envs} if len(self.envs) > 1 else self.envs[0]
        parts = {"preset": self.preset, "template_args": self.template_args}
        return {**self.config, **_flat(parts), **_flat(envs), **self.places}

    def keys(self, seed: int, warm_start: str = "") -> Keys:
        """Return the keys of the run with a seed.

        Args:
            seed: The seed.
            warm_start: Key of the run that comes before, if one does.
        """
        run = {
            "config": self.config,
            "envs": self.envs,
            "preset": self.preset,
            "template_args": self.template_args,
            "seed": seed,
        }
        start = {
            "config": {name: value for name, value in self.config.items() if self._of_start(name)},
            "envs": [
                {name: value for name, value in env.items() if name not in AFTER_START_ENV}
                for env in self.envs
            ],
            "template_args": self.template_args,
            "seed": seed,
        }
        if self.places:
            run["before"] = {"key": warm_start, **self.places}
        if places := {name: place for name, place in self.places.items() if self._of_start(name)}:
            start["before"] = {"key": warm_start, **places}
        return Keys(_hash(run), _hash(start))

    def _of_start(self, name: str) -> bool:
        """Return whether a setting has an effect before reinforcement learning."""
        section, _, setting = name.partition(".")
        if section == "rl":
            return name in START_RL
        if name == TEACHER:
            return bool(self.config["model"] == TINY)
        for method in methods():
            if method.name == section:
                return setting in method.start_settings
        return not _within(name, AFTER_START)


@lru_cache(maxsize=1024)
def settle(settings: Sequence[str]) -> Settings:
    """Resolve all settings of an arm.

    Args:
        settings: Flags of ``agentgym-train``, as a tuple.

    Raises:
        AgentGymError: A setting is wrong.
    """
    run = resolve(parse_config(settings))
    config = _flat(asdict(run.config))
    left_out = (*ELSEWHERE, *HORIZONS)
    return Settings(
        config={name: value for name, value in config.items() if not _within(name, left_out)},
        envs=tuple(
            {name: value for name, value in asdict(env).items() if name != "asked"}
            for env in run.envs
        ),
        preset=run.preset.described(),
        template_args=run.template_args,
    )


def settle_arm(arm: Arm) -> Settings:
    """Decide all that an arm's flags leave open, also before the run that it comes after.

    Files of that run need not be there: the model that it trains stands in for each of them.

    Raises:
        AgentGymError: A setting is wrong.
    """
    if arm.after is None:
        return settle(arm.settings)
    model = str(settle(arm.after.settings).config["model"])
    settled = settle(tuple(model if BEFORE in word else word for word in arm.settings))
    flags = zip(arm.settings, arm.settings[1:], strict=False)
    places = {
        flag.removeprefix("--").replace("-", "_"): word for flag, word in flags if BEFORE in word
    }
    return replace(settled, places=places)


def runs_of(arms: Sequence[Arm], seeds: Sequence[int], root: Path = Path()) -> list[Run]:
    """Return the runs of arms, all arms of a seed before those of the next.

    Args:
        arms: The arms.
        seeds: The seeds.
        root: Folder of all runs, which the settings of those that come after others name.

    Raises:
        AgentGymError: A setting of an arm is wrong.
    """
    return [_run_of(arm, seed, root) for seed in seeds for arm in arms]


def _run_of(arm: Arm, seed: int, root: Path) -> Run:
    """Return the run of an arm."""
    if arm.after is None:
        return Run(arm.name, seed, arm.settings, settle_arm(arm).keys(seed))
    warm_start = _run_of(arm.after, seed, root).keys.run
    settings = tuple(word.replace(BEFORE, str(root / warm_start)) for word in arm.settings)
    return Run(arm.name, seed, settings, settle_arm(arm).keys(seed, warm_start))


def _within(name: str, places: Sequence[str]) -> bool:
    """Return whether a setting is one of some, or of a section among them."""
    return name in places or name.partition(".")[0] in places


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings under names such as ``rl.learning_rate``."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _hash(payload: Mapping[str, Any]) -> str:
    """Return the first digits of the SHA-256 of plain values."""
    text = canonical_json(_plain_value(payload))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _plain_value(value: Any) -> Any:
    """Return a value as JSON can hold it; other values as their text."""
    if isinstance(value, Mapping):
        return {str(name): _plain_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
