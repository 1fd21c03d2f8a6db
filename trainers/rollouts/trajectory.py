"""Turns, trajectories and the training rows and packed batches made of them.

A turn remembers the tokens the policy sampled and the context tokens that came new before them, so
a row is put together by concatenation and nothing is tokenised twice. Where the history was
rewritten (forked templates, sliding windows) a turn is ``fresh`` and starts a row of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from agentgym.core.hooks import Cost, Verdict
from agentgym.core.outcome import StopReason, total
from agentgym.episodes import Episode, RecordedState, Turn
from agentgym.rewards import JudgeMask
from trainers.algorithms.batch import Batch

AnyTurn = TypeVar("AnyTurn", "SampledTurn", Turn)

_COUNTED_ENDS = tuple(
    reason.value
    for reason in (
        StopReason.HORIZON,
        StopReason.TOKEN_LIMIT,
        StopReason.INVALID_ACTIONS,
        StopReason.ERROR,
    )
)
"""Endings whose shares are among the metrics."""

__all__ = [
    "Row",
    "SampledTurn",
    "Trajectory",
    "by_family",
    "cost_metrics",
    "family_metrics",
    "fork_metrics",
    "judge_metrics",
    "nodes_of",
    "pool_metrics",
    "rollout_metrics",
    "sampled_once",
    "to_batch",
    "to_rows",
    "without_terms",
]


@dataclass(slots=True)
class SampledTurn:
    """One action of the policy and the environment's response."""

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
    stale: bool = False
    """Whether they were those of the stale policy."""
    prompt_tokens: int = 0
    """Tokens that the model read for this turn."""
    executed: str = ""
    """The action in the environment's own text, if the environments tell it."""
    reason: str | None = None
    """Why the action was invalid, if the environments tell it; empty if it was not."""
    after: RecordedState | None = None
    """The state that the action led to, if the environments tell what a record holds."""
    success: bool = False
    """Whether the task was solved."""
    terminated: bool = False
    """Whether the task ended."""
    truncated: bool = False
    """Whether the turn budget ended the episode."""
    entropies: list[float] = field(default_factory=list)
    """Entropy of the distribution of each sampled token, in nats, if a fork looks at it."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts of judges on the turn, by the names of their hooks."""
    costs: dict[str, Cost] = field(default_factory=dict)
    """What the turn used, by the names of the hooks that count it."""

    @property
    def unjudged(self) -> bool:
        """Whether a judge failed to give a verdict."""
        return any(verdict.score is None for verdict in self.verdicts.values())

    @property
    def ruined(self) -> bool:
        """Whether, by a judge's verdict, the environment ruined this episode."""
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
    """State of the environment's generator before a reset without seed, if it tells it."""
    rng_key: str | None = None
    """Hash of its state after the reset, if it tells it."""
    options: dict[str, Any] = field(default_factory=dict)
    """Reset options of the environment."""
    horizon: int = 0
    """Turn budget the episode had."""
    start: RecordedState | None = None
    """The first state, if the environments tell what a record holds."""
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
    """Number of the episode that it was forked from; None: it began with its task."""
    shared: int = 0
    """Turns, the first ones, that it shares with that episode: they were sampled once."""
    chances: int = 0
    """Turns of its own after which it could have been forked."""
    unplayed: bool = False
    """Whether no fork led to it: a place in a step that was left empty."""
    record: Episode | None = None
    """Its record, where an agent that owns the loop played it: its turns are calls, of which
    several or none may come before a turn of the environment."""

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
        """Return how much the episode used of a cost."""
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
        """Add the context of a turn and its sampled tokens, as context if they do not train."""
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
    """Return the episodes of each family, in their order."""
    parts: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        parts.setdefault(trajectory.family, []).append(trajectory)
    return parts


def to_rows(trajectories: Sequence[Trajectory], once: bool = False) -> list[Row]:
    """Build training rows: one per trajectory, more where its history was rewritten.

    Sampled tokens stand in the same order as in ``to_batch``: by trajectory, turn and position.
    A trajectory without turns gives no row.

    Args:
        trajectories: The trajectories.
        once: Let turns that a trajectory shares with the one it was forked from be context there.
    """
    rows: list[Row] = []
    for trajectory, numbers in zip(trajectories, _rows_of_turns(trajectories), strict=True):
        for index, (turn, number) in enumerate(zip(trajectory.turns, numbers, strict=True)):
            if number == len(rows):
                rows.append(Row(prompt_length=len(turn.context)))
            rows[number].append(turn, trains=not once or index >= trajectory.shared)
    return [row for row in rows if any(row.mask)] if once else rows


