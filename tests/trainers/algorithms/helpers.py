"""Small batches for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from trainers.algorithms import Batch


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
        tasks=rng.integers(0, 2, n).tolist(),
        states=[rng.integers(0, 3, t).tolist() for t in turns],
        versions=[rng.integers(0, 4, t).tolist() for t in turns],
        logp_behave=[(-rng.random(sum(t))).tolist() for t in tokens],
        logp_old=[(-rng.random(sum(t))).tolist() for t in tokens],
        values=[rng.normal(size=sum(t)).tolist() for t in tokens],
        aux={"logp_prm": [(-rng.random(sum(t))).tolist() for t in tokens]},
    )
