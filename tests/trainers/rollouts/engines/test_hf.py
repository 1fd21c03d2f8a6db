from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from trainers.rollouts.engines.base import GenerationEngine, Sampling
from trainers.rollouts.engines.hf import HFEngine, distribution
from trainers.rollouts.runner import RolloutRunner, TokenBudget
from trainers.rollouts.trajectory import to_rows

SAMPLING = Sampling(max_tokens=6, stop_ids=(1,), seed=0)
PROMPTS = [[4, 7, 8, 9], [4, 10], [4, 7, 7, 7, 7, 7, 12]]


def largest_gap(model, rows, temperature=1.0):
    """Largest |log-prob - that of a plain forward| over the sampled tokens of rows."""
    gap = 0.0
    for row in rows:
        with torch.no_grad():
            logits = model(torch.tensor([row.ids])).logits[0, :-1].float() / temperature
        logps = torch.log_softmax(logits, -1)
        for i in (k for k, m in enumerate(row.mask) if m):
            gap = max(gap, abs(logps[i - 1, row.ids[i]].item() - row.logprobs[i]))
    return gap


def play(model, slots=6, keep_cache=True, sampling=None, horizon=5):
    chat = tiny_policy.chat()
    engine = HFEngine(model, chat.pad_id, keep_cache=keep_cache)
    budget = TokenBudget(turn_tokens=5, episode_tokens=150, context=200)
    runner = RolloutRunner(tiny_policy.envs(slots), chat, engine, budget)
    return runner.run(tiny_policy.tasks(5), horizon=horizon, group_size=3, sampling=sampling)


@pytest.mark.parametrize("slots", [4, 15])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probs_equal_a_training_forward_after_several_turns(slots, temperature):
    """With 4 slots rows are dropped and others join; with 15 they only drop."""
    model = tiny_policy.model()
    episodes = play(model, slots, sampling=Sampling(temperature=temperature))
    assert max(len(e.turns) for e in episodes) >= 4
    assert largest_gap(model, to_rows(episodes), temperature) <= 1e-5


def test_only_float32_is_exact():
    model = tiny_policy.model()
    assert HFEngine(model).exact
    assert not HFEngine(model, autocast=torch.bfloat16).exact
    engine = HFEngine(model)
    model.lm_head.to(torch.bfloat16)
    assert not engine.exact


def test_kept_cache_changes_nothing():
    model = tiny_policy.model()
    kept, fresh = play(model), play(model, keep_cache=False)
    assert [t.ids for e in kept for t in e.turns] == [t.ids for e in fresh for t in e.turns]


def test_rows_are_matched_dropped_and_reordered():
    model = tiny_policy.model()
    engine = HFEngine(model)
    first = engine.generate(PROMPTS, SAMPLING)
    fed = []
    forward = engine._forward
    engine._forward = lambda store, ids, columns: (
        fed.append(columns.sum().item()) or forward(store, ids, columns)
    )
    longer = [PROMPTS[i] + first[i].ids + [5, 9] for i in (2, 0)]
    again = engine.generate(longer, SAMPLING)
    assert fed[0] == 2 * 3  # the last sampled token of each row, and two new ones
    alone = [HFEngine(model).generate([p], replace(SAMPLING, greedy=True))[0] for p in longer]
    together = engine.generate(longer, replace(SAMPLING, greedy=True))
    assert [c.ids for c in alone] == [c.ids for c in together]
    for prompt, completion in zip(longer, again, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([prompt + completion.ids])).logits[0, len(prompt) - 1 : -1]
        want = torch.log_softmax(logits, -1).gather(1, torch.tensor(completion.ids)[:, None])
        assert torch.allclose(want[:, 0], torch.tensor(completion.logprobs), atol=1e-5)


