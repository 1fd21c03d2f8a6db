"""The stale policy of cross-policy sampling: the policy of some steps ago plays some turns.

It is copied from the policy at the steps given by a ``PolicyPool``, saved in checkpoints, and sent
to the engine whenever the engine has another copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from agentgym.errors import ConfigurationError, DataError
from trainers.algorithms.policy_pool import PolicyPool
from trainers.grpo.step_part import MakeStepPart, StepContext, StepPart
from trainers.rollouts.engines.base import PoolEngine
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.engines.hf_pool import HFCopyPoolEngine, HFPoolEngine
from trainers.rollouts.engines.policy_weights import check_whole
from trainers.rollouts.engines.trained_weights import TrainedWeights
from trainers.rollouts.live_episode import LiveEpisode
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import StepPlan
from trainers.rollouts.trajectory import Trajectory
from trainers.rollouts.turn_seeds import turn_draw

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy

__all__ = ["STALE_FILE", "StalePolicy", "StaleTurns", "stale_policy_part"]

STALE_FILE = "stale_policy.pt"
"""File of a checkpoint with the weights of the stale policy."""


class StaleTurns(RolloutPart):
    """Say which turns of a rollout the stale policy plays.

    Args:
        pool: How often it plays one.
    """

    def __init__(self, pool: PolicyPool) -> None:
        self._pool = pool

    def begin(self, episodes: list[Trajectory], seed: int, vocabulary: int) -> None:
        """Take the seed of the rollout."""
        self._seed = seed

    def plays_stale(self, episode: LiveEpisode) -> bool:
        """Draw the policy for the next turn of an episode, by the turn's place alone."""
        turn = len(episode.trajectory.turns)
        return self._pool.plays_stale(turn_draw(self._seed, episode.number, turn, "policy"))


class StalePolicy(StepPart):
    """Hold an earlier copy of the policy, and keep an engine up to date with it.

    Args:
        context: Parts of the trainer that it uses; the pool of its preset says when the policy is
            copied.

    Attributes:
        steps: Training steps of the policy when it was copied; -1: never copied.
    """

    plays = True
    engines = (HFPoolEngine, HFCopyPoolEngine)

    def __init__(self, context: StepContext) -> None:
        assert context.preset.pool is not None
        self._pool, self._updates = context.preset.pool, context.updates
        self._policy, self._trained = context.unwrapped, context.trained_steps
        self._engine: PoolEngine
        self._weights: TrainedWeights | None = None
        self._sent_steps = self.steps = -1

    def use_runner(self, runner: RolloutRunner, weights: EngineWeights) -> None:
        """Take the engine that plays with it.

        Raises:
            ConfigurationError: The engine cannot hold a stale policy.
        """
        engine = runner.engine
        if not isinstance(engine, PoolEngine):
            raise ConfigurationError(
                f"expected an engine that can play turns with a stale policy, got "
                f"{getattr(engine, 'name', engine)!r} without sync_stale (see PoolEngine of "
                "trainers.rollouts.engines.base); choose hf, hf-copy or vllm, or a preset without "
                "cross-policy sampling"
            )
        self._engine = engine

    def rollout_parts(self, plan: StepPlan) -> Sequence[StaleTurns]:
        """Let it play turns."""
        return [StaleTurns(self._pool)]

    def figures(self, episodes: Sequence[Trajectory]) -> Mapping[str, float]:
        """Return the share of turns that it played, if any; one that episodes share counts once."""
        turns = [turn.stale for episode in episodes for turn in episode.own_turns]
        return {"rollout/stale_turns": sum(turns) / len(turns)} if any(turns) else {}

    @property
    def weights_due(self) -> bool:
        """Whether the engine needs weights before it continues."""
        return self._sent_steps != self._pool.stale_steps(self._trained())

    def send_weights(self) -> None:
        """Give the engine the stale weights, unless it has them; nothing is played meanwhile."""
        weights = self._renewed()
        if self._sent_steps != self.steps:
            self._engine.sync_stale(weights, self.steps * self._updates)
            self._sent_steps = self.steps

    def forget_weights(self) -> None:
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
        self.forget_weights()

    def _renewed(self) -> TrainedWeights:
        """Return the weights, copied from the policy first if it is time."""
        steps = self._pool.stale_steps(self._trained())
        if self._weights is None or self.steps != steps:
            policy = self._policy()
            check_whole(policy)
            # New ones: an engine may still have the old.
            self._weights, self.steps = TrainedWeights(policy), steps
        return self._weights


def stale_policy_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of the stale policy, which depends only on the preset's pool."""
    return StalePolicy
