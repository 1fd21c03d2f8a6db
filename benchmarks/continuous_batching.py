"""Compare transformers' own continuous batching with the engine ``hf``, on the turns of a task.

Both continue the first prompts of episodes of Database in two turns: the second prompt is the first
one, its answer and the observation of another query. Answers are greedy and all of ``TOKENS``
tokens, so both do the same work. ``generate_batch`` computes in float32 with attention over pages,
as on every device; the engine keeps what it computed of the first turn.

Processor seconds a token, the best of ``--repeats``, and the share of answers that are equal. Both
return the log-probability of every token. The pages are bounded here: left to itself
``generate_batch`` takes most of the machine's free memory for them.

Usage: ``python benchmarks/continuous_batching.py [--models tiny smollm2] [--rows 16]
[--repeats 3]``. Prints JSON.

Smallest run: ``--models tiny --rows 2 --repeats 1``
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import torch
from provenance import to_json
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    ContinuousBatchingConfig,
    GenerationConfig,
)

import agentgym  # noqa: F401 - registers the environments
from trainers.config.model_files.source import model_source
from trainers.config.sections import TinyConfig
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.engines.base import Request, Sampling
from trainers.rollouts.engines.hf import HFEngine

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TOKENS = 32
"""Tokens of an answer."""
Prompts = list[list[int]]
"""Token ids of each row's prompt."""
Answer = Callable[[Prompts], Prompts]
"""Returns the token ids of each prompt's answer."""


def main() -> None:
    """Measure both with each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=["tiny", "smollm2"])
    parser.add_argument("--rows", type=int, default=16, help="episodes that are played at a time")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    models = {name: measure(name, options.rows, options.repeats) for name in options.models}
    print(to_json({"rows": options.rows, "tokens": TOKENS, "models": models}))


def measure(name: str, rows: int, repeats: int) -> dict[str, Any]:
    """Return the cost of a token with both, and how many of the answers are equal."""
    model, tokenizer = load(name)
    first, replies = read_prompts(tokenizer, rows)
    makers = {"hf": own_engine, "generate_batch": paged_generation}
    seconds: dict[str, float] = {}
    answers: dict[str, Prompts] = {}
    for _ in range(repeats):
        for label, make in makers.items():
            answer = make(model)
            started = time.process_time()
            answers[label] = play(answer, first, replies)
            spent = time.process_time() - started
            seconds[label] = min(spent, seconds.get(label, spent))
    pairs = list(zip(*answers.values(), strict=True))
    milliseconds = {label: 1000 * spent / (2 * rows * TOKENS) for label, spent in seconds.items()}
    return {
        "milliseconds_per_token": milliseconds,
        "ratio": milliseconds["generate_batch"] / milliseconds["hf"],
        "equal_answers": sum(hf_answers == batched_answers for hf_answers, batched_answers in pairs)
        / len(pairs),
        "prompt_tokens": sum(map(len, first)) / rows,
    }


def load(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return a model in float32 and its tokenizer; ``tiny`` is that of a default run, untrained."""
    if name == "tiny":
        texts = ["".join(map(chr, range(32, 127)))]
        tokenizer = build_tokenizer(texts)
        torch.manual_seed(0)
        return build_model(tokenizer, TinyConfig()).eval(), tokenizer
    path = model_source(name)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(path)


def read_prompts(tokenizer: PreTrainedTokenizerBase, rows: int) -> tuple[Prompts, Prompts]:
    """Return the first prompt of each episode, and what stands between its two answers."""
    env = gymnasium.make("agentgym/Database-v0")
    first, replies = [], []
    for seed in range(rows):
        observation, _ = env.reset(seed=seed)
        first.append(tokenizer.encode(observation))
        replies.append(tokenizer.encode("\nThere is no such table.\n"))
    env.close()
    return first, replies


def play(answer: Answer, first: Prompts, replies: Prompts) -> Prompts:
    """Return the answers of both turns."""
    opening = answer(first)
    turns = zip(first, opening, replies, strict=True)
    return opening + answer([prompt + ids + reply for prompt, ids, reply in turns])


def own_engine(model: PreTrainedModel) -> Answer:
    """Return the engine that a run without vLLM has."""
    engine = HFEngine(model, pad_id=0)
    sampling = Sampling(max_tokens=TOKENS, greedy=True, stop_ids=())

    def answer(prompts: Prompts) -> Prompts:
        # An episode keeps its key, by which the engine knows what it has computed already.
        engine.submit([Request(key, ids, TOKENS, 0) for key, ids in enumerate(prompts)], sampling)
        completions: dict[int, list[int]] = {}
        while len(completions) < len(prompts):
            completions.update((key, output.ids) for key, output in engine.advance())
        return [completions[key] for key in range(len(prompts))]

    return answer


def paged_generation(model: PreTrainedModel) -> Answer:
    """Return ``generate_batch``, with pages for all rows."""
    settings = GenerationConfig(
        max_new_tokens=TOKENS, do_sample=False, eos_token_id=-1, pad_token_id=0
    )
    pages = ContinuousBatchingConfig(
        block_size=32, num_blocks=1024, max_batch_tokens=2048, return_logprobs=True
    )

    def answer(prompts: Prompts) -> Prompts:
        outputs: Sequence[Any] = list(
            model.generate_batch(
                prompts,
                generation_config=settings,
                continuous_batching_config=pages,
                progress_bar=False,
            ).values()
        )
        by_prompt = {tuple(output.prompt_ids): output.generated_tokens for output in outputs}
        return [list(by_prompt[tuple(prompt)]) for prompt in prompts]

    return answer


if __name__ == "__main__":
    main()
