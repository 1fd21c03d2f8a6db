"""An environment for SkyRL, which plays the rows of `agentgym.interop.prompt_rows`.

    skyrl_gym.register(id="agentgym", entry_point="agentgym.interop.skyrl:SkyRLEnv")

A row names its task in the column ``agentgym``, which SkyRL passes to the environment. ``SkyRLEnv``
is `SkyRLEpisode` as a subclass of skyrl-gym's ``BaseTextEnv``, imported on first use. A failing
environment raises ``EnvFailure``: skyrl-gym cannot leave out an episode.

SkyRL ends an episode whose messages are longer than ``generator.max_input_length``, by default 512
tokens as ``trainer.max_prompt_length``, and trains on the reward so far: a warning says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from agentgym.episodes.task_reference import read_reference
from agentgym.errors import require
from agentgym.interop.dialogue import Dialogue, require_growing
from agentgym.interop.early_ends import warn_of_early_end

__all__ = ["SkyRLEpisode"]

CAUSES = (
    "the messages were longer than generator.max_input_length, by default "
    "trainer.max_prompt_length; set both, and generator.max_turns above 1, as the page of exports "
    "says"
)
"""Why SkyRL ends an episode."""


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
        DataError: The row names no task.
        NotTrusted: The row names more than plain data.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        trusted = env_config.get("trust") if isinstance(env_config, Mapping) else None
        self._task = task = read_reference(extras or {}, trusted or ())
        self._dialogue = Dialogue(task.env, prompt=task.prompt, kwargs=task.kwargs)
        self._dialogue.require_one_agent()
        require_growing(self._dialogue.prompt)
        self._last: Mapping[str, Any] = {}
        self._is_over = True
        self.turns = 0
        self.max_turns = self._dialogue.horizon

    def init(
        self, prompt: Sequence[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Begin the task of the row; its messages replace the row's prompt."""
        task = self._task
        messages = self._dialogue.reset(task.task_id, seed=task.seed, horizon=task.horizon)
        self.turns, self.max_turns, self._last = 0, self._dialogue.horizon, {}
        self._is_over = False
        return messages, {"task_id": task.task_id}

    def step(self, action: str) -> dict[str, Any]:
        """Take a turn with the model's complete response.

        Returns:
            ``observations`` (one message of the user, none after the end), ``reward``, ``done`` and
            ``metadata``.

        Raises:
            EnvFailure: The environment failed.
        """
        self._is_over = True  # if it fails
        turn = self._dialogue.step(action)
        self.turns, self._last, self._is_over = self.turns + 1, turn.info, turn.done
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
        if not self._is_over:
            self._is_over = True
            warn_of_early_end("SkyRL", self._task.env, self.turns, self.max_turns, CAUSES)
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
