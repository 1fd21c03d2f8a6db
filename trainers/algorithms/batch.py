"""The packed batch every algorithm works on: action tokens with index arrays, no padding.

Prompt, observation and padding tokens never enter, so no statistic can count them by mistake.
Sizes: K action tokens, M turns, N trajectories (all letters: ``trainers/__init__.py``); a token
names its turn, a turn its trajectory, a trajectory its group (task instance) and its task family.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from agentgym.core.outcome import StopReason
from agentgym.errors import DataError
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, sums

Level = Literal["trajectory", "turn", "token"]
"""What one element of an array represents: a trajectory (N), a turn (M) or a token (K)."""
Column = npt.NDArray[np.generic]


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
    """(N,) group of each trajectory; trajectories of one task instance form a group."""
    family: IntArray
    """(N,) task family of each trajectory, for normalisation over families."""
    reward: FloatArray
    """(M,) reward earned by each turn, credited to its last action token."""
    stop_reason: npt.NDArray[np.str_]
    """(N,) why each trajectory ended: values of ``StopReason``, or names defined by the
    environment."""
    state: IntArray
    """(M,) id of the raw observation the turn acted on; equal ids in a group are anchor states."""
    version: IntArray
    """(M,) weight version of the policy that acted."""
    logp_behave: FloatArray
    """(K,) log-probability, in nats, under the policy that sampled the token."""
    logp_old: FloatArray
    """(K,) log-probability, in nats, under the policy before this step's updates."""
    values: FloatArray | None = None
    """(K,) critic's value before each token, or None without a critic."""
    aux: Mapping[str, FloatArray] = field(default_factory=dict)
    """Named extra signals, each (K,) or (M,), such as a reference model's log-probabilities."""
    node: IntArray = None  # type: ignore[assignment]  # a column like the others once it is made
    """(M,) id of the sampled turn; trajectories that were forked after a turn share its id. If left
    out, no turn is shared."""

    def __post_init__(self) -> None:
        """Convert the arrays and check every invariant above.

        Raises:
            DataError: An array has the wrong length, order, range or a value that is not finite.
        """
        if self.node is None:
            object.__setattr__(self, "node", np.arange(len(self.traj)))
        for name, (_, kind) in _COLUMNS.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _column(name, getattr(self, name), kind))
        aux = {name: _column(f"aux[{name!r}]", x, "f") for name, x in self.aux.items()}
        object.__setattr__(self, "aux", aux)
        self._check_lengths()
        self._check_nesting()

    @classmethod
    def from_trajectories(
        cls,
        turn_tokens: Sequence[Sequence[int]],
        rewards: Sequence[Sequence[float]],
        groups: Sequence[Hashable],
        *,
        families: Sequence[Hashable] | None = None,
        stop_reasons: Sequence[StopReason | str] | None = None,
        states: Sequence[Sequence[Hashable]] | None = None,
        versions: Sequence[Sequence[int]] | None = None,
        nodes: Sequence[Sequence[Hashable]] | None = None,
        logp_behave: Sequence[Sequence[float]] | None = None,
        logp_old: Sequence[Sequence[float]] | None = None,
        values: Sequence[Sequence[float]] | None = None,
        aux: Mapping[str, Sequence[Sequence[float]]] | None = None,
    ) -> Batch:
        """Pack plain lists, one entry for each trajectory.

        Integer ids are kept; other ids (strings) are numbered in order of first appearance.

        Args:
            turn_tokens: Action tokens of each turn.
            rewards: Reward of each turn.
            groups: Group id of each trajectory.
            families: Task-family id of each trajectory; None puts all in one family.
            stop_reasons: Why each trajectory ended; None leaves it open.
            states: State id of each turn; None makes every state unique.
            versions: Weight version of each turn; None means 0.
            nodes: Id of each sampled turn, over all trajectories; None: no turn is shared.
            logp_behave: Sampling log-probability of each action token; None fills zeros.
            logp_old: Log-probability of each action token before the update; None: as sampled.
            values: Critic value of each action token; None for no critic.
            aux: Extra signals of each turn or of each action token.

        Raises:
            DataError: Lists do not agree in length, or an invariant of ``Batch`` is broken.
        """
        turns = np.array([len(row) for row in turn_tokens], dtype=np.int64)
        tokens = np.array([sum(row) for row in turn_tokens], dtype=np.int64)
        lengths = np.array(_flat("turn_tokens", turn_tokens, turns), dtype=np.int64)
        n, m, k = len(turns), len(lengths), int(tokens.sum())

        def per_turn(name: str, rows: Sequence[Sequence[Any]] | None) -> Any:
            return np.zeros(m, np.int64) if rows is None else _flat(name, rows, turns)

        def per_token(name: str, rows: Sequence[Sequence[float]] | None, default: Any) -> Any:
            return default if rows is None else _flat(name, rows, tokens)

        def either(name: str, rows: Sequence[Sequence[float]]) -> Any:
            has_turns = [len(row) for row in rows] == list(turns)
            return np.array(_flat(name, rows, turns if has_turns else tokens))

        behave = per_token("logp_behave", logp_behave, np.zeros(k))
        return cls(
            turn=np.repeat(np.arange(m), lengths),
            traj=np.repeat(np.arange(n), turns),
            group=_ids(groups),
            family=np.zeros(n, np.int64) if families is None else _ids(families),
            reward=per_turn("rewards", rewards),
            # The value, because numpy would write the name of an enumeration's member.
            stop_reason=np.array([str(getattr(r, "value", r)) for r in stop_reasons or [""] * n]),
            state=np.arange(m) if states is None else _ids(_flat("states", states, turns)),
            version=per_turn("versions", versions),
            node=np.arange(m) if nodes is None else _ids(_flat("nodes", nodes, turns)),
            logp_behave=behave,
            logp_old=per_token("logp_old", logp_old, behave),
            values=per_token("values", values, None),
            aux={name: either(name, rows) for name, rows in (aux or {}).items()},
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
    def is_turn_start(self) -> BoolArray:
        """(K,) whether the token is the first of its turn."""
        return np.append(True, self.turn[1:] != self.turn[:-1])

    @cached_property
    def token_reward(self) -> FloatArray:
        """(K,) rewards on tokens: a turn's whole reward on its last action token, 0 elsewhere."""
        return np.where(self.is_turn_end, self.reward[self.turn], 0.0)

    @cached_property
    def returns(self) -> FloatArray:
        """(N,) undiscounted return: the sum of the trajectory's turn rewards."""
        return sums(self.traj, self.reward, self.n_trajectories)

    def traj_at(self, level: Level) -> IntArray:
        """Trajectory of each element of a level: (N,), (M,) or (K,)."""
        if level == "trajectory":
            return np.arange(self.n_trajectories)
        return self.traj if level == "turn" else self.token_traj

    def to_tokens(self, values: FloatArray, level: Level) -> FloatArray:
        """Copy the (N,), (M,) or (K,) values of a level onto the (K,) tokens below them."""
        if level == "token":
            return values
        return values[self.turn if level == "turn" else self.token_traj]

    def _check_lengths(self) -> None:
        """Check that there is a token, and that columns have as many entries as their level."""
        sizes = {"token": self.n_tokens, "turn": self.n_turns, "trajectory": self.n_trajectories}
        if not self.n_tokens:
            raise DataError(
                "expected at least one action token, got none; skip a step whose episodes are all "
                "empty"
            )
        for name, (level, _) in _COLUMNS.items():
            array = getattr(self, name)
            if array is not None and len(array) != sizes[level]:
                raise DataError(
                    f"expected {name} to have {sizes[level]} entries, one for each {level}, "
                    f"got {len(array)}; check what it is indexed by"
                )
        for name, array in self.aux.items():
            if len(array) not in (self.n_tokens, self.n_turns):
                raise DataError(
                    f"expected aux[{name!r}] to have {self.n_tokens} entries (tokens) or "
                    f"{self.n_turns} (turns), got {len(array)}; repeat trajectory values on turns"
                )

    def _check_nesting(self) -> None:
        """Check that tokens nest in turns, and turns in trajectories."""
        _check_order("turn", self.turn)
        _check_range("turn", self.turn, self.n_turns)
        empty = np.flatnonzero(self.turn_length == 0)
        if empty.size:
            raise DataError(
                f"expected every turn to have an action token, got none for turn {empty[0]}; "
                "leave out turns the policy did not generate"
            )
        _check_order("traj", self.traj)
        _check_range("traj", self.traj, self.n_trajectories)


_COLUMNS: Mapping[str, tuple[Level, str]] = MappingProxyType(
    {
        "turn": ("token", "i"),
        "traj": ("turn", "i"),
        "group": ("trajectory", "i"),
        "family": ("trajectory", "i"),
        "reward": ("turn", "f"),
        "stop_reason": ("trajectory", "U"),
        "state": ("turn", "i"),
        "version": ("turn", "i"),
        "node": ("turn", "i"),
        "logp_behave": ("token", "f"),
        "logp_old": ("token", "f"),
        "values": ("token", "f"),
    }
)
"""Level and kind of each column of a batch."""
_KINDS: Mapping[str, tuple[str, str, type[np.generic]]] = MappingProxyType(
    {
        "i": ("iub", "integers", np.int64),
        "f": ("iubf", "numbers", np.float64),
        "U": ("U", "strings", np.str_),
    }
)
"""The numpy kinds that a column accepts, their description, and the stored dtype."""


def _column(name: str, values: npt.ArrayLike, kind: str) -> Column:
    """Convert one column to a read-only flat array; the caller's own array stays writable."""
    array: Column = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"expected {name} to have one dimension, got shape {array.shape}")
    accepted, description, stored = _KINDS[kind]
    if array.size and array.dtype.kind not in accepted:
        raise DataError(
            f"expected {name} to hold {description}, got {array.dtype}; convert it first"
        )
    array = array.astype(stored, copy=False).view()
    if kind == "f" and not np.isfinite(array).all():
        first_bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise DataError(
            f"expected {name} to be finite, got {array[first_bad]} at {first_bad}; "
            "mask failed episodes before packing them"
        )
    array.flags.writeable = False
    return array


