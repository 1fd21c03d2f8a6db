from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import (
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    NemotronForCausalLM,
    Qwen3ForCausalLM,
)

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers import tiny_policy
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.base import GenerationEngine, Request, Sampling, generate
from trainers.rollouts.engines.hf import HFEngine, distribution, draw
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import to_rows

SAMPLING = Sampling(max_tokens=6, stop_ids=(1,))
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


@pytest.mark.parametrize("how", [Sampling(temperature=0.7), Sampling(top_p=0.6)])
def test_entropies_are_those_of_the_sampling_distribution(how):
    model = tiny_policy.model()
    sampling = replace(how, max_tokens=5, stop_ids=(1,))
    plain_completions = generate(HFEngine(model), PROMPTS, sampling)
    for prompt, out, bare in zip(
        PROMPTS,
        generate(HFEngine(model), PROMPTS, replace(sampling, entropies=True)),
        plain_completions,
        strict=True,
    ):
        assert (bare.ids, bare.logprobs, bare.entropies) == (out.ids, out.logprobs, [])
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *out.ids]])).logits[0, len(prompt) - 1 : -1]
        drawn = torch.distributions.Categorical(logits=distribution(logits, sampling).clamp(-1e4))
        assert out.entropies == pytest.approx(drawn.entropy().tolist(), abs=1e-5)


def test_only_float32_is_exact():
    model = tiny_policy.model()
    assert HFEngine(model).exact
    assert not HFEngine(model, autocast=torch.bfloat16).exact
    engine = HFEngine(model)
    model.lm_head.to(torch.bfloat16)
    assert not engine.exact


def test_kept_cache_changes_nothing():
    model = tiny_policy.model()
    cached, fresh = play(model), play(model, keep_cache=False)
    assert [t.ids for e in cached for t in e.turns] == [t.ids for e in fresh for t in e.turns]


def test_a_rollout_is_the_same_to_the_bit_whatever_was_played_before():
    """So that a run that goes on after a kill equals one that was not killed."""
    model, chat = tiny_policy.model(), tiny_policy.chat()
    budget = TokenBudget(turn_tokens=5, episode_tokens=150, context=200)
    samples = []
    for n_before in (0, 2):
        runner = RolloutRunner(tiny_policy.envs(6), chat, HFEngine(model, chat.pad_id), budget)
        for other_number in range(n_before):
            runner.run(tiny_policy.tasks(7), horizon=5, seed=90 + other_number)
        episodes = runner.run(tiny_policy.tasks(5), horizon=5, group_size=3, seed=1)
        samples.append([(turn.ids, turn.logprobs) for e in episodes for turn in e.turns])
    assert samples[0] == samples[1]


