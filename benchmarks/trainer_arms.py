"""Time one trainer on a toy task: agentgym's with either engine, or TRL's.

All train the tiny policy of the default run's size, in fp32 on one thread, on episodes of the same
shape: an opening, then turns of at most ``TURN`` sampled tokens, each answered with a page. Weights
are random, so that no episode ends early and every trainer sees as many tokens.

Unavoidable differences:

- TRL's environments are tools. A random policy writes no tool calls, so its tokenizer parses any
  text as a call; TRL's chat template has one more role.
- TRL plays no turn after the last sampled one: ``TURNS`` turns of sampling and one answer less.
- TRL's tools are called one after the other, ours by a vector environment; the toy costs nothing.
- TRL has one advantage per sequence, agentgym one per turn; both make one update of the weights in
  passes of ``MICRO`` episodes.

Usage: ``python benchmarks/trainer_arms.py {hf,vllm,trl} [--steps 6]``. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from itertools import pairwise
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import TrainerCallback

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList
from trainers.config.sections import TinyConfig
from trainers.models.tiny import build_model, build_tokenizer

ARMS = ("hf", "vllm", "trl")
GROUPS, SIZE, MICRO = 16, 8, 32
TURNS, TURN = 5, 8
EPISODE = TURNS * 64
WORDS = [f"{a}{b}" for a in "bcdfghjklmnp" for b in ("ad", "el", "im", "on", "up", "ash", "ent")]
PAGE = " ".join(WORDS[:32])
OPENING = " ".join(WORDS[20:70])

TOOL_TEMPLATE = (
    "{%- for m in messages -%}<|{{ 'user' if m['role'] == 'tool' else m['role'] }}|>"
    "{{ m['content'] }}{%- for call in m.tool_calls or [] -%}"
    "{{ call.function.name }} {{ call.function.arguments }}{%- endfor -%}"
    "<|end|>{%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
"""The tiny policy's template with calls and answers of tools."""


class Clock(TrainerCallback):
    """Note wall and processor time at the end of every step."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Start."""
        self.marks.append((time.perf_counter(), time.process_time()))

    on_step_end = on_train_begin

    def steps(self, column: int) -> list[float]:
        """Seconds of every step except the first, which warms up: wall or processor time."""
        times = [mark[column] for mark in self.marks]
        return [end - start for start, end in pairwise(times[1:])]


def parts() -> tuple[Any, Any]:
    """Return the tokenizer and a policy of the default run's size."""
    torch.set_num_threads(1)
    tokenizer = build_tokenizer([PAGE, OPENING, " ".join(WORDS)], words=("write",))
    return tokenizer, build_model(tokenizer, TinyConfig(init=0.02))


# -- this suite ------------------------------------------------------------------------------------


class PagesEnv(TextEnv):
    """Answers every action with the same page, and rewards its length."""

    action_specs = (ActionSpec("write", "Write words.", (Param("text"),), native="{text}"),)

    def __init__(self, **kwargs: Any) -> None:
        tasks = [Task(f"pages/{i}", "train", i, OPENING, {}) for i in range(64)]
        super().__init__(TaskList("pages", {"train": tasks}), **{"horizon": TURNS, **kwargs})

    def _start(self, task: Task, rng: Any) -> str:
        return OPENING

    def _act(self, action: str) -> Outcome:
        return Outcome(PAGE, reward=paid(action))

    def _state(self) -> str:
        return ""


def paid(action: str) -> float:
    """Return a reward that depends on the text."""
    return (len(action) % 7) / 7