def nodes_of(trajectories: Sequence[Trajectory]) -> list[list[tuple[int, int]]]:
    """Name every turn by the number of the trajectory that it was sampled for, and its place."""
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
    episode) and ``unjudged`` (a judge gave no verdict). Into how many rows an episode is divided
    for the model is left behind: no loss depends on it.

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
        },
    )


def _node_ids(trajectories: Sequence[Trajectory]) -> list[list[tuple[int, int]]] | None:
    """Return the names of the turns, where any is shared."""
    forked = any(trajectory.parent is not None for trajectory in trajectories)
    return nodes_of(trajectories) if forked else None


def _rows_of_turns(trajectories: Sequence[Trajectory]) -> list[list[int]]:
    """Number the row of every turn: the first of an episode and a fresh one begin a new row."""
    row = -1
    numbers: list[list[int]] = []
    for trajectory in trajectories:
        numbers.append([])
        for index, turn in enumerate(trajectory.turns):
            # An episode has rows of its own, whatever its first turn says of itself.
            row += index == 0 or turn.fresh
            numbers[-1].append(row)
    return numbers


def rollout_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Average over the episodes (or turns) without a failed environment.

    Returns:
        Names under ``rollout/``: ``return, success, score, turns, rows`` (training rows of an
        episode), ``action_tokens, valid`` (share of turns), ``stopped`` (share of turns that ended
        with a stop token), ``repeat`` (share of turns that repeat an earlier action in the same
        state), and the shares of episodes ``ended_by_horizon``, ``ended_by_token_limit``,
        ``ended_by_invalid_actions`` and ``ended_by_error``.
    """
    count = len(trajectories)
    reasons = [t.stop_reason for t in trajectories]
    shares = {f"rollout/ended_by_{name}": reasons.count(name) / count for name in _COUNTED_ENDS}
    sound = [t for t in trajectories if t.stop_reason != StopReason.ERROR.value]
    turns = [turn for t in sound for turn in t.turns]
    episodes, steps = max(1, len(sound)), max(1, len(turns))
    rows = sum(index == 0 or turn.fresh for t in sound for index, turn in enumerate(t.turns))
    repeats = sum(len(t.turns) - len({(u.state_key, u.text) for u in t.turns}) for t in sound)
    return {
        "rollout/return": sum(t.episode_return for t in sound) / episodes,
        "rollout/success": sum(t.success for t in sound) / episodes,
        "rollout/score": sum(t.score for t in sound) / episodes,
        "rollout/turns": len(turns) / episodes,
        "rollout/rows": rows / episodes,
        "rollout/action_tokens": sum(t.action_tokens for t in sound) / episodes,
        "rollout/valid": sum(turn.valid for turn in turns) / steps,
        "rollout/stopped": sum(turn.stopped for turn in turns) / steps,
        "rollout/repeat": repeats / steps,
        **shares,
    }


def fork_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Return metrics of forks; empty if episodes cannot be forked.

    Returns:
        Names under ``rollout/``: ``forks`` (of an episode that began with its task), ``fork_rate``
        (share of the turns after which one was possible that one followed), ``forked`` (share of
        episodes that came of one) and ``shared_tokens`` (share of the sampled tokens of all
        episodes that were sampled for another one).
    """
    chances = sum(trajectory.chances for trajectory in trajectories)
    if not chances:
        return {}
    copies = [trajectory for trajectory in trajectories if trajectory.parent is not None]
    forks = len({(trajectory.parent, trajectory.shared) for trajectory in copies})
    tokens = max(1, sum(trajectory.action_tokens for trajectory in trajectories))
    return {
        "rollout/forks": forks / max(1, len(trajectories) - len(copies)),
        "rollout/fork_rate": forks / chances,
        "rollout/forked": len(copies) / len(trajectories),
        "rollout/shared_tokens": 1.0
        - sum(trajectory.own_tokens for trajectory in trajectories) / tokens,
    }