def _check_order(name: str, index: IntArray) -> None:
    """Check that an index array never decreases."""
    drops = np.flatnonzero(np.diff(index) < 0)
    if drops.size:
        k = int(drops[0])
        raise DataError(
            f"expected {name} to be sorted, got {index[k]} followed by {index[k + 1]} at {k}; "
            "pack the turns of a trajectory, and the tokens of a turn, next to each other"
        )


def _check_range(name: str, index: IntArray, size: int) -> None:
    """Check that every entry lies in [0, size)."""
    if index.size and (index.min() < 0 or index.max() >= size):
        raise DataError(
            f"expected {name} in [0, {size}), got values from {index.min()} to {index.max()}; "
            "number the entries from 0"
        )


def _ids(values: Sequence[Hashable]) -> IntArray:
    """Keep integer ids (n,); number any others in order of first appearance."""
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.fromiter(values, np.int64, len(values))
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), np.int64, len(values))


def _flat(name: str, nested: Sequence[Sequence[Any]], lengths: IntArray) -> list[Any]:
    """Join one list per trajectory, of the given lengths, into one list."""
    if len(nested) != len(lengths):
        raise DataError(
            f"expected {name} to have one list for each of {len(lengths)} trajectories, "
            f"got {len(nested)}; give an empty list to a trajectory without turns"
        )
    for i, (row, length) in enumerate(zip(nested, lengths, strict=True)):
        if len(row) != length:
            raise DataError(
                f"expected {name}[{i}] to have {length} entries, got {len(row)}; "
                "give one entry for each turn (or action token) of the trajectory"
            )
    return list(chain.from_iterable(nested))