def train_own(engine: str, steps: int, folder: str) -> dict[str, Any]:
    """Train with ``MultiTurnTrainer``."""
    from agentgym.vector import TextVectorEnv
    from trainers.algorithms.presets import get_preset
    from trainers.grpo.trainer import MultiTurnTrainer
    from trainers.grpo.trl_arguments import grpo_arguments
    from trainers.rollouts.budget import TokenBudget
    from trainers.rollouts.chat import TurnTokenizer
    from trainers.rollouts.engines import engine_maker
    from trainers.rollouts.engines.base import EngineSettings

    tokenizer, model = parts()
    chat, preset = TurnTokenizer(tokenizer), get_preset("turn-loo")
    budget = TokenBudget(turn_tokens=TURN, episode_tokens=EPISODE, context=1024)
    clock, sampled = Clock(), list[int]()
    trainer = MultiTurnTrainer(
        model,
        grpo_arguments(
            folder,
            groups=GROUPS,
            group_size=SIZE,
            steps=steps,
            lr=6e-4,
            budget=budget,
        ),
        envs=TextVectorEnv([PagesEnv] * (GROUPS * SIZE)),
        chat=chat,
        tasks=lambda step, count, horizon: [{"split": "train", "index": i} for i in range(count)],
        horizon=TURNS,
        preset=preset,
        budget=budget,
        make_engine=engine_maker(engine, EngineSettings(chat.pad_id, 1024, GROUPS * SIZE, seed=0)),
        on_rollout=lambda event: sampled.append(sum(t.action_tokens for t in event.trajectories)),
        probe_every=0,
        micro_tokens=MICRO * EPISODE,
        callbacks=[clock],
    )
    trainer.train()
    trainer.runner.engine.close()
    trainer.runner.envs.close()
    return result(clock, sampled)


# -- TRL -------------------------------------------------------------------------------------------


class Pages:
    """The same task as a TRL environment: an object whose methods are tools."""

    def reset(self, **_: Any) -> None:
        """Begin; the opening is the prompt."""
        self.total = 0.0

    def write(self, text: str) -> str:
        """Write words.

        Args:
            text: The words.
        """
        self.total += paid(text)
        return PAGE


def plain_trl(steps: int, folder: str) -> dict[str, Any]:
    """Train with ``trl.GRPOTrainer`` and its ``environment_factory``."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    tokenizer, model = parts()
    tokenizer.chat_template = TOOL_TEMPLATE
    tokenizer.response_schema = {"type": "object"}
    tokenizer.parse_response = lambda ids, **_: call(tokenizer.decode(ids))
    clock, sampled = Clock(), list[int]()

    class Counting(GRPOTrainer):
        """Counts the sampled tokens of a batch."""

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            generated = super()._generate(*args, **kwargs)
            sampled.append(sum(map(sum, generated[2])))
            return generated

    prompt = [{"role": "user", "content": OPENING}]
    trainer = Counting(
        model,
        reward_funcs=[lambda environments, **_: [env.total for env in environments]],
        args=GRPOConfig(
            folder, per_device_train_batch_size=MICRO, num_generations=SIZE,
            gradient_accumulation_steps=GROUPS * SIZE // MICRO, max_steps=steps, learning_rate=6e-4,
            max_completion_length=EPISODE, generation_kwargs={"max_new_tokens": TURN}, beta=0.0,
            max_tool_calling_iterations=TURNS - 1, bf16=False, gradient_checkpointing=False,
            use_cpu=not torch.cuda.is_available(), save_strategy="no", report_to=[],
            logging_steps=1, disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([{"prompt": prompt}] * 64),
        processing_class=tokenizer,
        environment_factory=Pages,
        callbacks=[clock],
    )  # fmt: skip
    trainer.train()
    return result(clock, sampled)


def call(text: str) -> dict[str, Any]:
    """Parse any text as a call of the environment's tool."""
    function = {"name": "write", "arguments": {"text": text}}
    tools = [{"type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": tools}


# -- figures ---------------------------------------------------------------------------------------


def result(clock: Clock, sampled: list[int]) -> dict[str, Any]:
    """Return rates over the steps after the first."""
    wall, processor = clock.steps(0), clock.steps(1)
    tokens = statistics.fmean(sampled[1:])
    return {
        "steps": len(wall),
        "sampled_tokens_per_step": tokens,
        "seconds_per_step": statistics.median(wall),
        "processor_seconds_per_step": statistics.median(processor),
        "steps_per_second": 1 / statistics.median(wall),
        "tokens_per_second": tokens / statistics.median(wall),
        "tokens_per_processor_second": tokens / statistics.median(processor),
    }


def main() -> None:
    """Run one arm."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("arm", choices=ARMS)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trl = options.arm == "trl"
        figures = (
            plain_trl(options.steps, folder)
            if trl
            else train_own(options.arm, options.steps, folder)
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
