"""Small batches for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from trainers.algorithms.batch import _COLUMNS, Batch


def pack(rewards: list[list[float]], groups: list[int], *, tokens: int = 1, **more: Any) -> Batch:
    """A batch whose turns all have the same number of tokens."""
    return Batch.from_trajectories([[tokens] * len(r) for r in rewards], rewards, groups, **more)


@st.composite
def batches(draw: st.DrawFn, min_turns: int = 1) -> Batch:
    """Random ragged batches with values, log-probabilities, states, tasks and versions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 10))
    turns = rng.integers(min_turns, 5, n)
    turns[0] = max(turns[0], 1)
    tokens = [rng.integers(1, 4, t).tolist() for t in turns]
    scale = draw(st.sampled_from([0.1, 1.0, 1e3]))
    return Batch.from_trajectories(
        tokens,
        [(scale * rng.integers(-2, 3, t)).tolist() for t in turns],
        rng.integers(0, 3, n).tolist(),
        families=rng.integers(0, 2, n).tolist(),
        states=[rng.integers(0, 3, t).tolist() for t in turns],
        versions=[rng.integers(0, 4, t).tolist() for t in turns],
        logp_behave=[(-rng.random(sum(t))).tolist() for t in tokens],
        logp_old=[(-rng.random(sum(t))).tolist() for t in tokens],
        values=[rng.normal(size=sum(t)).tolist() for t in tokens],
        aux={"logp_prm": [(-rng.random(sum(t))).tolist() for t in tokens]},
    )


def take(batch: Batch, trajectories: Any) -> Batch:
    """Select, reorder or repeat trajectories; repeated rows get ids of their own."""
    picked = np.asarray(trajectories, dtype=np.int64)
    turns = batch.turn_count[picked]
    rows = _ranges((np.cumsum(batch.turn_count) - batch.turn_count)[picked], turns)
    lengths = batch.turn_length[rows]
    tokens = _ranges((np.cumsum(batch.turn_length) - batch.turn_length)[rows], lengths)
    source = {"trajectory": picked, "turn": rows, "token": tokens}
    columns = {
        name: getattr(batch, name)[source[level]]
        for name, (level, _) in _COLUMNS.items()
        if getattr(batch, name) is not None
    }
    columns["turn"] = np.repeat(np.arange(len(rows)), lengths)
    columns["traj"] = np.repeat(np.arange(len(picked)), turns)
    aux = {k: x[rows if len(x) == batch.n_turns else tokens] for k, x in batch.aux.items()}
    return Batch(**columns, aux=aux)


def _ranges(starts: Any, counts: Any) -> Any:
    """The ranges [start, start + count), one after the other."""
    offsets = np.cumsum(counts) - counts
    return np.repeat(starts - offsets, counts) + np.arange(int(counts.sum()))
