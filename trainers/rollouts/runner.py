"""Rollouts: environments times engine times horizon gives trajectories.

All live episodes advance turn by turn in lockstep: one batched generation, then one step of the
environments that are still running. An environment that fails ends its own episode and no other.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from agentgym.episodes import State
from agentgym.episodes.recorder import FACTS, state_of
from agentgym.errors import ConfigurationError
from agentgym.outcome import StopReason
from trainers.rollouts.chat import Message, TurnTokenizer
from trainers.rollouts.engines.base import Completion, GenerationEngine, Sampling
from trainers.rollouts.trajectory import Trajectory, Turn

__all__ = [
    "Envs",
    "InitialMessages",
    "RolloutCancelled",
    "RolloutRunner",
    "RolloutStats",
    "TokenBudget",
    "make_initial_messages",
]

Info = Mapping[str, Any]
Answer = tuple[str, float, bool, bool, dict[str, Any]]
"""What an environment's step returns."""
InitialMessages = Callable[[str, dict[str, Any]], Sequence[Message]]
"""Make the first messages of an episode from its first observation and info."""


def make_initial_messages(system: str | None = None) -> InitialMessages:
    """Begin an episode with the observation, after a system message if there is one."""
    head: list[Message] = [{"role": "system", "content": system}] if system else []
    return lambda observation, info: [*head, {"role": "user", "content": observation}]


class Envs(Protocol):
    """What the runner needs of ``agentgym.vector.TextVectorEnv``."""

    num_envs: int

    def close(self) -> None:
        """Release what they hold."""
        ...

    def reset_slots(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None],
        options: Sequence[dict[str, Any] | None],
    ) -> list[tuple[str, dict[str, Any]]]:
        """Start episodes in some slots."""
        ...

    def step_slots(self, slots: Sequence[int], actions: Sequence[str]) -> list[Answer]:
        """Take one turn in some slots."""
        ...


class RolloutCancelled(Exception):
    """A rollout ended early because whoever asked for it said so."""


