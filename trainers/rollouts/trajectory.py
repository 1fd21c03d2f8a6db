"""Turns, trajectories and the training rows and packed batches made of them.

A turn stores the sampled tokens and the new context tokens before them, so a row is a concatenation
and nothing is tokenised twice. If the history was rewritten (by the template or a window), a turn
is ``fresh`` and starts a new row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from agentgym.core.hooks import Cost, Verdict
from agentgym.core.outcome import total
from agentgym.episodes import Episode, RecordedState, Turn
from agentgym.rewards import JudgeMask
from trainers.algorithms.batch import Batch

AnyTurn = TypeVar("AnyTurn", "SampledTurn", Turn)
LEFT_OUT = "left_out"
"""Entry of ``Batch.aux``: 1 for turns whose tokens are not in the loss."""

__all__ = [
    "LEFT_OUT",
    "Row",
    "SampledTurn",
    "Trajectory",
    "by_family",
    "nodes_of",
    "sampled_once",
    "to_batch",
    "to_rows",
    "without_terms",
]


@dataclass(slots=True)
class SampledTurn:
    """One action of the policy and the environment's response."""

    context: list[int]
    """Tokens before the action that are new to the row: the whole prompt if ``fresh``, else the
    suffix of the observation."""
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
    """Whether the environment could parse and execute the action."""
    version: int = 0
    """Version of the weights that acted."""
    stale: bool = False
    """Whether the stale policy acted."""
    trains: bool = True
    """Whether its tokens may be in the loss; its reward counts in any case."""
    prompt_tokens: int = 0
    """Tokens that the model read for this turn."""
    executed: str = ""
    """The action in the environment's grammar, if the environments report it."""
    reason: str | None = None
    """Why the action was invalid, if the environments report it; empty if it was valid."""
    after: RecordedState | None = None
    """The next state, if the environments report the contents of records."""
    success: bool = False
    """Whether the task was solved."""
    terminated: bool = False
    """Whether the task ended."""
    truncated: bool = False
    """Whether the turn budget ended the episode."""
    entropies: list[float] = field(default_factory=list)
    """Entropy of the distribution of each sampled token, in nats, if forks depend on it."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts of judges on the turn, by the names of their hooks."""
    costs: dict[str, Cost] = field(default_factory=dict)
    """Costs of the turn, by the names of their hooks."""

    @property
    def unjudged(self) -> bool:
        """Whether a judge failed to give a verdict."""
        return any(verdict.score is None for verdict in self.verdicts.values())

    @property
    def ruined(self) -> bool:
        """Whether a judge says that the environment ruined this episode."""
        verdict = self.verdicts.get(JudgeMask.name)
        return verdict is not None and bool(verdict.score)


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
    """State of the environment's generator before a reset without seed, if reported."""
    rng_key: str | None = None
    """Hash of its state after the reset, if reported."""
    options: dict[str, Any] = field(default_factory=dict)
    """Reset options of the environment."""
    horizon: int = 0
    """Turn budget the episode had."""
    start: RecordedState | None = None
    """The first state, if the environments report the contents of records."""
    turns: list[SampledTurn] = field(default_factory=list)
    """The turns taken; the last one has no answer if the environment failed in it."""
    stop_reason: str = ""
    """Why it ended: a ``StopReason`` value."""
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
    number: int = 0
    """Its number among the episodes of a rollout or training step."""
    parent: int | None = None
    """Number of the episode that it was forked from; None: it started from its task."""
    shared: int = 0
    """Number of first turns that it shares with that episode, sampled once."""
    chances: int = 0
    """Turns of its own after which it could have been forked."""
    unplayed: bool = False
    """Whether it is an empty place of a step, which no fork used."""
    times: list[int] = field(default_factory=list, compare=False)
    """When it began and was ready, and when each turn acted and was answered, in nanoseconds since
    1970."""
    record: Episode | None = None
    """Its record, if an agent that owns its loop played it: turns are then calls, and several or
    none may precede a turn of the environment."""

    @property
    def own_turns(self) -> list[SampledTurn]:
        """The turns that were sampled for it, without those of the episode it was forked from."""
        return self.turns[self.shared :]

    @property
    def own_tokens(self) -> int:
        """Number of tokens that were sampled for it."""
        return sum(len(turn.ids) for turn in self.own_turns)

    @property
    def episode_return(self) -> float:
        """Undiscounted return: the sum of the rewards of the turns."""
        return float(sum(turn.reward for turn in self.turns))

    def used(self, name: str) -> float:
        """Return the episode's sum of a cost."""
        return total(turn.costs[name].amount for turn in self.turns if name in turn.costs)

    @property
    def action_tokens(self) -> int:
        """Number of sampled tokens."""
        return sum(len(turn.ids) for turn in self.turns)


@dataclass(slots=True)
class Row:
    """One training sequence of L tokens; all lists have length L."""

    ids: list[int] = field(default_factory=list)
    """Token ids."""
    mask: list[int] = field(default_factory=list)
    """1 on sampled tokens, 0 on context."""
    logprobs: list[float] = field(default_factory=list)
    """Sampling log-probability of sampled tokens, 0 on context."""
    prompt_length: int = 0
    """Tokens before the first sampled one."""

    def append(self, turn: SampledTurn, trains: bool = True) -> None:
        """Add the context of a turn and its sampled tokens; untrained ones as context."""
        self.ids += [*turn.context, *turn.ids]
        self.mask += [0] * len(turn.context) + [int(trains)] * len(turn.ids)
        self.logprobs += [0.0] * len(turn.context)
        self.logprobs += turn.logprobs if trains else [0.0] * len(turn.ids)