def pool_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Return the share of turns that the stale policy played, if any, as ``rollout/stale_turns``.

    A turn that episodes share counts once.
    """
    turns = [turn.stale for trajectory in trajectories for turn in trajectory.own_turns]
    return {"rollout/stale_turns": sum(turns) / len(turns)} if any(turns) else {}


def judge_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Count the requests to judges and average their scores; empty without judges.

    Returns:
        For each judge by the name of its hook ``judges/NAME_asked`` (verdicts, those that were
        known before included), ``judges/NAME_missing`` and, over the others,
        ``judges/NAME_score``; of all together ``judges/judge_calls`` and ``judges/judge_tokens``.
    """
    turns = [turn.verdicts for trajectory in trajectories for turn in trajectory.turns]
    figures: dict[str, float] = {}
    for name in dict.fromkeys(name for verdicts in turns for name in verdicts):
        scores = [verdicts[name].score for verdicts in turns if name in verdicts]
        valid_scores = [score for score in scores if score is not None]
        figures[f"judges/{name}_asked"] = len(scores)
        figures[f"judges/{name}_missing"] = len(scores) - len(valid_scores)
        if valid_scores:
            figures[f"judges/{name}_score"] = sum(valid_scores) / len(valid_scores)
    all_verdicts = [verdict for verdicts in turns for verdict in verdicts.values()]
    if all_verdicts:
        tokens = (verdict.prompt_tokens + verdict.completion_tokens for verdict in all_verdicts)
        figures["judges/judge_calls"] = sum(verdict.calls for verdict in all_verdicts)
        figures["judges/judge_tokens"] = sum(tokens)
    return figures


def cost_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Average the costs of episodes; empty without hooks that count them.

    Returns:
        For each cost by the name of its hook ``costs/cost_NAME`` (mean of the episodes that did not
        break, in families that count it), ``costs/cost_NAME_above`` (share of them above its limit,
        if it has one) and ``costs/price_NAME`` (of a unit, where it follows the limit).
    """
    sound = [
        trajectory
        for trajectory in trajectories
        if trajectory.stop_reason != StopReason.ERROR.value
    ]
    costs = {
        k: cost
        for trajectory in sound
        for turn in trajectory.turns
        for k, cost in turn.costs.items()
    }
    counted = {
        (trajectory.family, name)
        for trajectory in sound
        for turn in trajectory.turns
        for name in turn.costs
    }
    figures: dict[str, float] = {}
    for name, cost in costs.items():
        members = [trajectory for trajectory in sound if (trajectory.family, name) in counted]
        used = [trajectory.used(name) for trajectory in members]
        figures[f"costs/cost_{name}"] = total(used) / len(used)
        if cost.limit is not None:
            figures[f"costs/cost_{name}_above"] = sum(amount > cost.limit for amount in used) / len(
                used
            )
        prices = [trajectory.options.get("prices", {}).get(name) for trajectory in members]
        if None not in prices:
            figures[f"costs/price_{name}"] = total(prices) / len(prices)
    return figures


def family_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Average over the episodes of each family of several; nothing where there is only one.

    Returns:
        The figures of :func:`rollout_metrics` as ``family/NAME/return`` and so on, those of
        :func:`cost_metrics` as ``family/NAME/cost_calls`` and so on, and
        ``family/NAME/horizon``, ``family/NAME/episodes`` and ``family/NAME/token_share``, its part
        of all sampled tokens: by so much a mean over tokens is its own.
    """
    parts = by_family(trajectories)
    if len(parts) < 2:
        return {}
    figures: dict[str, float] = {}
    tokens = max(1, sum(t.action_tokens for t in trajectories))
    for name, part in parts.items():
        family_figures = {
            key.removeprefix("rollout/"): value for key, value in rollout_metrics(part).items()
        }
        family_figures |= {
            k.removeprefix("costs/"): value for k, value in cost_metrics(part).items()
        }
        family_figures |= {
            "horizon": float(max(t.horizon for t in part)),
            "episodes": float(len(part)),
        }
        family_figures["token_share"] = sum(t.action_tokens for t in part) / tokens
        figures |= {f"family/{name}/{key}": value for key, value in family_figures.items()}
    return figures
