"""Fork credit against an exact gradient, and the published methods that are cases of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.trainers.methods.forks.trees import Process, batch_of, enumerate_outcomes, estimate, grow
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import apply_filters
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS
from trainers.algorithms.signals import EpisodeReturn
from trainers.algorithms.trees import tree_of
from trainers.methods.forks.branching import Branching, EveryTurn
from trainers.methods.forks.fork_value import ForkValue
from trainers.methods.forks.trees import edges, fork_weights

LINE = Branching(EveryTurn(), roots=2, nested=False, refill=False, credit="tree")


def mean_gradient(process: Process, branching: Branching, size: int, parts: Preset) -> dict:
    """The expected gradient of a preset, over all that can happen."""
    total: dict[tuple[int, ...], float] = {}
    chances = 0.0
    for chance, episodes in enumerate_outcomes(
        process, lambda choose: grow(process, branching, size, choose)
    ):
        chances += chance
        batch = batch_of(process, [episodes])
        masks = apply_filters(batch, parts.filters)
        if not masks.train.any():  # all returns are equal
            continue
        values = advantage(batch, parts.terms, baseline=masks.baseline)
        share = fork_weights(batch, masks.train)[batch.token_traj] / masks.train.sum()
        for history, part in estimate(process, episodes, values * share).items():
            total[history] = total.get(history, 0.0) + chance * part
    assert chances == pytest.approx(1.0, abs=1e-12)
    return total


@pytest.mark.parametrize(
    ("process", "branching", "size"),
    [
        (Process(3), LINE, 4),
        (Process(3, ends=True), replace(LINE, nested=True), 6),
        (Process(3, ends=True, seed=1), replace(LINE, rule=EveryTurn(2)), 4),
        (Process(2, seed=2), replace(LINE, copies=2), 6),
    ],
)
@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_the_expected_gradient_is_exact(process, branching, size, prior):
    exact = process.gradient()
    parts = replace(PRESETS["fork-value"], terms=(Term(ForkValue(prior=prior)),))
    gradient = mean_gradient(process, branching, size, parts)
    assert {h: gradient.get(h, 0.0) for h in exact} == pytest.approx(exact, abs=1e-12)
    assert max(map(abs, exact.values())) > 0.1


def test_the_expected_gradient_of_vineppo_is_exact():
    process = Process(2, ends=True)
    gradient = mean_gradient(process, replace(LINE, copies=2), 6, PRESETS["vineppo"])
    exact = process.gradient()
    assert {h: gradient.get(h, 0.0) for h in exact} == pytest.approx(exact, abs=1e-12)


def drawn(branching: Branching, size: int, horizon: int = 4, groups: int = 2) -> tuple[list, Batch]:
    """Groups of one long process, drawn at random."""
    process, rng = Process(horizon), np.random.default_rng(3)
    episode_groups = [
        grow(process, branching, size, lambda p: int(rng.random() < p)) for _ in range(groups)
    ]
    return episode_groups, batch_of(process, episode_groups)


def test_without_forks_it_is_leave_one_out_of_whole_returns():
    rng = np.random.default_rng(0)
    batch = Batch.from_trajectories(
        [[1, 2], [3], [1, 1, 1], [2]], [[0.3, 1.0], [0.5], rng.random(3).tolist(), [0.0]], [0] * 4
    )
    fork_value = advantage(batch, [Term(ForkValue())])
    rloo = advantage(batch, [Term(EpisodeReturn(), center="group", leave_one_out=True)])
    np.testing.assert_allclose(fork_value, rloo, atol=1e-14)
    np.testing.assert_array_equal(fork_weights(batch, np.ones(4, dtype=bool)), 1.0)


def test_vineppo_by_its_formula():
    """A_t = r_t + V(s_t+1) - V(s_t), V the mean return-to-go of the K episodes forked there."""
    preset = PRESETS["vineppo"]
    assert preset.branching is not None
    groups, batch = drawn(preset.branching, 32, groups=1)
    (episodes,) = groups
    values = advantage(batch, preset.terms)
    train = apply_filters(batch, preset.filters).train
    assert [episode[1] is None for episode in episodes] == train.tolist()
    returns, starts = batch.returns, np.cumsum([0, *batch.turn_count])
    roots = [i for i, episode in enumerate(episodes) if episode[1] is None]
    assert len(roots) == 2
    for i in roots:
        number, _, _, actions = episodes[i]
        pay = batch.reward[starts[i] : starts[i + 1]]

        def value(t: int, i: int = i, number: int = number, pay: np.ndarray = pay) -> float:
            """V(s_t); that of the first state by the other first episode, that of the last is 0."""
            if t == len(pay):
                return 0.0
            forks = [
                j
                for j, episode in enumerate(episodes)
                if episode[1] == number and episode[2] == t and t
            ]
            assert not t or len(forks) == preset.branching.copies
            return float(np.mean([returns[j] for j in forks])) - pay[:t].sum() if t else np.nan

        (value_number,) = (value_of(episodes, returns, j) for j in roots if j != i)
        first = [value_number] + [value(t) for t in range(1, len(actions) + 1)]
        expected = [pay[t] + first[t + 1] - first[t] for t in range(len(actions))]
        np.testing.assert_allclose(values[starts[i] : starts[i + 1]], expected, atol=1e-12)


def value_of(episodes: list, returns: np.ndarray, root: int) -> float:
    """The value of the first action of a root: the mean over what was forked behind it."""
    number = episodes[root][0]
    forks = [j for j, episode in enumerate(episodes) if episode[1] == number and episode[2] == 1]
    return float(np.mean([returns[j] for j in forks]))


def test_tree_grpo_by_its_formula():
    """Each episode's return among those of its tree, and among those of its task."""
    preset = PRESETS["tree-grpo"]
    assert preset.branching is not None
    groups, batch = drawn(preset.branching, 16)
    advantages = advantage(batch, preset.terms)
    trees = np.concatenate(
        [[4 * g + episode[0] // 4 for episode in e] for g, e in enumerate(groups)]
    )
    assert (np.unique(trees, return_counts=True)[1] == 4).all()
    _, tree_index = np.unique(tree_of(batch), return_inverse=True)
    _, expected = np.unique(trees, return_inverse=True)
    assert len(set(zip(tree_index.tolist(), expected.tolist(), strict=True))) == 8
    returns = batch.returns
    for i, value in enumerate(advantages[np.cumsum(batch.turn_count) - 1]):
        tree, group = returns[trees == trees[i]], returns[batch.group == batch.group[i]]
        parts = [(returns[i] - x.mean()) / (x.std(ddof=1) + 1e-6) for x in (tree, group)]
        assert value == pytest.approx(sum(parts), abs=1e-12)


def test_prefix_sampling_by_its_formula():
    """One prefix, and a group that begins behind it: only what follows is compared and trained."""
    branching = replace(LINE, rule=EveryTurn(2), roots=1, copies=7)
    (episodes, _), batch = drawn(branching, 8)
    values = advantage(batch, [Term(ForkValue())])
    returns, first = batch.returns[:8], np.cumsum([0, *batch.turn_count])
    for i in range(len(episodes)):
        episode_values = values[first[i] : first[i + 1]]
        np.testing.assert_array_equal(episode_values[:2], 0.0)
        baseline = np.delete(returns, i).mean()
        np.testing.assert_allclose(episode_values[2:], returns[i] - baseline, atol=1e-12)


def test_an_episode_that_failed_tells_nothing():
    process = Process(3)
    rng = np.random.default_rng(5)
    episodes = grow(process, LINE, 6, lambda p: int(rng.random() < p))
    sound, batch = (
        [episode for episode in episodes if episode[0] != 1],
        batch_of(process, [episodes]),
    )
    ends = ["error" if episode[0] == 1 else "horizon" for episode in episodes]
    failed = replace(batch, stop_reason=np.array(ends))
    advantages = advantage(failed, [Term(ForkValue())])[failed.token_traj != 1]
    np.testing.assert_allclose(
        advantages, advantage(batch_of(process, [sound]), [Term(ForkValue())])
    )


def test_fork_weights_follow_the_forks():
    # Two roots; the first is forked after its first turn, and again after its second.
    nodes = [["a", "b", "c"], ["a", "b", "d"], ["a", "e"], ["f"]]
    lengths = [[1] * len(path) for path in nodes]
    batch = Batch.from_trajectories(
        lengths, [[0.0] * len(path) for path in nodes], [0] * 4, nodes=nodes
    )
    weights = fork_weights(batch, np.ones(4, dtype=bool))
    np.testing.assert_allclose(weights, np.array([1, 1, 2, 4]) / 8 * 4)
    weights = fork_weights(batch, np.array([True, True, False, True]))
    np.testing.assert_allclose(weights, np.array([1, 1, 0, 2]) / 4 * 3)
    edge, state = edges(batch)
    assert edge.tolist() == [0, 1, 2, 0, 1, 3, 0, 4, 5]
    assert state[1] == state[4] and state[2] == state[3] and state[0] == state[5]
