"""The estimator: numbers worked out by hand, and the laws it must obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainers.algorithms.helpers import batches, pack, take
from trainers.algorithms.advantage import Term, Whiten, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.presets import get_preset
from trainers.algorithms.signals import EpisodeReturn, KLToGo, RewardToGo, Solved, StepReward
from trainers.methods.critic.gae import GAE
from trainers.methods.reward_model.credit import Implicit
from trainers.methods.turn_critic.credit import QMinusV

GRPO = Term(EpisodeReturn(), center="group", scale="group")
DR_GRPO = Term(EpisodeReturn(), center="group")
RLOO = Term(EpisodeReturn(), center="group", leave_one_out=True)
TURN_LOO = Term(RewardToGo(), center="turn_index_padded", leave_one_out=True)
ALL_TERMS = [
    GRPO,
    RLOO,
    TURN_LOO,
    Term(EpisodeReturn(), center="group", scale="family"),
    Term(RewardToGo(0.9), center="state", scale="state"),
    Term(StepReward(), center="turn_index", scale="turn_index", where="non_final"),
    Term(Implicit(), center="group", scale="group"),
    Term(GAE(0.99, 0.95, 0.9, 0.8)),
]


def gigpo_example(states: list[list[int]]) -> Batch:
    """Four rollouts meet one state first; two succeed after 2 and 4 more turns, two fail."""
    rewards = [[0, 0, 1.0], [0, 0, 0, 0, 1.0], [0.0] * 6, [0.0] * 6]
    return pack(rewards, [0] * 4, states=states)


def test_gigpo_worked_example() -> None:
    states = [[7, 1, 2], [7, 3, 4, 5, 6], [7, *range(11, 16)], [7, *range(21, 26)]]
    a = advantage(gigpo_example(states), get_preset("gigpo").terms)
    np.testing.assert_allclose(
        a[[0, 3, 8, 14]], [0.973248, 0.885255, -0.929252, -0.929252], atol=1e-6
    )


def test_gigpo_with_unique_states_is_grpo_without_deviation() -> None:
    batch = gigpo_example([list(range(100 * i, 100 * i + n)) for i, n in enumerate((3, 5, 6, 6))])
    a = advantage(batch, get_preset("gigpo").terms)
    np.testing.assert_array_equal(a, advantage(batch, [DR_GRPO]))


def test_erpo_scales_by_the_task_family() -> None:
    outcomes = [1, 0, 0, 0, 1, 1, 1, 0]
    batch = pack([[float(r)] for r in outcomes], [0] * 4 + [1] * 4)
    erpo = advantage(batch, get_preset("erpo").terms)
    expected = [1.403, -0.468, -0.468, -0.468, 0.468, 0.468, 0.468, -1.403]
    np.testing.assert_allclose(erpo, expected, atol=5e-4)
    grpo = advantage(batch, [GRPO])
    np.testing.assert_allclose(grpo, [1.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, -1.5], atol=1e-5)


def test_agentrl_gives_every_task_mean_zero_and_deviation_one() -> None:
    batch = pack(
        [[1.0, 0], [0.0, 0], [10.0] * 5, [0.0] * 5],
        [0, 0, 1, 1],
        families=["a", "a", "b", "b"],
        tokens=3,
    )
    a = advantage(batch, [DR_GRPO], Whiten("family", "family"))
    for task in (0, 1):
        of_task = a[batch.family[batch.token_traj] == task]
        np.testing.assert_allclose([of_task.mean(), of_task.std(ddof=1)], [0, 1], atol=1e-5)


def test_mt_grpo_matrix() -> None:
    batch = pack([[0.5, 1], [0.5, 0], [0, 1], [0, 0]], [0] * 4)
    a = advantage(batch, get_preset("mt-grpo").terms).reshape(4, 2)
    z = 3**0.5 / 2
    expected = [[2 * z, z], [0, -z], [0, z], [-2 * z, -z]]
    np.testing.assert_allclose(a, expected, atol=1e-5)


def test_mt_ppo_without_critic_is_the_return_to_go() -> None:
    batch = replace(pack([[0.3, 1.0]], [0], tokens=2), values=np.zeros(4))
    np.testing.assert_allclose(advantage(batch, [Term(GAE())]), [1.3, 1.3, 1.0, 1.0])


def test_bi_level_discounts_a_turn_without_reward() -> None:
    batch = replace(pack([[0.0, 1.0]], [0], tokens=3), values=np.zeros(6))
    a = advantage(batch, [Term(GAE(gamma_turn=0.5))])
    np.testing.assert_allclose(a, [0.5] * 3 + [1.0] * 3)


def test_gae_by_hand() -> None:
    batch = Batch.from_trajectories([[1, 2]], [[0.0, 1.0]], [0], values=[[0.5, 0.2, 0.6]])
    # deltas .9*.2-.5, .9*.6-.2, 1-.6 = -.32, .34, .4; lambda .5 adds .45 of the next
    expected = [-0.32 + 0.45 * 0.52, 0.34 + 0.45 * 0.4, 0.4]
    np.testing.assert_allclose(advantage(batch, [Term(GAE(0.9, 0.5))]), expected)


def test_deviation_of_the_sample_or_of_the_population_by_hand() -> None:
    batch = pack([[0.0], [0.0], [3.0]], [0, 0, 0])
    for ddof, variance in ((1, 6 / 2), (0, 6 / 3)):  # of the differences -1 -1 2 from the mean
        term = Term(EpisodeReturn(), center="group", scale="group", ddof=ddof, eps=0.0)
        expected = np.array([-1, -1, 2]) / np.sqrt(variance)
        np.testing.assert_allclose(advantage(batch, [term]), expected)


def test_turn_loo_by_hand() -> None:
    batch = pack([[0, 1.0], [0, 0, 2.0], [1.0]], [0, 0, 0])
    # returns-to-go 1 1 -, 2 2 2, 1 - -; what has ended counts as 0 for the others
    expected = [1 - 1.5, 1 - 1.0, 2 - 1.0, 2 - 0.5, 2 - 0.0, 1 - 1.5]
    np.testing.assert_allclose(advantage(batch, [TURN_LOO]), expected)


def test_turn_loo_counts_trajectories_without_turns() -> None:
    batch = pack([[1.0], [], [1.0]], [0, 0, 0])
    np.testing.assert_allclose(advantage(batch, [TURN_LOO]), [0.5, 0.5])
    failed = np.array([True, False, True])
    np.testing.assert_allclose(advantage(batch, [TURN_LOO], baseline=failed), [0.0, 0.0])


@pytest.mark.parametrize("term", [GRPO, DR_GRPO, RLOO, TURN_LOO])
def test_zero_variance_gives_exact_zeros(term: Term) -> None:
    batch = pack([[0.1, 0.2]] * 3 + [[0.3], [0.0]], [0, 0, 0, 1, 1])
    a = advantage(batch, [term])
    assert not a[:6].any()
    assert a[6:].all()


def test_baseline_mask_keeps_or_drops_a_truncated_member() -> None:
    batch = pack([[1.0], [0.0], [0.0]], [0, 0, 0])
    np.testing.assert_allclose(advantage(batch, [RLOO]), [1, -0.5, -0.5])
    a = advantage(batch, [RLOO], baseline=np.array([True, True, False]))
    np.testing.assert_allclose(a, [1, -1, -0.5])


def test_whitening_counts_trained_tokens_only() -> None:
    batch = pack([[1.0], [2.0], [100.0]], [0, 1, 2])
    train = np.array([True, True, False])
    a = advantage(batch, [Term(EpisodeReturn())], Whiten(eps=0.0), train=train)
    np.testing.assert_allclose(a[:2], [-(0.5**0.5), 0.5**0.5])


def test_istar_with_the_old_policy_as_reward_model_is_grpo() -> None:
    batch = pack([[0, 1.0], [0.0], [1.0]], [0, 0, 0], aux={"logp_prm": [[0.0, 0.0], [0.0], [0.0]]})
    a = advantage(batch, get_preset("istar").terms)
    np.testing.assert_allclose(a, advantage(batch, [GRPO]))


def test_kl_to_go_sums_what_is_still_to_come() -> None:
    batch = Batch.from_trajectories(
        [[2, 1], [1]], [[0, 0], [0]], [0, 0], aux={"logp_ref": [[-1.0, -2.0, -4.0], [-8.0]]}
    )
    np.testing.assert_allclose(advantage(batch, [Term(KLToGo())]), [7, 6, 4, 8])


def test_q_minus_v_is_copied_to_tokens() -> None:
    batch = pack([[0, 0]], [0], tokens=2, aux={"q": [[1.0, 2.0]], "v": [[0.5, 3.0]]})
    np.testing.assert_allclose(advantage(batch, [Term(QMinusV())]), [0.5, 0.5, -1, -1])


def test_expert_iteration_weighs_the_tokens_of_solved_episodes_alone() -> None:
    batch = Batch.from_trajectories(
        [[2, 1], [1], [3]], [[0.0, 1.0], [1.0], [0.2]], [0, 0, 0],
        stop_reasons=["success", "failure", "horizon"],
    )  # fmt: skip
    assert advantage(batch, [Term(Solved())]).tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_outcome_of_the_final_turn_only() -> None:
    values, level = EpisodeReturn("final")(pack([[5.0, 1.0], [2.0]], [0, 0]))
    assert (values.tolist(), level) == ([1.0, 2.0], "trajectory")


@given(batches(min_turns=0), st.sampled_from(ALL_TERMS), st.integers(0, 99))
def test_shuffling_trajectories_moves_advantages_with_them(
    batch: Batch, term: Term, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(batch.n_trajectories)
    a, shuffled = advantage(batch, [term]), take(batch, order)
    tag = take(replace(batch, aux={**batch.aux, "a": a}), order).aux["a"]
    np.testing.assert_allclose(advantage(shuffled, [term]), tag, atol=1e-6, rtol=1e-9)


@given(batches())
def test_centred_outcomes_average_to_zero_in_each_group(batch: Batch) -> None:
    a = advantage(batch, [DR_GRPO])
    of_traj = np.array([a[batch.token_traj == i][0] for i in range(batch.n_trajectories)])
    for g in np.unique(batch.group):
        assert abs(of_traj[batch.group == g].mean()) < 1e-9


@given(batches())
def test_rloo_is_the_centred_outcome_times_n_over_n_minus_one(batch: Batch) -> None:
    n = np.bincount(batch.group)[batch.group][batch.token_traj]
    expected = advantage(batch, [DR_GRPO]) * n / np.maximum(n - 1, 1)
    np.testing.assert_allclose(advantage(batch, [RLOO]), expected, atol=1e-9)


@given(batches(), st.sampled_from(ALL_TERMS[:4]))
def test_a_group_of_one_gets_zero(batch: Batch, term: Term) -> None:
    alone = replace(batch, group=np.arange(batch.n_trajectories))
    assert not advantage(alone, [term]).any()


@given(batches())
def test_return_to_go_telescopes(batch: Batch) -> None:
    togo = RewardToGo()(batch).values
    following = np.where(batch.is_final_turn, 0.0, np.append(togo[1:], 0.0))
    np.testing.assert_allclose(togo - following, batch.reward, atol=1e-9)
    np.testing.assert_allclose(togo[batch.turn_index == 0], batch.returns, atol=1e-9)


@given(batches())
def test_gae_with_lambda_one_is_return_to_go_minus_value(batch: Batch) -> None:
    assert batch.values is not None
    expected = RewardToGo()(batch).values[batch.turn] - batch.values
    np.testing.assert_allclose(advantage(batch, [Term(GAE())]), expected, atol=1e-9)


@given(batches())
def test_padded_baseline_sums_to_zero_over_a_full_group(batch: Batch) -> None:
    """Centred (not leave-one-out) values sum to the negative padded share of ended members."""
    a = advantage(batch, [Term(RewardToGo(), center="turn_index_padded")])
    togo = RewardToGo()(batch).values
    of_turn = a[np.flatnonzero(batch.is_turn_end)]
    for g in np.unique(batch.group):
        size = (batch.group == g).sum()
        for t in range(batch.turn_index.max() + 1):
            at_turn = (batch.group[batch.traj] == g) & (batch.turn_index == t)
            if size > 1:
                missing = size - at_turn.sum()
                remainder = of_turn[at_turn].sum() - missing * togo[at_turn].sum() / size
                assert abs(remainder) < 1e-8


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: advantage(b, []), "at least one term"),
        (
            lambda b: advantage(b, [Term(EpisodeReturn(), "state")]),
            "turn-level signal for key 'state'",
        ),
        (lambda b: advantage(b, [Term(GAE())]), "critic values"),
        (lambda b: advantage(b, [Term(Implicit())]), r"expected aux\['logp_prm'\]"),
        (lambda b: advantage(b, [RLOO], baseline=np.ones(9, bool)), "baseline to have one entry"),
        (lambda b: advantage(b, [Term(StepReward(), where="last")]), "'final', 'non_final' or"),  # type: ignore[arg-type]
        (
            lambda b: advantage(b, [Term(StepReward(), where=lambda _: np.ones(9, bool))]),
            "one entry",
        ),
        (lambda _: Term(EpisodeReturn(), "team"), "expected a key of"),  # type: ignore[arg-type]
        (lambda _: Term(EpisodeReturn(), leave_one_out=True), "expected a center"),
    ],
)
def test_errors_say_what_to_do(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        build(pack([[1.0], [0.0]], [0, 0]))
