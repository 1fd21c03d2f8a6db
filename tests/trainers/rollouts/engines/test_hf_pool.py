"""Two policies in one engine of transformers: each draws with its own weights alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from agentgym.errors import DataError, NotSupported
from tests.trainers import tiny_policy
from tests.trainers.rollouts.engines.test_hf import largest_gap
from trainers.algorithms.policy_pool import PolicyPool
from trainers.methods.cross_policy.stale_policy import StaleTurns
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.base import PoolEngine, Request, Sampling, generate
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.engines.hf_pool import HFCopyPoolEngine, HFPoolEngine
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.trained_weights import TrainedWeights
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Row, Trajectory

ENGINES: dict[type[HFPoolEngine], type[HFEngine]] = {
    HFPoolEngine: HFEngine,
    HFCopyPoolEngine: HFCopyEngine,
}
BUDGET = TokenBudget(turn_tokens=5, episode_tokens=150, context=200)
HALF = PolicyPool(0.5)
SAMPLING = Sampling(max_tokens=6, stop_ids=(1,))


def adapted() -> Any:
    config = LoraConfig(r=2, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return get_peft_model(tiny_policy.model(), config)


MODELS: dict[str, Callable[[], Any]] = {"whole": tiny_policy.model, "adapters": adapted}


@torch.no_grad()
def trained_on(model: Any, seed: int) -> None:
    """Move what is trained."""
    random = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        if weight.requires_grad:
            weight.add_(0.1 * torch.randn(weight.shape, generator=random))


def two_policies(kind: type[HFPoolEngine], make: Callable[[], Any]) -> tuple[Any, Any, Any]:
    """An engine, its present policy, and a copy of the stale one."""
    model = make()
    trained_on(model, 1)
    engine, past, weights = kind(model), copy.deepcopy(model), TrainedWeights(model)
    trained_on(model, 2)
    engine.sync(policy_weights(model), 7)
    engine.sync_stale(weights, 3)
    return engine, model, past


def play(engine: Any, pool: PolicyPool | None, slots: int = 6) -> list[Trajectory]:
    runner = RolloutRunner(tiny_policy.envs(slots), tiny_policy.chat(), engine, BUDGET)
    parts = [] if pool is None else [StaleTurns(pool)]
    return runner.run(tiny_policy.tasks(5), horizon=5, group_size=3, parts=parts)


def turns_alone(episodes: list[Trajectory], stale: bool) -> list[Row]:
    """Rows in which one policy's turns are sampled and the other's are context."""
    rows = []
    for episode in episodes:
        row = Row(prompt_length=len(episode.turns[0].context))
        for turn in episode.turns:
            row.append(turn, trains=turn.stale is stale)
        rows.append(row)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("kind", ENGINES)
def test_log_probabilities_are_those_of_the_acting_policy(kind, make):
    engine, model, past = two_policies(kind, make)
    assert isinstance(engine, PoolEngine) and not isinstance(HFEngine(model), PoolEngine)
    episodes = play(engine, HALF)
    assert {(t.stale, t.version) for e in episodes for t in e.turns} == {(False, 7), (True, 3)}
    for policy, stale in ((model, False), (past, True)):
        turns = turns_alone(episodes, stale)
        assert largest_gap(policy, turns) <= 1e-5
        assert largest_gap(past if policy is model else model, turns) > 0.1
    engine.close()


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("kind", ENGINES)
def test_without_stale_turns_it_is_the_plain_engine_to_the_bit(kind, make):
    engine, model, _ = two_policies(kind, make)
    forward = ENGINES[kind](model)
    forward.sync(policy_weights(model), 7)
    assert play(engine, None) == play(forward, None)
    assert engine.exact == forward.exact


@pytest.mark.slow
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("kind", ENGINES)
def test_with_a_share_of_all_it_is_the_past_policy(kind, make):
    engine, _, past = two_policies(kind, make)
    forward = ENGINES[kind](past)
    forward.sync(policy_weights(past), 3)
    pooled, reference = play(engine, PolicyPool(1.0)), play(forward, None)
    assert [t.ids for e in pooled for t in e.turns] == [t.ids for e in reference for t in e.turns]
    assert [t.logprobs for e in pooled for t in e.turns] == [
        pytest.approx(t.logprobs, abs=1e-5) for e in reference for t in e.turns
    ]


def test_the_policy_of_a_turn_does_not_depend_on_other_episodes():
    engine, _, _ = two_policies(HFPoolEngine, tiny_policy.model)
    narrow, wide = (play(engine, HALF, slots) for slots in (2, 15))
    for episode, wide_episode in zip(narrow, wide, strict=True):
        assert [(t.stale, t.ids) for t in episode.turns] == [
            (t.stale, t.ids) for t in wide_episode.turns
        ]


@pytest.mark.parametrize("kind", ENGINES)
def test_the_model_is_given_back_as_it_was(kind):
    engine, model, _ = two_policies(kind, tiny_policy.model)
    weights_before = [(weight.data_ptr(), weight.clone()) for weight in model.parameters()]
    model.train()
    requests = [Request(0, [4, 7], 6, 0), Request(1, [4, 8], 2, 1, stale=True)]
    engine.submit(requests, Sampling(max_tokens=6))
    modes = []
    while engine.running:
        modes.append(engine.model.training)
        engine.advance()
    # Whichever ends first, the other still generates: only then it is in training again.
    assert not any(modes[1:]) and model.training
    for (place, values), weight in zip(weights_before, model.parameters(), strict=True):
        assert weight.data_ptr() == place and torch.equal(weight, values)
    engine.submit(requests, SAMPLING)
    engine.abort()
    assert engine.running == 0 and engine.advance() == [] and model.training


def test_what_trains_later_does_not_change_the_stale_policy():
    engine, model, _ = two_policies(HFPoolEngine, tiny_policy.model)
    first = play(engine, PolicyPool(1.0))
    trained_on(model, 3)
    engine.sync((), 8)
    assert play(engine, PolicyPool(1.0)) == first


def test_an_error_leaves_the_policy_with_its_own_weights(monkeypatch):
    engine, model, _ = two_policies(HFPoolEngine, tiny_policy.model)
    weights_before = [weight.clone() for weight in model.parameters()]
    monkeypatch.setattr("trainers.rollouts.engines.hf.draw", lambda *_: 1 / 0)
    engine.submit([Request(0, [4, 7], 6, 0, stale=True)], SAMPLING)
    with pytest.raises(ZeroDivisionError):
        engine.advance()
    assert engine.running == 0
    assert all(map(torch.equal, model.parameters(), weights_before))


def test_weights_of_another_policy_are_refused():
    weights = TrainedWeights(adapted())
    with pytest.raises(DataError, match=r"expected weights of .*lora_A.*, got those of model"):
        weights.load_state_dict(TrainedWeights(tiny_policy.model()).state_dict())


def test_new_weights_are_not_taken_while_it_generates():
    engine, model, _ = two_policies(HFPoolEngine, tiny_policy.model)
    engine.submit([Request(0, [4, 7], 6, 0, stale=True)], SAMPLING)
    with pytest.raises(NotSupported, match="nothing in flight"):
        engine.sync_stale(TrainedWeights(model), 9)
    engine.abort()
    generate(engine, [[4, 7]], SAMPLING)
