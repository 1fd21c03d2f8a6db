"""Environments for SkyRL: an environment for skyrl-gym, and the rows of its data set.

    skyrl_gym.register(id="agentgym", entry_point="agentgym.interop.skyrl:SkyRLEnv")
    rows = skyrl_rows("webshop", num_tasks=64, difficulty="easy")     # write them as parquet

A row names its task in the column ``agentgym``, which SkyRL passes to the environment. ``SkyRLEnv``
is `SkyRLEpisode` as a subclass of skyrl-gym's ``BaseTextEnv``, imported on first use. A failing
environment raises ``EnvFailure``: skyrl-gym cannot leave out an episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError, require
from agentgym.interop.dialogue import Dialogue
from agentgym.trust import EVALUATION, check_trusted, env_claims, setting_claims

__all__ = ["SkyRLEpisode", "skyrl_rows"]

ENV_CLASS = "agentgym"
"""Id for the registration of ``SkyRLEnv``, and name of the column with the task."""


class SkyRLEpisode:
    """One episode, with the methods of skyrl-gym's ``BaseTextEnv``.

    Args:
        env_config: Settings of the environment in SkyRL's configuration; ``trust`` lists what
            rows may name besides plain data, as ``NAME=VALUE`` (see `agentgym.trust`).
        extras: The columns of the row.

    Attributes:
        turns: Turns taken.
        max_turns: Turn budget of the episode.

    Raises:
        ConfigurationError: The row names no task.
        NotTrusted: The row names more than plain data.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        row = (extras or {}).get(ENV_CLASS)
        if not isinstance(row, Mapping) or not {"env", "task_id"} <= set(row):
            raise ConfigurationError(
                f"expected a row of skyrl_rows, with env and task_id in the column {ENV_CLASS!r}, "
                f"got {row!r:.80}"
            )
        self._row = row
        # Parquet fills in None where another row has an argument.
        kwargs = {k: v for k, v in (row.get("kwargs") or {}).items() if v is not None}
        trusted = env_config.get("trust") if isinstance(env_config, Mapping) else None
        _check_row(row, kwargs, trusted or ())
        self._dialogue = Dialogue(row["env"], prompt=row.get("prompt", "default"), kwargs=kwargs)
        self._dialogue.require_one_agent()
        _check(self._dialogue)
        self._last: Mapping[str, Any] = {}
        self.turns = 0
        self.max_turns = self._dialogue.horizon

    def init(
        self, prompt: Sequence[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Begin the task of the row; its messages replace the row's prompt."""
        messages = self._dialogue.reset(self._row["task_id"])
        self.turns, self.max_turns, self._last = 0, self._dialogue.horizon, {}
        return messages, {"task_id": self._row["task_id"]}

    def step(self, action: str) -> dict[str, Any]:
        """Take a turn with the model's complete response.

        Returns:
            ``observations`` (one message of the user, none after the end), ``reward``, ``done`` and
            ``metadata``.

        Raises:
            EnvFailure: The environment failed.
        """
        turn = self._dialogue.step(action)
        self.turns, self._last = self.turns + 1, turn.info
        messages = [] if turn.done else [{"role": "user", "content": turn.text}]
        return {
            "observations": messages,
            "reward": turn.reward,
            "done": turn.done,
            "metadata": {"success": turn.info["success"], "score": turn.info["score"]},
        }

    def get_metrics(self) -> dict[str, Any]:
        """Return the metrics of the episode."""
        success, score = self._last.get("success", False), self._last.get("score", 0.0)
        return {"success": float(success), "score": float(score), "turns": self.turns}

    @staticmethod
    def aggregate_metrics(metrics: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Return the means over episodes."""
        names = sorted({name for episode in metrics for name in episode})
        values = {
            name: [float(episode[name]) for episode in metrics if name in episode] for name in names
        }
        return {name: sum(numbers) / len(numbers) for name, numbers in values.items()}

    def close(self) -> None:
        """Close the environment."""
        self._dialogue.close()

    def __enter__(self) -> SkyRLEpisode:
        """Return itself; it is closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the environment."""
        self.close()


@cache
def _env_class() -> type:
    base = require("skyrl_gym.envs.base_text_env", "skyrl").BaseTextEnv
    return type("SkyRLEnv", (SkyRLEpisode, base), {"__module__": __name__})


def __getattr__(name: str) -> type:
    """Make ``SkyRLEnv`` when it is first asked for.

    Raises:
        DependencyNotInstalled: skyrl-gym is missing.
    """
    if name != "SkyRLEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _env_class()


def skyrl_rows(
    env: str,
    *,
    split: str = "train",
    num_tasks: int | None = None,
    seed: int = 0,
    prompt: str | Path = "default",
    **kwargs: Any,
) -> list[dict[str, Any]]:
    """Return the rows of a data set for SkyRL, one for each task.

    Args:
        env: A short name such as ``webshop``, an id, or ``MODULE:ID``.
        split: Split of the tasks.
        num_tasks: Number of tasks; None: all of the split.
        seed: Seed of the draw.
        prompt: ``default``, ``bare``, the name of a protocol, or the path of a protocol file.
        **kwargs: Arguments of the environment.

    Raises:
        ConfigurationError: The environment does not exist, an argument is wrong, or the prompt
            shows each turn in a separate message without the conversation before it.
    """
    with closing(Dialogue(env, prompt=prompt, kwargs=kwargs)) as dialogue:
        _check(dialogue)
        ids = dialogue.draw(split, num_tasks, seed)
    named = {"env": env, "kwargs": kwargs, "prompt": str(prompt)}
    return [
        {
            "data_source": env,
            "prompt": [{"role": "user", "content": ""}],
            "env_class": ENV_CLASS,
            ENV_CLASS: {**named, "task_id": task_id},
        }
        for task_id in ids
    ]


def _check_row(row: Mapping[str, Any], kwargs: Mapping[str, Any], trusted: Sequence[str]) -> None:
    """Refuse what a row of a data set names, unless it is plain or trusted."""
    named = [
        *env_claims(row["env"], kwargs),
        *setting_claims({"prompt": row.get("prompt")}, EVALUATION),
    ]
    check_trusted(named, "the row of the data set", trusted)


def _check(dialogue: Dialogue) -> None:
    """Refuse a prompt that does not grow by a message a turn, as SkyRL's talks do."""
    layout = dialogue.prompt.layout
    if layout.kind != "turns" or layout.window is not None:
        raise ConfigurationError(
            f"expected a prompt that adds a message each turn, got {dialogue.prompt.name}: "
            "choose default or bare"
        )
