"""The packed batch every algorithm works on: action tokens with index arrays, no padding.

Prompt, observation and padding tokens never enter, so no statistic can count them by mistake.
Sizes: K action tokens, M turns, N trajectories; a token names its turn, a turn its trajectory, a
trajectory its group (task instance) and its task family.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trainers.algorithms.packing import (
    check_aux,
    check_lengths,
    check_nesting,
    check_range,
    column,
    flat,
    flat_any,
    ids,
)
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, dense, ranges, sums

Level = Literal["trajectory", "turn", "token"]
"""What one element of an array stands for: N, M or K of them."""


class EndReason(IntEnum):
    """Why an episode ended."""

    DONE = 0
    """The task itself ended it: success, failure or an answer."""
    HORIZON = 1
    """The turn budget was spent."""
    LENGTH = 2
    """The token budget was spent."""
    INVALID = 3
    """The policy's text ended it, for example a turn without an end-of-turn token."""
    ENV_ERROR = 4
    """The environment failed; its reward means nothing."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Packed trajectories of one optimisation step; arrays are read-only views.

    Every turn has at least one action token. A trajectory may have no turn (its environment failed
    at reset, or its prompt left no room): it then only counts in its group's baseline.
    """

    turn: IntArray
    """(K,) turn of each token: 0..M-1, non-decreasing, none missing."""
    traj: IntArray
    """(M,) trajectory of each turn, in [0, N), non-decreasing."""
    group: IntArray
    """(N,) group of each trajectory: those that started from the same task instance."""
    task: IntArray
    """(N,) task family of each trajectory, for normalisation over families."""
    reward: FloatArray
    """(M,) reward earned by each turn, credited to its last action token."""
    end: IntArray
    """(N,) `EndReason` of each trajectory."""
    state: IntArray
    """(M,) id of the raw observation the turn acted on; equal ids in a group are anchor states."""
    version: IntArray
    """(M,) weight version of the policy that acted."""
    policy: IntArray
    """(M,) which member of the policy pool acted: 0 is the current policy."""
    logp_behave: FloatArray
    """(K,) log-probability, in nats, under the policy that sampled the token."""
    logp_old: FloatArray
    """(K,) log-probability, in nats, under the policy before this step's updates."""
    values: FloatArray | None = None
    """(K,) critic's value before each token, or None without a critic."""
    sequence: IntArray | None = None
    """(M,) row each turn was generated in, non-decreasing; None means one row per trajectory."""
    aux: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Named extra signals, each (K,) or (M,), such as a reference model's log-probabilities."""

    def __post_init__(self) -> None:
        """Converts the arrays and checks every invariant above.

        Raises:
            ValueError: An array has the wrong length, order, range or a value that is not finite.
        """
        for name, (_, kind) in _COLUMNS.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, column(name, getattr(self, name), kind))
        aux = {name: column(f"aux[{name!r}]", x, "f") for name, x in self.aux.items()}
        object.__setattr__(self, "aux", aux)
        sizes = {"token": self.n_tokens, "turn": self.n_turns, "trajectory": self.n_trajectories}
        check_lengths({n: (getattr(self, n), lv) for n, (lv, _) in _COLUMNS.items()}, sizes)
        check_aux(self.aux, sizes)
        check_nesting(self.turn, self.traj, self.sequence, self.n_trajectories)
        check_range("end", self.end, len(EndReason))

    @classmethod
    def from_trajectories(
        cls,
        turn_tokens: Sequence[Sequence[int]],
        rewards: Sequence[Sequence[float]],
        groups: Sequence[Hashable],
        *,
        tasks: Sequence[Hashable] | None = None,
        ends: Sequence[int] | None = None,
        states: Sequence[Sequence[Hashable]] | None = None,
        versions: Sequence[Sequence[int]] | None = None,
        policies: Sequence[Sequence[int]] | None = None,
        logp_behave: Sequence[Sequence[float]] | None = None,
        logp_old: Sequence[Sequence[float]] | None = None,
        values: Sequence[Sequence[float]] | None = None,
        sequences: Sequence[Sequence[int]] | None = None,
        aux: Mapping[str, Sequence[Sequence[float]]] | None = None,
    ) -> Batch:
        """Packs plain lists, one entry for each trajectory.

        Integer ids are kept; other ids (strings) are numbered in order of first appearance.

        Args:
            turn_tokens: Action tokens of each turn.
            rewards: Reward of each turn.
            groups: Group id of each trajectory.
            tasks: Task-family id of each trajectory; None puts all in one family.
            ends: `EndReason` of each trajectory; None means DONE.
            states: State id of each turn; None makes every state unique.
            versions: Weight version of each turn; None means 0.
            policies: Acting pool member of each turn; None means 0, the current policy.
            logp_behave: Sampling log-probability of each action token; None fills zeros.
            logp_old: Log-probability of each action token before the update; None: as sampled.
            values: Critic value of each action token; None for no critic.
            sequences: Row of each turn, unique over the batch; None: one row per trajectory.
            aux: Extra signals of each turn or of each action token.

        Returns:
            The batch.

        Raises:
            ValueError: Lists do not agree in length, or an invariant of `Batch` is broken.
        """
        turns = np.array([len(row) for row in turn_tokens], dtype=np.int64)
        tokens = np.array([sum(row) for row in turn_tokens], dtype=np.int64)
        lengths = np.array(flat("turn_tokens", turn_tokens, turns), dtype=np.int64)
        n, m, k = len(turns), len(lengths), int(tokens.sum())

        def per_turn(name: str, rows: Sequence[Sequence[Any]] | None) -> Any:
            return np.zeros(m, np.int64) if rows is None else flat(name, rows, turns)

        def per_token(name: str, rows: Sequence[Sequence[float]] | None, default: Any) -> Any:
            return default if rows is None else flat(name, rows, tokens)

        behave = per_token("logp_behave", logp_behave, np.zeros(k))
        return cls(
            turn=np.repeat(np.arange(m), lengths),
            traj=np.repeat(np.arange(n), turns),
            group=ids(groups),
            task=np.zeros(n, np.int64) if tasks is None else ids(tasks),
            reward=per_turn("rewards", rewards),
            end=np.full(n, EndReason.DONE) if ends is None else ids(ends),
            state=np.arange(m) if states is None else ids(flat("states", states, turns)),
            version=per_turn("versions", versions),
            policy=per_turn("policies", policies),
            logp_behave=behave,
            logp_old=per_token("logp_old", logp_old, behave),
            values=per_token("values", values, None),
            sequence=None if sequences is None else per_turn("sequences", sequences),
            aux={x: np.array(flat_any(x, rows, turns, tokens)) for x, rows in (aux or {}).items()},
        )

    @property
    def n_tokens(self) -> int:
        """K, the number of action tokens."""
        return len(self.turn)

    @property
    def n_turns(self) -> int:
        """M, the number of turns."""
        return len(self.traj)

    @property
    def n_trajectories(self) -> int:
        """N, the number of trajectories, empty ones included."""
        return len(self.group)

    @cached_property
    def token_traj(self) -> IntArray:
        """(K,) trajectory of each token."""
        return self.traj[self.turn]

    @cached_property
    def turn_length(self) -> IntArray:
        """(M,) action tokens of each turn."""
        return np.bincount(self.turn, minlength=self.n_turns)

    @cached_property
    def turn_count(self) -> IntArray:
        """(N,) turns of each trajectory."""
        return np.bincount(self.traj, minlength=self.n_trajectories)

    @cached_property
    def turn_index(self) -> IntArray:
        """(M,) position of each turn in its trajectory, from 0."""
        starts = np.cumsum(self.turn_count) - self.turn_count
        return np.arange(self.n_turns) - starts[self.traj]

    @cached_property
    def is_final_turn(self) -> BoolArray:
        """(M,) whether the turn is the last of its trajectory."""
        return np.append(self.traj[1:] != self.traj[:-1], True)

    @cached_property
    def is_turn_end(self) -> BoolArray:
        """(K,) whether the token is the last of its turn."""
        return np.append(self.turn[1:] != self.turn[:-1], True)

    @cached_property
    def token_reward(self) -> FloatArray:
        """(K,) rewards on tokens: a turn's whole reward on its last action token, 0 elsewhere."""
        return np.where(self.is_turn_end, self.reward[self.turn], 0.0)

    @cached_property
    def returns(self) -> FloatArray:
        """(N,) undiscounted return: the sum of the trajectory's turn rewards."""
        return sums(self.traj, self.reward, self.n_trajectories)

    def token_sequence(self) -> IntArray:
        """(K,) row each token was generated in; its trajectory when no rows are given."""
        return self.token_traj if self.sequence is None else self.sequence[self.turn]

    def traj_at(self, level: Level) -> IntArray:
        """Trajectory of each element of a level: (N,), (M,) or (K,)."""
        if level == "trajectory":
            return np.arange(self.n_trajectories)
        return self.traj if level == "turn" else self.token_traj

    def to_tokens(self, values: FloatArray, level: Level) -> FloatArray:
        """Copies values of a level onto the tokens below them.

        Args:
            values: (N,), (M,) or (K,) values.
            level: What the values belong to.

        Returns:
            (K,) values.
        """
        if level == "token":
            return values
        return values[self.turn if level == "turn" else self.token_traj]

    def take(self, trajectories: npt.ArrayLike) -> Batch:
        """Selects, reorders or repeats trajectories.

        Args:
            trajectories: (n,) indices into the N trajectories, in the wanted order.

        Returns:
            The batch of those trajectories. Repeated generation rows get ids of their own.
        """
        picked: IntArray = np.asarray(trajectories, dtype=np.int64)
        check_range("trajectories", picked, self.n_trajectories)
        turns = self.turn_count[picked]
        rows = ranges((np.cumsum(self.turn_count) - self.turn_count)[picked], turns)
        lengths = self.turn_length[rows]
        tokens = ranges((np.cumsum(self.turn_length) - self.turn_length)[rows], lengths)
        source = {"trajectory": picked, "turn": rows, "token": tokens}
        columns = {
            name: getattr(self, name)[source[level]]
            for name, (level, _) in _COLUMNS.items()
            if getattr(self, name) is not None
        }
        columns["turn"] = np.repeat(np.arange(len(rows)), lengths)
        columns["traj"] = np.repeat(np.arange(len(picked)), turns)
        if self.sequence is not None:
            columns["sequence"] = dense(columns["traj"], columns["sequence"])
        aux = {k: x[rows if len(x) == self.n_turns else tokens] for k, x in self.aux.items()}
        return Batch(**columns, aux=aux)


_COLUMNS: Mapping[str, tuple[Level, str]] = {
    "turn": ("token", "i"),
    "traj": ("turn", "i"),
    "group": ("trajectory", "i"),
    "task": ("trajectory", "i"),
    "reward": ("turn", "f"),
    "end": ("trajectory", "i"),
    "state": ("turn", "i"),
    "version": ("turn", "i"),
    "policy": ("turn", "i"),
    "logp_behave": ("token", "f"),
    "logp_old": ("token", "f"),
    "values": ("token", "f"),
    "sequence": ("turn", "i"),
}
