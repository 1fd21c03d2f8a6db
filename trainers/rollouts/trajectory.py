"""Turns, trajectories and the training rows and packed batches made of them.

A turn remembers the tokens the policy sampled and the context tokens that came new before them, so
a row is put together by concatenation and nothing is tokenised twice. Where the history was
rewritten (forked templates, sliding windows) a turn is ``fresh`` and starts a row of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentgym.episodes import State
from agentgym.errors import DataError
from agentgym.outcome import StopReason, total
from trainers.algorithms.batch import Batch, EndReason

__all__ = [
    "LENGTH",
    "Row",
    "Trajectory",
    "Turn",
    "action_ids",
    "check_rows",
    "to_batch",
    "to_rows",
    "without_terms",
]

LENGTH = "length"
"""Stop reason of an episode ended by its token budget, next to those of ``StopReason``."""

_ENDS = {
    StopReason.HORIZON.value: EndReason.HORIZON,
    StopReason.ERROR.value: EndReason.ENV_ERROR,
    LENGTH: EndReason.LENGTH,
}


@dataclass(slots=True)
class Turn:
    """One action of the policy and what the environment made of it."""

    context: list[int]
    """Tokens before the action that the row does not hold yet: the whole prompt if ``fresh``,
    else the suffix of the observation."""
    ids: list[int]
    """Sampled tokens, at least one."""
    logprobs: list[float]
    """Log-probability of each sampled token under the sampling distribution, in nats."""
    fresh: bool = False
    """Whether the context replaces everything before it."""
    stopped: bool = True
    """Whether a stop token ended the action; False if the token limit cut it."""
    text: str = ""
    """The action as the environment received it."""
    observation: str = ""
    """The observation the action answered."""
    state_key: str = ""
    """Hash of the state the action was taken in (anchor states of GiGPO)."""
    reward: float = 0.0
    """Reward of this turn."""
    reward_terms: dict[str, float] = field(default_factory=dict)
    """The reward by name; sums to ``reward``."""
    valid: bool = True
    """Whether the environment could parse and carry out the action."""
    version: int = 0
    """Version of the weights that acted."""
    prompt_tokens: int = 0
    """Tokens that the model read for this turn."""
    executed: str = ""
    """The action in the environment's own text, if the environments tell it."""
    after: State | None = None
    """The state that the action led to, if the environments tell what a record holds."""
    success: bool = False
    """Whether the task was solved."""
    terminated: bool = False
    """Whether the task ended."""
    truncated: bool = False
    """Whether the turn budget ended the episode."""


@dataclass(slots=True)
class Trajectory:
    """One episode."""

    group: int = 0
    """Index of the task instance; members of a group share task and seed."""
    task_id: str = ""
    """Id of the task, empty if its environment never started."""
    split: str = ""
    """Its split."""
    goal: str = ""
    """The instruction."""
    family: str = ""
    """Task family, for normalisation over families."""
    seed: int | None = None
    """Seed of the environment."""
    rng: dict[str, Any] | None = None
    """State of the environment's generator before a reset without seed, if it tells it."""
    options: dict[str, Any] = field(default_factory=dict)
    """Reset options of the environment."""
    horizon: int = 0
    """Turn budget the episode had."""
    start: State | None = None
    """The first state, if the environments tell what a record holds."""
    turns: list[Turn] = field(default_factory=list)
    """The turns taken; the last one has no answer if the environment failed in it."""
    stop_reason: str = ""
    """Why it ended: a ``StopReason`` value or ``LENGTH``."""
    success: bool = False
    """Whether the task was solved."""
    score: float = 0.0
    """Final progress in [0, 1]."""
    oracle_turns: int | None = None
    """Length of the expert's plan from the start, if known."""
    observation: str = ""
    """The last observation, which no action answered."""
    details: dict[str, Any] = field(default_factory=dict)
    """The family's end-of-episode reward details."""
    error: str = ""
    """What went wrong, for ``stop_reason == "error"``."""

    @property
    def episode_return(self) -> float:
        """Undiscounted return: the sum of the rewards of the turns."""
        return float(sum(turn.reward for turn in self.turns))

    @property
    def action_tokens(self) -> int:
        """Number of sampled tokens."""
        return sum(len(turn.ids) for turn in self.turns)

    @property
    def end(self) -> EndReason:
        """The reason in the terms of the algorithms."""
        return _ENDS.get(self.stop_reason, EndReason.DONE)


@dataclass(slots=True)
class Row:
    """One training sequence of L tokens; all lists have length L."""

    ids: list[int] = field(default_factory=list)
    """Token ids."""
    mask: list[int] = field(default_factory=list)
    """1 on sampled tokens, 0 on context."""
    logprobs: list[float] = field(default_factory=list)
    """Sampling log-probability of sampled tokens, 0 on context."""
    turn: list[int] = field(default_factory=list)
    """Index of the turn in its trajectory for sampled tokens, -1 on context."""
    rewards: list[float] = field(default_factory=list)
    """Reward of a turn on its last sampled token, 0 elsewhere."""
    prompt_length: int = 0
    """Tokens before the first sampled one."""
    trajectory: int = 0
    """Index of the trajectory in the list the rows were made from."""

    def append_context(self, ids: Sequence[int]) -> None:
        """Add tokens the policy did not write."""
        self.ids += ids
        self.mask += [0] * len(ids)
        self.logprobs += [0.0] * len(ids)
        self.turn += [-1] * len(ids)
        self.rewards += [0.0] * len(ids)

    def append_action(self, turn: Turn, index: int) -> None:
        """Add the sampled tokens of a turn, its reward on the last of them."""
        count = len(turn.ids)
        self.ids += turn.ids
        self.mask += [1] * count
        self.logprobs += turn.logprobs
        self.turn += [index] * count
        self.rewards += [0.0] * (count - 1) + [turn.reward]


