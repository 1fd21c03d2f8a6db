"""The updates of a step train the same episodes in one process as in several."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.grpo.minibatches import MINIBATCH, divided, minibatch_of_episodes, minibatch_of_rows
from trainers.rollouts.scoring.tensors import row_tensors, sampled_mask
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows


@pytest.mark.parametrize(("parts", "world"), [(1, 3), (2, 2), (3, 4), (4, 3)])
def test_every_process_has_as_many_episodes_of_every_minibatch(parts, world):
    drawn = minibatch_of_episodes(12 * parts, parts, (0, 5))
    shares = drawn.reshape(world, -1)
    assert all(np.bincount(s, minlength=parts).tolist() == [12 // world] * parts for s in shares)


def test_the_draw_depends_on_run_and_step_alone():
    draws = [
        minibatch_of_episodes(64, 4, seed).tolist() for seed in ((0, 1), (0, 1), (0, 2), (1, 1))
    ]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2] != draws[3] != draws[0]
    places = np.array([minibatch_of_episodes(4, 4, (0, step)) for step in range(400)])
    assert np.abs(places.mean(0) - 1.5).max() < 0.25, "every place of a block is drawn alike"


def test_processes_of_unlike_rows_have_as_many_of_every_minibatch():
    """Episodes of minibatches 0, 1, 2 have 3, 1, 0 rows in one process, 1, 2, 0 in another."""
    drawn, rows = np.arange(3), ([3, 1, 0], [1, 2, 0])
    numberings = [minibatch_of_rows(counts, drawn, 3, lambda _: list(rows)) for counts in rows]
    assert [numbers.tolist() for numbers in numberings] == [[0, 0, 0, 1, 1, 2], [0, 1, 1, 0, 0, 2]]


def test_a_batch_is_divided_by_its_column():
    episodes = [Trajectory(turns=[SampledTurn([5] * n, [n] * n, [-1.0] * n)]) for n in (1, 2, 3)]
    batch = row_tensors(to_rows(episodes), 0, torch.device("cpu"), 4)
    batch |= {MINIBATCH: torch.tensor([1, 0, 1, 0]), "num_items_in_batch": torch.tensor(6)}
    first, second = divided(batch, 2)
    assert sampled_mask(first).sum(1).tolist() == [2, 0]
    assert sampled_mask(second).sum(1).tolist() == [1, 3]
    assert first["num_items_in_batch"] == second["num_items_in_batch"] == 6
    assert MINIBATCH not in first
