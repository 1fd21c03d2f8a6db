"""A policy that plays with a model in this process, exactly as in training."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agentgym.conversation import Prompt, SeenTurn
from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError, PolicyStopped
from agentgym.policies.base import ModelOutput
from trainers.policies.shared_engine import SharedEngine
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.episode_context import EpisodeContext
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["ModelPlayer", "ModelPolicy"]

logger = logging.getLogger(__name__)


@dataclass
class ModelPlayer:
    """The parts that all policies of one model share."""

    engine: SharedEngine
    """Generation engine, shared by the policies."""
    chat: TurnTokenizer
    """Turn tokenizer of the model."""
    prompt: Prompt
    """Its prompt."""
    budget: TokenBudget
    """Token budgets."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts that identify the model in reports."""
    horizon: int | None = None
    """Turns per episode that the model was trained for, if known."""
    window: int | None = None
    """Turns that it reads besides the first observation, under any prompt; None: the prompt's."""

    def described(self) -> dict[str, Any]:
        """Return facts that identify the policies, JSON-safe."""
        sampling = self.engine.sampling
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if sampling.top_k:
            drawn["top_k"] = sampling.top_k
        return {
            **self.facts,
            "sampling": {"greedy": True} if sampling.greedy else {"greedy": False, **drawn},
            "budget": asdict(self.budget),
            "prompt": self.prompt.identity,
        }

    def check_horizon(self, horizon: int) -> None:
        """Warn once of episodes longer or shorter than those it was trained for."""
        made_for, self.horizon = self.horizon, None
        if made_for is not None and made_for != horizon:
            logger.warning(
                "expected episodes of %d turns, on which the run compared its policies, got %d; "
                "pass horizon=%d (--horizon) for figures like the run's own",
                made_for, horizon, made_for,
            )  # fmt: skip


class ModelPolicy:
    """Act by generating with a model, token by token as in training.

    Sampled tokens are never re-encoded, the chat template decides what later turns see of earlier
    ones, and the token budgets are those of training: if no budget is left for a turn, the episode
    ends with stop reason ``token_limit``.

    Args:
        player: The model, which several policies may share.
        seed: Seed of sampling; a turn's samples depend on it and on the turn's number.

    Attributes:
        last_output: The model's output for the last action.
    """

    def __init__(self, player: ModelPlayer, seed: int = 0) -> None:
        self.last_output: ModelOutput | None = None
        self._player, self._seed = player, seed
        self._context: EpisodeContext | None = None
        self._last_answer: tuple[list[int], bool] | None = None
        self._turn = 0
        self._key = player.engine.take_key()
        # The next policy reuses its slot in the engine's cache, which would otherwise grow.
        weakref.finalize(self, player.engine.return_key, self._key)

    def seed(self, seed: int) -> None:
        """Set the seed of the following episodes."""
        self._seed = seed

    def copy(self) -> ModelPolicy:
        """Return another policy with the same model and a separate history."""
        return ModelPolicy(self._player, self._seed)

    @property
    def prompt(self) -> Prompt:
        """The prompt of its model."""
        return self._player.prompt

    def with_prompt(self, prompt: Prompt, sampling: Mapping[str, Any]) -> ModelPolicy:
        """Return another policy that reads a prompt instead of its own.

        Args:
            prompt: The prompt.
            sampling: Ignored: the model's settings decide on sampling.

        Raises:
            ConfigurationError: The policy was given its own system message.
        """
        player = self._player
        if player.facts.get("system") is not None and prompt.name != player.prompt.name:
            raise ConfigurationError(
                f"expected system or the prompt {prompt.name}, got both; leave out one of them"
            )
        return ModelPolicy(replace(player, prompt=prompt.windowed(player.window)), self._seed)

    def facts(self) -> dict[str, Any]:
        """Return facts that identify the policy, JSON-safe."""
        return self._player.described()

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Begin an episode."""
        player = self._player
        player.check_horizon(int(info["horizon"]))
        task = str(info.get("goal", ""))
        self._context = EpisodeContext(
            player.chat, player.prompt, SeenTurn.of(observation, info), task
        )
        self._last_answer, self._turn, self.last_output = None, 0, None

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Generate the next action.

        Raises:
            PolicyStopped: The budget has no room for a turn.
            PolicyFailure: The engine failed.
        """
        if self._context is None:
            self.reset(observation, info)
        context, player = self._context, self._player
        assert context is not None
        if self._last_answer is not None:
            context.extend(*self._last_answer, SeenTurn.of(observation, info))
        room = player.budget.room(context.spent, len(context.prompt))
        if room < player.budget.floor:
            raise PolicyStopped(StopReason.TOKEN_LIMIT.value)
        prompt = context.prompt
        out = player.engine.complete(self._key, prompt, room, turn_seed(self._seed, 0, self._turn))
        self._last_answer, self._turn = (out.ids, out.stopped), self._turn + 1
        answer_ids = out.ids[:-1] if out.stopped else out.ids
        self.last_output = ModelOutput(
            player.chat.raw_text(answer_ids),
            prompt_tokens=len(prompt),
            completion_tokens=len(out.ids),
            finish_reason="stop" if out.stopped else "length",
        )
        return player.chat.action_text(out.ids)