def without_terms(trajectory: Trajectory, names: Collection[str]) -> Trajectory:
    """Return an episode whose rewards lack some terms, such as those of training's reward hooks.

    Args:
        trajectory: The episode; left as it is.
        names: Names of the terms.

    Returns:
        A copy; the reward of a turn is the sum of the terms that are left.
    """
    turns = []
    for turn in trajectory.turns:
        terms = {name: part for name, part in turn.reward_terms.items() if name not in names}
        turns.append(replace(turn, reward_terms=terms, reward=total(terms.values())))
    return replace(trajectory, turns=turns)


def to_rows(trajectories: Sequence[Trajectory]) -> list[Row]:
    """Build training rows: one per trajectory, more where its history was rewritten.

    Sampled tokens stand in the same order as in ``to_batch``: by trajectory, turn and position.
    A trajectory without turns gives no row.

    Args:
        trajectories: N episodes.

    Returns:
        Rows in the order of the trajectories.
    """
    rows: list[Row] = []
    for number, trajectory in enumerate(trajectories):
        for index, turn in enumerate(trajectory.turns):
            if index == 0 or turn.fresh:
                rows.append(Row(prompt_length=len(turn.context), trajectory=number))
            rows[-1].append_context(turn.context)
            rows[-1].append_action(turn, index)
    return rows


def to_batch(trajectories: Sequence[Trajectory]) -> Batch:
    """Pack trajectories for the algorithms: action tokens only.

    Args:
        trajectories: N episodes, at least one with a turn.

    Returns:
        The batch of K sampled tokens, M turns and N trajectories, with ``aux["invalid_action"]``.

    Raises:
        ValueError: No trajectory has a turn.
    """
    turns = [t.turns for t in trajectories]
    sequences: list[list[int]] = []
    row = -1
    for episode in turns:
        numbers = []
        for index, turn in enumerate(episode):
            row += index == 0 or turn.fresh
            numbers.append(row)
        sequences.append(numbers)
    return Batch.from_trajectories(
        turn_tokens=[[len(u.ids) for u in episode] for episode in turns],
        rewards=[[u.reward for u in episode] for episode in turns],
        groups=[t.group for t in trajectories],
        tasks=[t.family for t in trajectories],
        ends=[int(t.end) for t in trajectories],
        states=[[u.state_key for u in episode] for episode in turns],
        versions=[[u.version for u in episode] for episode in turns],
        logp_behave=[[p for u in episode for p in u.logprobs] for episode in turns],
        sequences=sequences,
        aux={"invalid_action": [[float(not u.valid) for u in episode] for episode in turns]},
    )


def action_ids(row: Row) -> list[list[int]]:
    """Sampled ids of a row, one list for each turn in it."""
    out: dict[int, list[int]] = {}
    for token, turn in zip(row.ids, row.turn, strict=True):
        if turn >= 0:
            out.setdefault(turn, []).append(token)
    return list(out.values())


def check_rows(
    trajectories: Sequence[Trajectory],
    rows: Sequence[Row],
    decode: Callable[[Sequence[int]], str] | None = None,
) -> None:
    """Check that rows say exactly what the trajectories say.

    Args:
        trajectories: N episodes.
        rows: Their rows.
        decode: Turns sampled ids into action text, as ``TurnTokenizer.action_text``.

    Raises:
        DataError: The number of masked tokens differs from that of sampled tokens, a return from
            the sum of the token rewards, or the masked tokens do not decode to the actions.
    """
    sampled = sum(t.action_tokens for t in trajectories)
    masked = sum(sum(row.mask) for row in rows)
    if sampled != masked:
        raise DataError(f"expected {sampled} masked tokens (as many as sampled), got {masked}")
    paid = [0.0] * len(trajectories)
    said: list[list[str]] = [[] for _ in trajectories]
    for row in rows:
        paid[row.trajectory] += sum(row.rewards)
        if decode is not None:
            said[row.trajectory] += [decode(ids) for ids in action_ids(row)]
    for number, trajectory in enumerate(trajectories):
        want = trajectory.episode_return
        if abs(paid[number] - want) > 1e-6 * max(1.0, abs(want)):
            raise DataError(
                f"expected the token rewards of {trajectory.task_id!r} to sum to its return "
                f"{want}, got {paid[number]}"
            )
        texts = [turn.text for turn in trajectory.turns]
        if decode is not None and said[number] != texts:
            raise DataError(
                f"expected the masked tokens of {trajectory.task_id!r} to decode to its actions "
                f"{texts}, got {said[number]}: were sampled tokens encoded again?"
            )
