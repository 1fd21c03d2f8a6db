"""Token in, token out: what a completion of the real engine is."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from agentgym.errors import ConfigurationError
from tests.trainers.vllm.policy import CONTEXT, EOS, VOCABULARY, prompts
from trainers.rollouts.engines.base import GenerationEngine, Request, Sampling, generate
from trainers.rollouts.engines.parity import completion_logprobs


def test_follows_the_protocol(engine: Any) -> None:
    assert isinstance(engine, GenerationEngine)
    assert (engine.name, engine.exact, engine.version) == ("vllm", True, 0)


def test_one_completion_per_prompt_with_its_own_limit(engine: Any) -> None:
    limits = [1, 2, 3, 40]
    out = generate(engine, prompts(4), Sampling(max_tokens=5), limits)
    assert [len(c.ids) for c in out] == [1, 2, 3, 5]
    assert all(len(c.ids) == len(c.logprobs) for c in out)
    assert all(0 <= token < VOCABULARY for c in out for token in c.ids)
    assert not any(c.stopped for c in out)
    assert generate(engine, [], Sampling()) == []


def test_stop_token_is_part_of_the_completion(engine: Any) -> None:
    stops = tuple(range(0, VOCABULARY, 3))
    for completion in generate(engine, prompts(16), Sampling(max_tokens=64, stop_ids=stops)):
        assert completion.stopped
        assert completion.ids[-1] in stops
        assert not set(completion.ids[:-1]) & set(stops)
        assert len(completion.logprobs) == len(completion.ids)


def test_only_the_callers_stop_ids_stop(engine: Any) -> None:
    out = generate(engine, prompts(8) * 8, Sampling(max_tokens=64))
    assert any(EOS in c.ids[:-1] for c in out), "the configuration's EOS must not end a completion"
    assert all(len(c.ids) == 64 for c in out)


def test_seed_repeats_and_group_members_differ(engine: Any) -> None:
    same_prompts = [prompts(1)[0]] * 4
    sampling = Sampling(max_tokens=12)
    first, second = (
        generate(engine, same_prompts, sampling),
        generate(engine, same_prompts, sampling),
    )
    assert first == second
    assert len({tuple(c.ids) for c in first}) == 4
    assert generate(engine, same_prompts, sampling, seeds=range(4, 8)) != first


def test_completion_does_not_depend_on_the_batch(engine: Any) -> None:
    sampling = Sampling(max_tokens=12)
    full = generate(engine, prompts(8), sampling)
    part = generate(engine, prompts(8)[:2], sampling)
    assert [c.ids for c in part] == [c.ids for c in full[:2]]


def test_requests_join_and_leave_one_by_one(engine: Any) -> None:
    """A late request gets what it would have got alone, and a short one does not wait."""
    sampling = Sampling(max_tokens=12)
    alone = generate(engine, prompts(3), sampling, [12, 3, 12])
    limits = (12, 3, 12)
    requests = [Request(k, p, limits[k], k) for k, p in enumerate(prompts(3))]
    engine.submit(requests[:2], sampling)
    reasons = []
    while engine.running:
        reasons += engine.advance()
        if len(reasons) == 1 and engine.running == 1:
            engine.submit(requests[2:], sampling)
    assert [key for key, _ in reasons] == [1, 0, 2]
    assert [dict(reasons)[key].ids for key in range(3)] == [c.ids for c in alone]


def test_an_abort_forgets_what_is_in_flight(engine: Any) -> None:
    sampling = Sampling(max_tokens=12)
    engine.submit([Request(k, p, 12, k) for k, p in enumerate(prompts(3))], sampling)
    engine.advance()
    assert engine.running == 3
    engine.abort()
    assert engine.running == 0 and engine.advance() == []
    assert generate(engine, prompts(1), sampling)[0].ids


def test_more_new_prompt_tokens_than_one_forward_takes(engine: Any, model: Any) -> None:
    """It takes 4,096 tokens; the opening prompts of a training step are many more."""
    rng = np.random.default_rng(3)
    opening_prompts = [rng.integers(3, VOCABULARY, 100 + i % 7).tolist() for i in range(60)]
    assert sum(map(len, opening_prompts)) > 6000
    sampling = Sampling(max_tokens=6)
    out = generate(engine, opening_prompts, sampling)
    assert [c.ids for c in generate(engine, opening_prompts[:5], sampling)] == [
        c.ids for c in out[:5]
    ]
    for completion, row in zip(
        out, completion_logprobs(model, opening_prompts, out, 1.0), strict=True
    ):
        assert completion.logprobs == pytest.approx(row, abs=1e-4)


def test_greedy_takes_the_arg_max_at_temperature_one(engine: Any, model: Any) -> None:
    import torch

    out = generate(engine, prompts(4), Sampling(max_tokens=8, greedy=True, temperature=0.3))
    for prompt, completion in zip(prompts(4), out, strict=True):
        ids = torch.tensor([[*prompt, *completion.ids]])
        with torch.no_grad():
            logits = model(ids).logits[0, len(prompt) - 1 : -1]
        assert completion.ids == logits.argmax(-1).tolist()
        best = logits.log_softmax(-1).max(-1).values.tolist()
        assert completion.logprobs == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_logprobs_are_those_at_the_temperature(engine: Any, model: Any, temperature: float) -> None:
    out = generate(engine, prompts(4), Sampling(max_tokens=8, temperature=temperature))
    expected = completion_logprobs(model, prompts(4), out, temperature)
    for completion, row in zip(out, expected, strict=True):
        assert completion.logprobs == pytest.approx(row, abs=1e-4)


def test_nucleus_logprobs_are_renormalised(engine: Any, model: Any) -> None:
    import torch

    sampling = Sampling(max_tokens=8, temperature=0.8, top_p=0.6)
    for prompt, completion in zip(prompts(4), generate(engine, prompts(4), sampling), strict=True):
        ids = torch.tensor([[*prompt, *completion.ids]])
        with torch.no_grad():
            logits = model(ids).logits[0, len(prompt) - 1 : -1]
        for row, token, logprob in zip(logits, completion.ids, completion.logprobs, strict=True):
            logp = (row / 0.8).log_softmax(-1)
            ordered, index = logp.sort(descending=True)
            nucleus = index[ordered.exp().cumsum(-1) - ordered.exp() < 0.6]
            assert token in nucleus.tolist()
            assert logprob == pytest.approx(
                float(logp[token] - logp[nucleus].logsumexp(-1)), abs=1e-4
            )


def test_frequencies_match_the_distribution(engine: Any, model: Any) -> None:
    import torch

    prompt, draws = prompts(1)[0], 1500
    out = generate(engine, [prompt] * draws, Sampling(max_tokens=1))
    counts = np.bincount([c.ids[0] for c in out], minlength=VOCABULARY)
    with torch.no_grad():
        p = model(torch.tensor([prompt])).logits[0, -1].softmax(-1).double().numpy()
    common = p * draws >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(p[common], p[~common].sum()) * draws
    chi2 = float(((observed - expected) ** 2 / np.maximum(expected, 1e-9)).sum())
    freedom = len(observed) - 1
    assert chi2 < freedom + 5 * math.sqrt(2 * freedom)


def test_context_bounds_the_completion(engine: Any) -> None:
    long = prompts(1, length=CONTEXT - 3)[0]
    (completion,) = generate(engine, [long], Sampling(max_tokens=50))
    assert len(completion.ids) == 3
    assert not completion.stopped
    with pytest.raises(ConfigurationError, match="raise max_model_len"):
        generate(engine, [prompts(1, length=CONTEXT)[0]], Sampling())
    with pytest.raises(ConfigurationError, match="got 0"):
        generate(engine, [[]], Sampling())


def test_global_generators_are_left_alone(engine: Any) -> None:
    import torch

    states = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()
    generate(engine, prompts(4), Sampling(max_tokens=4))
    assert random.getstate() == states[0]
    assert (np.random.get_state()[1] == states[1]).all()
    assert torch.equal(torch.get_rng_state(), states[2])