@dataclass(frozen=True)
class TokenBudget:
    """Limits on tokens, checked before every generation."""

    turn_tokens: int = 64
    """Most new tokens per turn."""
    episode_tokens: int = 1024
    """Most tokens per episode after its opening prompt: actions and observations together."""
    context: int = 2048
    """Most tokens the model is ever given, new ones included."""
    min_turn_tokens: int | None = None
    """A turn with less room than this is not begun and the episode ends with ``length``; None
    asks for a full ``turn_tokens``, so that a budget never cuts an action short."""
    window: int | None = None
    """Keep only the opening and the last ``window`` turns in the prompt; None keeps everything.
    Each turn after the window has filled is a training row of its own."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        if not 1 <= self.floor <= self.turn_tokens <= min(self.episode_tokens, self.context):
            raise ConfigurationError(
                "expected 1 <= min_turn_tokens <= turn_tokens <= episode_tokens and context, got "
                f"{self.min_turn_tokens}, {self.turn_tokens}, {self.episode_tokens}, "
                f"{self.context}: raise the larger budgets or lower turn_tokens"
            )
        if self.window is not None and self.window < 1:
            raise ConfigurationError(f"expected window >= 1 turn or None, got {self.window}")

    @property
    def floor(self) -> int:
        """Least room, in tokens, that a turn needs."""
        return self.turn_tokens if self.min_turn_tokens is None else self.min_turn_tokens

    def action_tokens(self, turns: int | None) -> int:
        """Most action tokens of an episode of at most so many turns."""
        return min(self.turn_tokens * turns, self.episode_tokens) if turns else self.episode_tokens


@dataclass
class RolloutStats:
    """Where the time of a runner went."""

    turns: int = 0
    """Turns taken."""
    seconds: float = 0.0
    """Wall time."""
    engine_seconds: float = 0.0
    """Time inside the engine."""
    env_seconds: float = 0.0
    """Time inside the environments."""

    @property
    def overhead_us(self) -> float:
        """Microseconds per turn that neither engine nor environments account for."""
        rest = self.seconds - self.engine_seconds - self.env_seconds
        return 1e6 * rest / max(1, self.turns)


def _never() -> bool:
    """Go on to the end."""
    return False


class RolloutRunner:
    """Play episodes of a policy.

    Attributes:
        envs: The vector environment; its ``num_envs`` slots are the most episodes at a time.
        chat: The turn tokenizer.
        engine: What generates.
        budget: Limits on tokens.
        stats: Where its time went since it was made.
    """

    def __init__(
        self,
        envs: Envs,
        chat: TurnTokenizer,
        engine: GenerationEngine,
        budget: TokenBudget | None = None,
        *,
        initial_messages: InitialMessages | None = None,
        family: str = "",
    ) -> None:
        """Put the parts together.

        Args:
            envs: A ``TextVectorEnv``.
            chat: Turn tokenizer of the policy.
            engine: Generation engine of the policy.
            budget: Limits on tokens.
            initial_messages: Default: the first observation as a user message.
            family: Name of the task family, for normalisation over families.
        """
        self.envs = envs
        self.chat = chat
        self.engine = engine
        self.budget = budget or TokenBudget()
        self.stats = RolloutStats()
        self._initial_messages = initial_messages or make_initial_messages()
        self._family = family

    def run(
        self,
        tasks: Sequence[Mapping[str, Any]],
        *,
        horizon: int | None = None,
        group_size: int = 1,
        groups: Sequence[int] | None = None,
        seed: int = 0,
        seeds: Sequence[int | None] | None = None,
        sampling: Sampling | None = None,
        training_step: int | None = None,
        cancelled: Callable[[], bool] = _never,
    ) -> list[Trajectory]:
        """Play ``group_size`` episodes of each task.

        Args:
            tasks: Reset options that choose the tasks, e.g. ``{"task_id": ...}``; a ``"horizon"``
                in them goes before the argument.
            horizon: Turn budget of every episode; None leaves it to the environment.
            group_size: Episodes per task, G.
            groups: Group id of each task; default 0, 1, 2, ...
            seed: Seeds sampling; with ``seeds`` None also the environments (``seed + group``).
            seeds: Environment seed of each task.
            sampling: Temperature and the like; token limit and stop ids come from the runner.
            training_step: Passed to reward hooks with a schedule.
            cancelled: Asked between turns: whether to end.

        Returns:
            ``len(tasks) * group_size`` trajectories, the members of a group next to each other.

        Raises:
            ConfigurationError: ``groups`` or ``seeds`` do not match the tasks.
            RolloutCancelled: ``cancelled`` returned True.
        """
        began = time.perf_counter()
        ids = list(range(len(tasks))) if groups is None else list(groups)
        env_seeds = [seed + group for group in ids] if seeds is None else list(seeds)
        if not len(ids) == len(env_seeds) == len(tasks):
            raise ConfigurationError(
                f"expected one group and one seed per task, got {len(ids)} groups and "
                f"{len(env_seeds)} seeds for {len(tasks)} tasks"
            )
        extra = {"horizon": horizon, "training_step": training_step}
        shared = {key: value for key, value in extra.items() if value is not None}
        out = [
            Trajectory(group=g, seed=s, options={**shared, **task}, family=self._family)
            for task, g, s in zip(tasks, ids, env_seeds, strict=True)
            for _ in range(group_size)
        ]
        draw = sampling or Sampling()
        draw = replace(draw, max_tokens=self.budget.turn_tokens, stop_ids=self.chat.stop_ids)
        self._play(out, draw, seed, cancelled)
        self.stats.turns += sum(len(trajectory.turns) for trajectory in out)
        self.stats.seconds += time.perf_counter() - began
        return out

    def _play(
        self,
        episodes: list[Trajectory],
        sampling: Sampling,
        seed: int,
        cancelled: Callable[[], bool],
    ) -> None:
        """Play all episodes, keeping every slot busy."""
        queue = episodes[::-1]
        free = list(range(self.envs.num_envs))[::-1]
        live: list[_LiveEpisode] = []
        call = 0
        while queue or live:
            if cancelled():
                raise RolloutCancelled
            if queue and free:
                count = min(len(queue), len(free))
                started = [queue.pop() for _ in range(count)]
                live += self._start(started, [free.pop() for _ in range(count)], free)
            live = self._within_budget(live, free)
            if live:
                call_seed = (seed * 1_000_003 + call) % 2**63
                live = self._turn(live, replace(sampling, seed=call_seed), free)
                call += 1

    def _start(
        self, episodes: list[Trajectory], slots: list[int], free: list[int]
    ) -> list[_LiveEpisode]:
        """Reset environments and tokenise the opening prompts."""
        began = time.perf_counter()
        options: list[dict[str, Any] | None] = [dict(e.options) for e in episodes]
        results = self.envs.reset_slots(slots, [e.seed for e in episodes], options)
        self.stats.env_seconds += time.perf_counter() - began
        live = []
        for trajectory, slot, (text, info) in zip(episodes, slots, results, strict=True):
            _begin(trajectory, text, info)
            if trajectory.stop_reason:
                free.append(slot)
                continue
            messages = list(self._initial_messages(text, info))
            prompt = self.chat.start(messages)
            key = str(_required(info, "state_key"))
            live.append(_LiveEpisode(trajectory, slot, messages, prompt, text, key, len(prompt)))
        return live

    def _within_budget(self, live: list[_LiveEpisode], free: list[int]) -> list[_LiveEpisode]:
        """End the episodes whose next turn would not fit."""
        kept = []
        for episode in live:
            if episode.room(self.budget) >= self.budget.floor:
                kept.append(episode)
            else:
                episode.trajectory.stop_reason = StopReason.LENGTH.value
                free.append(episode.slot)
        return kept

    def _turn(
        self, live: list[_LiveEpisode], sampling: Sampling, free: list[int]
    ) -> list[_LiveEpisode]:
        """Generate and step once in every live episode; return those that go on."""
        room = [episode.room(self.budget) for episode in live]
        began = time.perf_counter()
        outs = self.engine.generate([episode.prompt for episode in live], sampling, room)
        self.stats.engine_seconds += time.perf_counter() - began
        actions = [self.chat.action_text(out.ids) for out in outs]
        began = time.perf_counter()
        results = self.envs.step_slots([episode.slot for episode in live], actions)
        self.stats.env_seconds += time.perf_counter() - began
        going = []
        for episode, out, action, result in zip(live, outs, actions, results, strict=True):
            turn = episode.record(out, action, self.engine.version, result)
            if episode.trajectory.stop_reason:
                free.append(episode.slot)
                continue
            episode.extend(turn, result[0], self.chat, self.budget)
            going.append(episode)
        return going


@dataclass(slots=True)
class _LiveEpisode:
    """State of a running episode between two generations."""

    trajectory: Trajectory
    """The record being written."""
    slot: int
    """Its slot in the vector environment."""
    messages: list[Message]
    """The conversation as text, kept for forked histories."""
    prompt: list[int]
    """Everything the model is given next."""
    observation: str
    """The observation the next action answers."""
    state_key: str
    """Hash of the present state."""
    opening_tokens: int
    """Tokens of the opening prompt."""
    new_from: int = 0
    """Where the part of ``prompt`` begins that the training row does not hold; 0: a new row."""
    spent: int = 0
    """Tokens used after the opening."""
    segments: list[list[int]] = field(default_factory=list)
    """Action and observation tokens of each turn, for windows."""

    def room(self, budget: TokenBudget) -> int:
        """Return how many new tokens the budget allows the next turn."""
        return min(
            budget.turn_tokens,
            budget.episode_tokens - self.spent,
            budget.context - len(self.prompt),
        )

    def record(self, out: Completion, action: str, version: int, answer: Answer) -> Turn:
        """Write down what was sampled for ``prompt`` and what the environment made of it."""
        observation, reward, terminated, truncated, info = answer
        facts = info.get(FACTS, {})
        turn = Turn(
            context=self.prompt[self.new_from :],
            ids=out.ids,
            logprobs=out.logprobs,
            fresh=self.new_from == 0,
            stopped=out.stopped,
            text=action,
            observation=self.observation,
            state_key=self.state_key,
            reward=float(reward),
            reward_terms=dict(_required(info, "reward_terms")),
            valid=bool(_required(info, "action_valid")),
            version=version,
            prompt_tokens=len(self.prompt),
            executed=facts.get("executed", ""),
            after=_state(observation, info),
            success=bool(_required(info, "success")),
            terminated=bool(terminated),
            truncated=bool(truncated),
        )
        trajectory = self.trajectory
        trajectory.turns.append(turn)
        trajectory.observation = observation
        trajectory.score = float(_required(info, "score"))
        self.state_key = str(_required(info, "state_key"))
        if terminated or truncated:
            _finish(trajectory, info, truncated)
        return turn

    def extend(
        self, turn: Turn, observation: str, chat: TurnTokenizer, budget: TokenBudget
    ) -> None:
        """Build the next prompt: append, or rewrite the history where that is asked for."""
        suffix = chat.observe(observation, turn.stopped)
        self.observation = observation
        self.spent += len(turn.ids) + len(suffix)
        if not chat.append_only and chat.history == "fork":
            self.messages.append({"role": "assistant", "content": turn.text})
            self.messages.append({"role": "user", "content": observation})
            self._rewrite(chat.rerender(self.messages), turn.ids)
        elif budget.window is not None:
            self.segments.append(turn.ids + suffix)
            kept = self.segments[-budget.window :]
            head = self.prompt[: self.opening_tokens]
            self._rewrite(head + [token for segment in kept for token in segment], turn.ids)
        else:
            self.prompt += turn.ids
            self.new_from = len(self.prompt)
            self.prompt += suffix

    def _rewrite(self, prompt: list[int], sampled: list[int]) -> None:
        """Take a new prompt; it continues the row only if it begins with all the row holds."""
        row = self.prompt + sampled
        self.new_from = len(row) if prompt[: len(row)] == row else 0
        self.prompt = prompt


def _begin(trajectory: Trajectory, observation: str, info: Info) -> None:
    """Take down what a reset returned; the episode is over if the environment did not start."""
    trajectory.observation = observation
    trajectory.task_id, trajectory.split, trajectory.goal = (
        str(_required(info, name)) for name in ("task_id", "split", "goal")
    )
    trajectory.horizon = int(_required(info, "horizon"))
    trajectory.oracle_turns = _required(info, "oracle_turns")
    rng = info.get(FACTS, {}).get("rng")
    trajectory.rng = None if rng is None else json.loads(rng)
    trajectory.start = _state(observation, info)
    if _required(info, "stop_reason") == StopReason.ERROR.value:
        _finish(trajectory, info)


def _finish(trajectory: Trajectory, info: Info, truncated: bool = False) -> None:
    """End a trajectory with what the environment said last."""
    # A wrapper such as Gymnasium's TimeLimit cuts an episode of which the environment knows
    # nothing: its info gives no reason then.
    reason = _required(info, "stop_reason") or (StopReason.HORIZON.value if truncated else "")
    if not reason:
        raise ConfigurationError(
            "expected info['stop_reason'] to say why an episode ended, got ''; an environment "
            "whose step returns terminated=True names one of agentgym.outcome.StopReason"
        )
    trajectory.stop_reason = str(reason)
    trajectory.success = bool(_required(info, "success"))
    trajectory.score = float(_required(info, "score"))
    trajectory.details = dict(_required(info, "details"))
    # Only an episode that failed has this key.
    trajectory.error = str(info.get("error", ""))


def _required(info: Info, name: str) -> Any:
    """Return an entry of info that the contract promises."""
    try:
        return info[name]
    except KeyError:
        raise ConfigurationError(
            f"expected info[{name!r}], which every agentgym.core.TextEnv gives at every turn, got "
            f"only {', '.join(sorted(info))}; make the environment one, or let it give the same"
        ) from None


def _state(observation: str, info: Info) -> State | None:
    """Return what a record holds of a state; None if the environment does not tell all of it."""
    if _required(info, "stop_reason") == StopReason.ERROR.value:
        return State(observation, float(_required(info, "score")), 0.0, info["state_key"])
    return state_of(observation, info, info[FACTS]["potential"]) if FACTS in info else None