def test_sampling_is_seeded_limited_and_stops():
    engine = HFEngine(tiny_policy.model())
    assert isinstance(engine, GenerationEngine)
    state = torch.get_rng_state()
    one, two = engine.generate(PROMPTS, SAMPLING), engine.generate(PROMPTS, SAMPLING)
    assert [c.ids for c in one] == [c.ids for c in two]
    other = engine.generate(PROMPTS, replace(SAMPLING, seed=1))
    assert [c.ids for c in one] != [c.ids for c in other]
    assert torch.equal(state, torch.get_rng_state())
    stops = replace(SAMPLING, stop_ids=tuple(range(10)), max_tokens=20)
    for completion in engine.generate(PROMPTS * 5, stops):
        assert completion.stopped == (completion.ids[-1] < 10)
        assert all(token >= 10 for token in completion.ids[:-1])
        assert len(completion.ids) == len(completion.logprobs)
    never = replace(SAMPLING, stop_ids=())
    out = engine.generate(PROMPTS, never, max_tokens=[1, 3, 99])
    assert [len(c.ids) for c in out] == [1, 3, 6]
    assert not any(c.stopped for c in out)
    with pytest.raises(ConfigurationError, match="3 values"):
        engine.generate(PROMPTS, SAMPLING, max_tokens=[1])
    assert engine.generate([], SAMPLING) == []


def test_nucleus_and_temperature():
    logits = torch.tensor([[3.0, 2.0, 1.0, -5.0]])
    half = distribution(logits, Sampling(top_p=0.5)).exp()
    assert half.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    most = distribution(logits, Sampling(top_p=0.9)).exp()
    assert most[0, 2:].tolist() == [0.0, 0.0]
    assert most.sum().item() == pytest.approx(1.0)
    hot = distribution(logits, Sampling(temperature=2.0))
    assert torch.allclose(hot, torch.log_softmax(logits / 2, -1))
    with pytest.raises(ConfigurationError, match="temperature"):
        Sampling(temperature=0.0)


@pytest.mark.parametrize("told", [True, False])
def test_new_weights_drop_the_cache(told):
    model = tiny_policy.model()
    engine = HFEngine(model)
    first = engine.generate(PROMPTS, SAMPLING)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    if told:
        engine.sync(iter(()), 7)
        assert engine.version == 7
    longer = [p + c.ids + [5] for p, c in zip(PROMPTS, first, strict=True)]
    got = engine.generate(longer, SAMPLING)
    want = HFEngine(model).generate(longer, SAMPLING)
    assert [c.logprobs for c in got] == [c.logprobs for c in want]


def test_adapters_and_training_mode():
    from peft import LoraConfig, get_peft_model

    model = tiny_policy.model()
    config = LoraConfig(r=2, target_modules="all-linear", lora_dropout=0.5, init_lora_weights=False)
    model = get_peft_model(model, config).train()
    episodes = play(model)
    assert model.training
    model.eval()
    assert largest_gap(model, to_rows(episodes)) <= 1e-5


def test_closing_holes_keeps_the_log_probs():
    """Prompts of very different length leave holes; a kept cache must not remember their places."""
    model = tiny_policy.model()
    engine = HFEngine(model)
    prompts = [[4, 7], [4] + [8, 9, 10] * 12]
    for turn in range(3):
        out = engine.generate(prompts, replace(SAMPLING, seed=turn))
        for prompt, completion in zip(prompts, out, strict=True):
            with torch.no_grad():
                logits = model(torch.tensor([prompt + completion.ids])).logits[0]
            logps = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
            want = logps.gather(1, torch.tensor(completion.ids)[:, None])[:, 0]
            assert torch.allclose(want, torch.tensor(completion.logprobs), atol=1e-5)
        extra = [[5] * (20 if turn == 0 else 2), [6]]
        prompts = [p + c.ids + e for p, c, e in zip(prompts, out, extra, strict=True)]
    store = engine._store
    assert store.mask.shape[1] <= 1.1 * max(map(len, prompts)) + 6
