"""The stale policy of cross-policy sampling: the policy of some steps ago plays some turns.

It is copied from the policy at the steps given by a ``PolicyPool``, saved in checkpoints, and sent
to the engine whenever the engine has another copy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from agentgym.errors import ConfigurationError, DataError
from trainers.algorithms.policy_pool import PolicyPool
from trainers.rollouts.engines.base import GenerationEngine, PoolEngine
from trainers.rollouts.engines.policy_weights import check_whole
from trainers.rollouts.engines.trained_weights import TrainedWeights

__all__ = ["STALE_FILE", "StalePolicy"]

STALE_FILE = "stale_policy.pt"
"""File of a checkpoint with the weights of the stale policy."""


class StalePolicy:
    """Hold an earlier copy of the policy, and keep an engine up to date with it.

    Attributes:
        steps: Training steps of the policy when it was copied; -1: never copied.
    """

    def __init__(
        self,
        pool: PolicyPool,
        engine: GenerationEngine,
        policy: Callable[[], nn.Module],
        trained: Callable[[], int],
        updates: int,
    ) -> None:
        """Start without a copy.

        Args:
            pool: Says when it is copied.
            engine: Plays with it.
            policy: Returns the model that is trained, out of its wrappers.
            trained: Returns how many steps that has been trained for.
            updates: Versions of the weights in a step.

        Raises:
            ConfigurationError: The engine cannot hold a stale policy.
        """
        if not isinstance(engine, PoolEngine):
            raise ConfigurationError(
                f"expected an engine that can play turns with a stale policy, got "
                f"{getattr(engine, 'name', engine)!r} without sync_stale (see PoolEngine of "
                "trainers.rollouts.engines.base); choose hf, hf-copy or vllm, or a preset without "
                "cross-policy sampling"
            )
        self._pool, self._engine, self._updates = pool, engine, updates
        self._policy, self._trained = policy, trained
        self._weights: TrainedWeights | None = None
        self._sent_steps = self.steps = -1

    @property
    def due(self) -> bool:
        """Whether the engine needs weights before it continues."""
        return self._sent_steps != self._pool.stale_steps(self._trained())

    def send(self) -> None:
        """Give the engine the stale weights, unless it has them; nothing is played meanwhile."""
        weights = self._renewed()
        if self._sent_steps != self.steps:
            self._engine.sync_stale(weights, self.steps * self._updates)
            self._sent_steps = self.steps

    def forget(self) -> None:
        """Send the weights next time in any case."""
        self._sent_steps = -1

    def save(self, folder: Path) -> None:
        """Write the weights into the folder of a checkpoint, which is made."""
        weights = self._renewed()
        folder.mkdir(parents=True, exist_ok=True)
        torch.save({"steps": self.steps, "weights": weights.state_dict()}, folder / STALE_FILE)

    def load(self, folder: Path) -> None:
        """Read them, in every process.

        Raises:
            DataError: They are not there.
        """
        try:
            state = torch.load(folder / STALE_FILE, map_location="cpu", weights_only=True)
        except FileNotFoundError as error:
            raise DataError(
                f"expected {STALE_FILE}, the stale policy, in {folder}; resume from a checkpoint "
                "that has it, or start the run again"
            ) from error
        # New ones: an engine may still have the old.
        self._weights = TrainedWeights(self._policy())
        self._weights.load_state_dict(state["weights"])
        self.steps = state["steps"]
        self.forget()

    def _renewed(self) -> TrainedWeights:
        """Return the weights, copied from the policy first if it is time."""
        steps = self._pool.stale_steps(self._trained())
        if self._weights is None or self.steps != steps:
            policy = self._policy()
            check_whole(policy)
            # New ones: an engine may still have the old.
            self._weights, self.steps = TrainedWeights(policy), steps
        return self._weights