def scored(model, prompt, completion):
    """Log-probabilities of a completion by a plain forward."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *completion.ids]])).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(completion.ids)[:, None])[:, 0]


def finish(engine, ended=None):
    """Advance until nothing is in flight; completions by key."""
    ended = {} if ended is None else ended
    while engine.running:
        ended.update(engine.advance())
    return ended


def watched(engine):
    """Note the number of tokens fed and the rows of every forward."""
    fed, feed = [], engine._forward.feed

    def note(segments):
        fed.append((sum(len(segment.tokens) for segment in segments), len(segments)))
        return feed(segments)

    engine._forward.feed = note
    return fed


def test_a_conversation_feeds_only_what_is_new():
    """Rows are found by their key, in any order; of one only the beginning has stayed."""
    model = tiny_policy.model()
    engine = HFEngine(model, drafts=0)
    first = generate(engine, PROMPTS, SAMPLING)
    fed = watched(engine)
    longer = {k: PROMPTS[k] + first[k].ids + [5, 9] for k in (2, 0)}
    longer[1] = [4, 4, 4]
    engine.submit([Request(k, p, 6, 7 + k) for k, p in longer.items()], SAMPLING)
    completions = finish(engine)
    # The last sampled token of two rows, and two new ones; a prompt that begins as the last did.
    assert fed[0] == (2 * 3 + 2, 3)
    for key, prompt in longer.items():
        want = torch.tensor(completions[key].logprobs)
        assert torch.allclose(scored(model, prompt, completions[key]), want, atol=1e-5)


def sliding():
    """A model whose attention sees the last 8 positions, of which a cache has no rows to take."""
    torch.manual_seed(0)
    size = len(tiny_policy.chat().tokenizer)
    config = MistralConfig(
        vocab_size=size, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, sliding_window=8,
    )  # fmt: skip
    return MistralForCausalLM(config).eval()


def grouped(kind=Qwen3ForCausalLM, **changes):
    """A model of which four heads of queries share one of keys."""
    torch.manual_seed(0)
    config = kind.config_class(
        vocab_size=len(tiny_policy.chat().tokenizer), hidden_size=32, intermediate_size=32,
        num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2, head_dim=8,
        initializer_range=0.2, **changes,
    )  # fmt: skip
    return kind(config).eval()


@pytest.mark.parametrize(
    ("make", "packed"),
    [
        (tiny_policy.model, True),
        (grouped, True),
        (lambda: grouped(LlamaForCausalLM), True),
        (lambda: grouped(attn_implementation="eager"), True),
        (lambda: grouped(NemotronForCausalLM), False),
        (sliding, False),
    ],
)
def test_prompts_are_not_padded(make, packed):
    """Those of very different length, of new conversations and of others that go on."""
    model = make()
    engine = HFEngine(model, drafts=0)
    rng = np.random.default_rng(0)
    sizes = [60, 3, 50, 4, 3, 5, 2, 4, 3, 2, 4, 3, 3]
    prompts = {key: rng.integers(4, 20, size).tolist() for key, size in enumerate(sizes)}
    fed = []
    model.register_forward_pre_hook(
        lambda _, args, named: fed.append(named["input_ids"].numel()) if named else None,
        with_kwargs=True,
    )
    for turn in range(3):
        lengths_before = [len(prompt) for prompt in prompts.values()]
        fed.clear()
        engine.submit([Request(k, p, 2, k + turn) for k, p in prompts.items()], Sampling())
        completions, count = finish(engine), len(prompts)
        expected = sum(lengths_before) if not turn else sum(1 + size for size in reversed(sizes))
        assert fed == ([expected, count] if packed else [max(lengths_before) * count, count])
        for key, prompt in prompts.items():
            want = torch.tensor(completions[key].logprobs)
            assert torch.allclose(scored(model, prompt, completions[key]), want, atol=1e-5)
            size = sizes[-1 - key]
            prompts[key] = [*prompt, *completions[key].ids, *rng.integers(4, 20, size).tolist()]


def test_members_of_a_group_share_the_forward_of_their_prompt():
    model = grouped()
    engine, rng = HFEngine(model, drafts=0), np.random.default_rng(0)
    prompts = [rng.integers(4, 20, size).tolist() for size in (40, 30)]
    requests = [Request(k, prompts[k % 2], 4, k) for k in range(8)]
    fed = watched(engine)
    engine.submit(requests, Sampling())
    completions = finish(engine)
    assert fed == [(70, 2), (8, 8), (8, 8), (8, 8)]
    for request in requests:
        want = torch.tensor(completions[request.key].logprobs)
        assert torch.allclose(
            scored(model, request.prompt, completions[request.key]), want, atol=1e-5
        )
        assert (
            completions[request.key].ids
            == generate(
                HFEngine(model), [request.prompt], Sampling(max_tokens=4), seeds=[request.seed]
            )[0].ids
        )


@pytest.mark.parametrize("sampling", [Sampling(40, 0.15, stop_ids=(5,)), Sampling(40, greedy=True)])
def test_guesses_change_no_token(sampling):
    """A policy that repeats itself needs fewer forwards; limits and stop tokens hold."""
    model, calls, completions = grouped(), [], []
    with torch.no_grad():  # So that what comes next depends on the last token, above all.
        for name, weight in model.named_parameters():
            weight.mul_(0.1 if "o_proj" in name or "down_proj" in name else 1.0)
    for n_logprobs in (0, 1, 3):
        engine = HFEngine(model, drafts=n_logprobs)
        fed = watched(engine)
        turns = []
        prompts = PROMPTS * 3
        for turn in range(3):
            seeds = range(turn, turn + 9)
            turns.append(generate(engine, prompts, sampling, [7 + k for k in range(9)], seeds))
            prompts = [p + c.ids + [6] for p, c in zip(prompts, turns[-1], strict=True)]
        completions.append([completion for turn in turns for completion in turn])
        calls.append(sum(rows for _, rows in fed))
    for other_completion in completions[1:]:
        for plain_token, guessed in zip(completions[0], other_completion, strict=True):
            assert (plain_token.ids, plain_token.stopped) == (guessed.ids, guessed.stopped)
            assert plain_token.logprobs == pytest.approx(guessed.logprobs, abs=1e-5)
    assert calls[2] < calls[1] < 0.9 * calls[0]


def test_a_model_attends_as_before_when_an_engine_is_done():
    model = grouped()
    engine = HFEngine(model, context=64)
    generate(engine, PROMPTS, SAMPLING)
    assert model.config._attn_implementation == model.model.config._attn_implementation == "sdpa"
    keys = engine._forward._rows.cache.layers[0].keys
    assert keys.shape[2] <= 64, "no room for more than a conversation may hold"
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        prompt = PROMPTS[2]
        logits = model(torch.tensor([prompt])).logits[0, -1].float()
    low = HFEngine(model, autocast=torch.bfloat16)
    [greedy] = generate(low, [prompt], Sampling(1, greedy=True))
    assert greedy.ids == [int(logits.argmax())]
    assert low._forward._rows.cache.layers[0].keys.dtype == torch.bfloat16


def test_rows_join_and_leave_a_running_batch():
    """A turn comes back while others still run, as when its environment was quick."""
    model = tiny_policy.model()
    engine, never = HFEngine(model), Sampling()
    prompts = {k: [4 + k, *range(7, 9 + k)] for k in range(8)}
    engine.submit([Request(k, prompts[k], 30 if k < 2 else 3, k) for k in range(8)], never)
    fed = watched(engine)
    completions = {}
    while engine.running:
        for key, completion in engine.advance():
            want = torch.tensor(completion.logprobs)
            assert torch.allclose(scored(model, prompts[key], completion), want, atol=1e-5)
            if key >= 2 and len(prompts[key]) < 30:
                prompts[key] = prompts[key] + completion.ids + [5, 6]
                engine.submit([Request(key, prompts[key], 3, 90 + key)], never)
            completions[key] = completion
    assert len(completions[0].ids) == len(completions[1].ids) == 30
    assert max(rows for _, rows in fed) == 8
    assert min(rows for _, rows in fed) == 2  # the rows that waited were taken out meanwhile


@pytest.mark.slow
def test_tokens_do_not_depend_on_what_else_is_in_flight():
    """Each row has its own random stream: batches of any size and order give the same tokens."""
    model = tiny_policy.model()
    rng = np.random.default_rng(0)
    prompts = [rng.integers(4, 20, rng.integers(2, 30)).tolist() for _ in range(40)]
    for sampling in (Sampling(), Sampling(temperature=0.7, top_p=0.8), SAMPLING):
        requests = [Request(k, p, 4 + k % 9, 1000 + k) for k, p in enumerate(prompts)]
        runs, mixed = [], rng.permutation(40)
        for size, order in ((40, range(40)), (7, range(40)), (7, mixed), (1, range(40))):
            engine, queue, completions = HFEngine(model), [requests[k] for k in order], {}
            while queue or engine.running:
                while queue and engine.running < size:
                    engine.submit([queue.pop(0)], sampling)
                completions.update(engine.advance())
            runs.append([completions[k].ids for k in range(40)])
        assert runs[0] == runs[1] == runs[2] == runs[3]


def test_draws_follow_the_distribution():
    logp = torch.log_softmax(torch.tensor([[2.0, 1.0, -torch.inf, 0.0]]), -1)
    count = 20_000
    uniforms = np.random.Generator(np.random.Philox(key=5)).random(count).tolist()
    drawn = draw(logp.expand(count, -1), uniforms)
    shares = torch.bincount(drawn, minlength=4) / count
    assert torch.allclose(shares, logp.exp()[0], atol=0.01)
    assert shares[2] == 0
    edges = draw(logp.expand(2, -1), [0.0, 1 - 2**-53])
    assert edges.tolist() == [0, 3]


def test_draws_of_a_large_vocabulary_are_those_of_one_running_sum():
    rng = np.random.Generator(np.random.Philox(key=6))
    logits = torch.from_numpy(rng.normal(size=(64, 1_003)) * 6).float()
    logits[:, 500:800] = -torch.inf  # whole blocks without probability
    logp = torch.log_softmax(logits, -1)
    uniforms = rng.random(64).tolist()
    sums = logp.double().exp().cumsum(-1)
    point = torch.tensor(uniforms, dtype=torch.float64)[:, None] * sums[:, -1:]
    expected = torch.searchsorted(sums, point, right=True)[:, 0]
    assert torch.equal(draw(logp, uniforms), expected)
    last = draw(logp[:, :800], [1 - 2**-53] * 64)
    assert (last < 500).all()


def test_samplings_do_not_mix_and_weights_wait():
    model = tiny_policy.model().train()
    engine = HFEngine(model)
    greedy = replace(SAMPLING, greedy=True)
    engine.submit([Request(0, PROMPTS[0], 6, 0)], SAMPLING)
    engine.submit([Request(1, PROMPTS[1], 6, 1)], greedy)
    engine.advance()
    assert not model.training
    with pytest.raises(NotSupported, match="2 requests"):
        engine.sync(iter(()), 1)
    with pytest.raises(NotSupported, match="2 requests"):
        generate(engine, PROMPTS, SAMPLING)
    completions = finish(engine)
    assert model.training
    fresh = HFEngine(model)
    assert completions[0].ids == generate(fresh, PROMPTS[:1], SAMPLING)[0].ids
    assert completions[1].ids == generate(fresh, PROMPTS[1:2], greedy)[0].ids
    engine.submit([Request(0, PROMPTS[0], 6, 0)], SAMPLING)
    engine.abort()
    assert engine.running == 0 and engine.advance() == [] and model.training


def test_sampling_is_seeded_limited_and_stops():
    engine = HFEngine(tiny_policy.model())
    assert isinstance(engine, GenerationEngine)
    state = torch.get_rng_state()
    first, second = generate(engine, PROMPTS, SAMPLING), generate(engine, PROMPTS, SAMPLING)
    assert [c.ids for c in first] == [c.ids for c in second]
    other_completions = generate(engine, PROMPTS, SAMPLING, seeds=[3, 4, 5])
    assert [c.ids for c in first] != [c.ids for c in other_completions]
    assert torch.equal(state, torch.get_rng_state())
    stops = replace(SAMPLING, stop_ids=tuple(range(10)), max_tokens=20)
    for completion in generate(engine, PROMPTS * 5, stops):
        assert completion.stopped == (completion.ids[-1] < 10)
        assert all(token >= 10 for token in completion.ids[:-1])
        assert len(completion.ids) == len(completion.logprobs)
    never = replace(SAMPLING, stop_ids=())
    out = generate(engine, PROMPTS, never, max_tokens=[1, 3, 99])
    assert [len(c.ids) for c in out] == [1, 3, 6]
    assert not any(c.stopped for c in out)
    with pytest.raises(ConfigurationError, match="3 values"):
        generate(engine, PROMPTS, SAMPLING, max_tokens=[1])
    assert generate(engine, [], SAMPLING) == []


def test_nucleus_and_temperature():
    logits = torch.tensor([[3.0, 2.0, 1.0, -5.0]])
    half = distribution(logits, Sampling(top_p=0.5)).exp()
    assert half.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    probabilities = distribution(logits, Sampling(top_p=0.9)).exp()
    assert probabilities[0, 2:].tolist() == [0.0, 0.0]
    assert probabilities.sum().item() == pytest.approx(1.0)
    hot = distribution(logits, Sampling(temperature=2.0))
    assert torch.allclose(hot, torch.log_softmax(logits / 2, -1))
    two = distribution(logits, Sampling(temperature=2.0, top_k=2)).exp()
    assert torch.allclose(
        two, torch.softmax(torch.tensor([[1.5, 1.0, -torch.inf, -torch.inf]]), -1)
    )
    # The nucleus is that of the two alone, of which the first has .73.
    assert distribution(logits, Sampling(top_k=2, top_p=0.7)).exp().tolist() == [[1, 0, 0, 0]]
    for top_k in (0, 4, 9):
        assert torch.equal(
            distribution(logits, Sampling(top_k=top_k)), torch.log_softmax(logits, -1)
        )
    with pytest.raises(ConfigurationError, match="temperature"):
        Sampling(temperature=0.0)
    with pytest.raises(ConfigurationError, match="top_k must be >= 0, got -1"):
        Sampling(top_k=-1)


@pytest.mark.parametrize("syncs", [True, False])
def test_new_weights_drop_the_cache(syncs):
    model = tiny_policy.model()
    engine = HFEngine(model)
    first = generate(engine, PROMPTS, SAMPLING)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    if syncs:
        engine.sync(iter(()), 7)
        assert engine.version == 7
    longer = [p + c.ids + [5] for p, c in zip(PROMPTS, first, strict=True)]
    completions = generate(engine, longer, SAMPLING)
    want = generate(HFEngine(model), longer, SAMPLING)
    assert [c.logprobs for c in completions] == [c.logprobs for c in want]


def test_weights_that_were_no_numbers_leave_nothing_behind():
    """As when training goes back to an earlier checkpoint."""
    model = tiny_policy.model()
    engine = HFEngine(model)
    good = {name: weight.clone() for name, weight in model.state_dict().items()}
    with torch.no_grad():
        model.lm_head.weight.fill_(torch.nan)
        model.model.layers[0].self_attn.v_proj.weight.fill_(torch.nan)
    generate(engine, [[5] * 60] * 3, SAMPLING)
    model.load_state_dict(good)
    engine.sync(iter(()), 1)
    completions, want = (
        generate(sampler, PROMPTS, SAMPLING) for sampler in (engine, HFEngine(model))
    )
    assert [c.logprobs for c in completions] == [c.logprobs for c in want]


def test_adapters_and_training_mode():
    from peft import LoraConfig, get_peft_model

    model = tiny_policy.model()
    config = LoraConfig(r=2, target_modules="all-linear", lora_dropout=0.5, init_lora_weights=False)
    model = get_peft_model(model, config).train()
    episodes = play(model)
    assert model.training
    model.eval()
    assert largest_gap(model, to_rows(episodes)) <= 1e-5