def without_terms(trajectory: Trajectory, names: Collection[str]) -> Trajectory:
    """Return a copy whose rewards lack some terms, such as those of training's reward hooks.

    The reward of a turn is the sum of the terms that are left.
    """

    def left(turn: AnyTurn) -> AnyTurn:
        terms = {name: part for name, part in turn.reward_terms.items() if name not in names}
        return replace(turn, reward_terms=terms, reward=total(terms.values()))

    record = trajectory.record
    if record is not None:
        record = replace(record, turns=tuple(map(left, record.turns)))
    return replace(trajectory, turns=[left(turn) for turn in trajectory.turns], record=record)


def by_family(trajectories: Sequence[Trajectory]) -> dict[str, list[Trajectory]]:
    """Return the episodes of each family, in order."""
    parts: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        parts.setdefault(trajectory.family, []).append(trajectory)
    return parts


def to_rows(trajectories: Sequence[Trajectory], once: bool = False) -> list[Row]:
    """Build training rows: one per trajectory, more where its history was rewritten.

    Sampled tokens are in the same order as in ``to_batch``: by trajectory, turn and position. A
    trajectory without turns gives no row.

    Args:
        trajectories: The trajectories.
        once: Treat turns shared with the trajectory's parent as context, so that they train once.
    """
    rows: list[Row] = []
    for trajectory, numbers in zip(trajectories, _rows_of_turns(trajectories), strict=True):
        for index, (turn, number) in enumerate(zip(trajectory.turns, numbers, strict=True)):
            if number == len(rows):
                rows.append(Row(prompt_length=len(turn.context)))
            rows[number].append(turn, trains=not once or index >= trajectory.shared)
    return [row for row in rows if any(row.mask)] if once else rows


def nodes_of(trajectories: Sequence[Trajectory]) -> list[list[tuple[int, int]]]:
    """Identify every turn by the number of the trajectory it was sampled for, and its place."""
    owners: dict[int, list[tuple[int, int]]] = {}
    for trajectory in trajectories:
        shared = [] if trajectory.parent is None else owners[trajectory.parent][: trajectory.shared]
        own_nodes = [
            (trajectory.number, turn) for turn in range(trajectory.shared, len(trajectory.turns))
        ]
        owners[trajectory.number] = shared + own_nodes
    return [owners[trajectory.number] for trajectory in trajectories]


def sampled_once(trajectories: Sequence[Trajectory]) -> npt.NDArray[np.int64]:
    """Find each token of ``to_batch`` among those of ``to_rows(trajectories, once=True)``.

    Returns:
        (K,) index there of every token of every trajectory, shared ones included.
    """
    begins: dict[tuple[int, int], int] = {}
    ranges: list[range] = []
    total = 0
    for trajectory, nodes in zip(trajectories, nodes_of(trajectories), strict=True):
        for turn, node in zip(trajectory.turns, nodes, strict=True):
            if node not in begins:
                begins[node], total = total, total + len(turn.ids)
            ranges.append(range(begins[node], begins[node] + len(turn.ids)))
    return np.fromiter(chain.from_iterable(ranges), np.int64)


def to_batch(trajectories: Sequence[Trajectory]) -> Batch:
    """Pack trajectories for the algorithms: action tokens only, with flags of turns.

    ``aux`` has ``invalid_action``, ``judge_reject`` (a judge says that the environment ruined the
    episode), ``unjudged`` (a judge gave no verdict) and ``left_out`` (the turn alone does not
    train). The division of an episode into rows is not
    part of a batch: no loss depends on it.

    Raises:
        DataError: No trajectory has a turn.
    """
    turns = [t.turns for t in trajectories]
    return Batch.from_trajectories(
        turn_tokens=[[len(u.ids) for u in episode] for episode in turns],
        rewards=[[u.reward for u in episode] for episode in turns],
        groups=[t.group for t in trajectories],
        families=[t.family for t in trajectories],
        stop_reasons=[t.stop_reason for t in trajectories],
        states=[[u.state_key for u in episode] for episode in turns],
        versions=[[u.version for u in episode] for episode in turns],
        nodes=_node_ids(trajectories),
        logp_behave=[[p for u in episode for p in u.logprobs] for episode in turns],
        aux={
            "invalid_action": [[float(not u.valid) for u in episode] for episode in turns],
            "judge_reject": [[float(u.ruined) for u in episode] for episode in turns],
            "unjudged": [[float(u.unjudged) for u in episode] for episode in turns],
            LEFT_OUT: [[float(not u.trains) for u in episode] for episode in turns],
        },
    )


def _node_ids(trajectories: Sequence[Trajectory]) -> list[list[tuple[int, int]]] | None:
    """Return the ids of the sampled turns, if any is shared."""
    forked = any(trajectory.parent is not None for trajectory in trajectories)
    return nodes_of(trajectories) if forked else None


def _rows_of_turns(trajectories: Sequence[Trajectory]) -> list[list[int]]:
    """Number the row of every turn: the first of an episode and a fresh one begin a new row."""
    row = -1
    numbers: list[list[int]] = []
    for trajectory in trajectories:
        numbers.append([])
        for index, turn in enumerate(trajectory.turns):
            # Every episode starts a new row, even if its first turn is not marked as fresh.
            row += index == 0 or turn.fresh
            numbers[-1].append(row)
    return numbers
