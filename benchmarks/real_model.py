"""Train a pretrained model for a few steps, with agentgym and with plain TRL, and compare the cost.

The model is SmolLM2-135M-Instruct, which PyPI has; ``--model`` takes any other chat model. All arms
train it in bf16 if that is fast on the device, on the same questions of MathPython as one user
message, with answers of at most ``TURN_TOKENS`` tokens, ``GROUPS`` x ``SIZE`` episodes and one
update a step. The reward decreases with the number of words: it needs no skill, so every group has
a signal from the first step. ``short`` prompts are the question alone, ``long`` ones have the
family's action prompt before it, as a run has by default. With several turns every answer gets the
same short reply.

Each arm runs in a separate process: processor seconds of a step, peak of resident memory, tokens.
``agentgym`` computes what rows begin with alike once, ``agentgym-apart`` computes every row by
itself; beside their peaks stands what the trainer's estimate of memory says. ``trl`` is
``GRPOTrainer`` with ``beta=0`` and a micro-batch of all episodes, ``trl-checkpointing`` the same
with gradient checkpointing, which is TRL's default. With several numbers of threads the wall time
is compared with that of the first.

Usage: ``python benchmarks/real_model.py [--model smollm2] [--prompts short long] [--ranks 16 0]
[--turns 1 5] [--steps 3] [--threads 1 2]``. Prints JSON. On a GPU the same command measures the
wall.

- adapters and all weights: ``--turns 1 --ranks 16 0``
- five turns, eight members: ``--turns 5 --prompts short --arms agentgym trl-checkpointing``;
  the arm ``trl`` keeps the activations of all episodes at once, for which few machines have room
- two threads: ``--turns 1 --prompts short --threads 1 2``
- the estimate of memory: ``--arms agentgym agentgym-apart --steps 2``

Smallest run: ``--prompts short --ranks 16 --turns 1 --steps 2``
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gymnasium
import torch
from provenance import to_json
from trainer_arms import Clock, call, result

import agentgym  # noqa: F401 - registers the environments
from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList
from agentgym.support.process_memory import resident_bytes
from trainers.config.default_layers import PRETRAINED_MICRO
from trainers.config.model_files.precision import (
    chosen_precision,
    precision_arguments,
    weights_dtype,
)
from trainers.config.model_files.source import model_source
from trainers.models.memory import GIB, ModelShape, TrainingSetup, estimate
from trainers.models.memory_choice import MOST_ON_CPU
from trainers.models.memory_plan import LIBRARIES, RETAINED, SPARE_ROOM
from trainers.rollouts.scoring.forward import CPU_TILE, MIB

OURS, APART = "agentgym", "agentgym-apart"
ARMS = (OURS, APART, "trl", "trl-checkpointing")
DEFAULT_ARMS = (OURS, "trl", "trl-checkpointing")
PROMPTS = ("short", "long")
GROUPS, SIZE = 4, 8
TURN_TOKENS = 32
QUESTIONS = 64
MICRO_TOKENS = PRETRAINED_MICRO if torch.cuda.is_available() else MOST_ON_CPU
"""Tokens of a pass of agentgym, at most, as a run chooses them."""
REPLY = "Thank you. Say it again in other words, and as briefly as you can."
CHATML = (
    "{%- if messages[0]['role'] != 'system' -%}"
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n{%- endif -%}"
    "{%- for m in messages -%}<|im_start|>{{ 'user' if m['role'] == 'tool' else m['role'] }}\n"
    "{{ m['content'] }}{%- for call in m.tool_calls or [] -%}"
    "{{ call.function.arguments.text or call.function | tojson }}"
    "{%- endfor -%}<|im_end|>\n{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
)
"""SmolLM2's template, extended as TRL requires: tool messages and tool calls. TRL tries it
with a call of another form, of which it has to find name and arguments."""
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Measure every arm in every setting, or one arm in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2", help="as of agentgym train")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=DEFAULT_ARMS)
    parser.add_argument("--prompts", nargs="+", choices=PROMPTS, default=PROMPTS)
    parser.add_argument("--ranks", nargs="+", type=int, default=[16, 0], help="0: all weights")
    parser.add_argument("--turns", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--steps", type=int, default=3, help="steps; the first is not counted")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.steps < 2:
        parser.error(f"expected at least 2 steps, the first is not counted; got {options.steps}")
    settings = list(product(options.prompts, options.ranks, options.turns, options.threads))
    if options.here:
        (arm,), ((prompt, rank, turns, threads),) = options.arms, settings
        torch.set_num_threads(threads)
        print(json.dumps(run_here(arm, options.model, prompt, rank, turns, options.steps)))
        return
    rows: list[dict[str, Any]] = []
    for prompt, rank, turns, threads in settings:
        setting = {"prompt": prompt, "lora_rank": rank, "turns": turns}
        flags = [f"--prompts={prompt}", f"--ranks={rank}", f"--turns={turns}"]
        arms = {arm: run_apart([*flags, f"--arms={arm}"], threads, options) for arm in options.arms}
        alike = [row for row in rows if {**row, **setting} == row]
        row = {**setting, "threads": threads, "arms": arms}
        rows.append({**row, **compare(arms), **faster(arms, alike)})
    print(
        to_json(
            {
                "model": options.model,
                "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
                "groups": GROUPS,
                "episodes_of_group": SIZE,
                "turn_tokens": TURN_TOKENS,
                "rows": rows,
                "load": os.getloadavg(),
            }
        )
    )


def run_apart(
    arguments: Sequence[str], threads: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Run one arm in a separate process, so that the peak of memory is its own."""
    shared = [f"--model={options.model}", f"--steps={options.steps}", f"--threads={threads}"]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment["OMP_NUM_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--here", *arguments, *shared]
    process = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    figures: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return figures


def compare(arms: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return agentgym's share of the time and memory of each of TRL's arms."""
    own_figures = arms.get(OURS)
    trl_figures = {arm: figures for arm, figures in arms.items() if arm.startswith("trl")}
    if own_figures is None:
        return {}
    shares = ("processor_seconds_per_step", "seconds_per_step", "peak_gib")
    return {
        "share_of": {
            arm: {name: own_figures[name] / figures[name] for name in shares}
            for arm, figures in trl_figures.items()
        }
    }


def faster(
    arms: Mapping[str, Mapping[str, Any]], alike: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the share of the wall time that each arm took with the first number of threads.

    Args:
        arms: The arms with some number of threads.
        alike: Rows of the same setting with other numbers, the first of them first.
    """
    if not alike:
        return {}
    first = alike[0]
    walls = {arm: (arms[arm], first["arms"][arm]) for arm in arms}
    name = "seconds_per_step"
    return {
        "wall_share_of_threads": {
            "threads": first["threads"],
            **{arm: now[name] / then[name] for arm, (now, then) in walls.items()},
        }
    }


# -- one arm ---------------------------------------------------------------------------------------


def run_here(
    arm: str, model: str, prompt: str, rank: int, turns: int, steps: int
) -> dict[str, Any]:
    """Train with one arm in this process."""
    openings = read_openings(prompt)
    with tempfile.TemporaryDirectory() as folder:
        own_figures: dict[str, Any] = {}
        if arm in (OURS, APART):
            clock, sampled, estimated = train_agentgym(
                folder, model, openings, rank, turns, steps, shares=arm == OURS
            )
            own_figures["estimated_gib"] = estimated / GIB
        else:
            checkpointing = arm == "trl-checkpointing"
            clock, sampled = train_trl(
                folder, model, openings, rank, turns, steps, checkpointing=checkpointing
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # kilobytes on Linux
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated()
    return {**result(clock, sampled), "peak_gib": peak / GIB, **own_figures}


def read_openings(prompt: str) -> list[str]:
    """Return the user messages of the training questions."""
    env = gymnasium.make("agentgym/MathPython-v0").unwrapped
    rules = f"{env.action_prompt()}\n\n" if prompt == "long" else ""
    openings = [
        rules + env.reset(options={"split": "train", "index": i})[0] for i in range(QUESTIONS)
    ]
    env.close()
    return openings


def load(source: str, rank: int) -> tuple[Any, Any, str]:
    """Return tokenizer, model and precision, as a run of agentgym loads them."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = model_source(source)
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    precision = chosen_precision("auto", False, lambda: shape_of(source).parameters)
    dtype = weights_dtype(precision, frozen=rank > 0)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu"), precision


def shape_of(source: str) -> ModelShape:
    """Return the shape of a model."""
    from transformers import AutoConfig

    return ModelShape.of(AutoConfig.from_pretrained(model_source(source)))


def lora(rank: int) -> Any:
    """Return PEFT's configuration, the same for every arm."""
    from peft import LoraConfig

    if not rank:
        return None
    return LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def reward_of(text: str) -> float:
    """Return a reward that every model can earn: fewer words earn more."""
    return -len(text.split()) / TURN_TOKENS


class TalkEnv(TextEnv):
    """Ask a question, and the same again after each answer; reward short answers."""

    action_specs = (ActionSpec("write", "Write words.", (Param("text"),), native="{text}"),)

    def __init__(self, openings: Sequence[str], **kwargs: Any) -> None:
        tasks = [Task(f"talk/{i}", "train", i, text, {}) for i, text in enumerate(openings)]
        super().__init__(TaskList("talk", {"train": tasks}), **kwargs)

    def _start(self, task: Task, rng: Any) -> str:
        return task.goal

    def _act(self, action: str) -> Outcome:
        return Outcome(REPLY, reward=reward_of(action))

    def _state(self) -> str:
        return ""


def train_agentgym(
    folder: str, source: str, openings: Sequence[str], rank: int, turns: int, steps: int,
    *, shares: bool,
) -> tuple[Clock, list[int], int]:  # fmt: skip
    """Train with ``MultiTurnTrainer``; return the bytes that its memory is estimated at, too."""
    from agentgym.vector import TextVectorEnv
    from trainers.grpo.trainer import MultiTurnTrainer
    from trainers.grpo.trl_arguments import grpo_arguments
    from trainers.rollouts.budget import TokenBudget
    from trainers.rollouts.chat import TurnTokenizer
    from trainers.rollouts.engines import engine_maker
    from trainers.rollouts.engines.base import EngineSettings

    on_gpu = torch.cuda.is_available()
    process = 0 if on_gpu else (resident_bytes() or 0) + LIBRARIES
    tokenizer, model, precision = load(source, rank)
    chat = TurnTokenizer(tokenizer)
    episode = turns * (TURN_TOKENS + 32)  # answers and replies
    budget = TokenBudget(turn_tokens=TURN_TOKENS, episode_tokens=episode, context=512 + episode)
    clock, sampled = Clock(), list[int]()
    slots = GROUPS * SIZE
    settings = EngineSettings(chat.pad_id, budget.context, slots, seed=0, bf16=precision == "bf16")
    trainer = MultiTurnTrainer(
        model,
        grpo_arguments(
            folder, groups=GROUPS, group_size=SIZE, steps=steps, lr=1e-6, budget=budget,
            **precision_arguments(precision, checkpointing=False),
        ),
        envs=TextVectorEnv([lambda: TalkEnv(openings, horizon=turns)] * slots),
        chat=chat,
        tasks=lambda step, count, horizon: [
            {"split": "train", "index": (step * count + i) % QUESTIONS} for i in range(count)
        ],
        horizon=turns,
        preset="turn-loo",
        budget=budget,
        make_engine=engine_maker("hf", settings),
        on_rollout=lambda event: sampled.append(sum(t.action_tokens for t in event.trajectories)),
        probe_every=0,
        micro_tokens=MICRO_TOKENS,
        shared_prefixes=shares,
        callbacks=[clock],
        peft_config=lora(rank),
    )  # fmt: skip
    trainer.train()
    trainer.runner.engine.close()
    trainer.runner.envs.close()
    opening = max(len(chat.start([{"role": "user", "content": text}])) for text in openings)
    last = turns * TURN_TOKENS if turns == 1 else episode  # nothing follows an only turn
    training = TrainingSetup(
        micro_tokens=MICRO_TOKENS, row_tokens=opening + last, precision=precision, rank=rank,
        triton=on_gpu, slots=slots,
        context=min(budget.context, int(SPARE_ROOM * (opening + last))), rows=slots,
        groups=GROUPS if shares else 0, opening_tokens=opening,
        scored_tokens=turns * TURN_TOKENS, process=process, retained=0.0 if on_gpu else RETAINED,
        **({} if on_gpu else {"logits_mib": CPU_TILE // MIB}),
    )  # fmt: skip
    return clock, sampled, estimate(shape_of(source), training).total


class Talk:
    """The same task as a TRL environment: an object whose methods are tools."""

    def reset(self, **_: Any) -> None:
        """Begin; the opening is the prompt."""
        self.total = 0.0

    def write(self, text: str) -> str:
        """Write words.

        Args:
            text: The words.
        """
        self.total += reward_of(text)
        return REPLY


def train_trl(
    folder: str, source: str, openings: Sequence[str], rank: int, turns: int, steps: int,
    *, checkpointing: bool,
) -> tuple[Clock, list[int]]:  # fmt: skip
    """Train with ``trl.GRPOTrainer``; several turns are tools of an ``environment_factory``."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    tokenizer, model, precision = load(source, rank)
    clock, sampled = Clock(), list[int]()

    class Counting(GRPOTrainer):
        """Counts the sampled tokens of a batch."""

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            generated = super()._generate(*args, **kwargs)
            masks = generated[2] if turns > 1 else None
            sampled.append(sum(map(sum, masks)) if masks else sum(map(len, generated[1])))
            return generated

    several: dict[str, Any] = {}
    if turns > 1:
        tokenizer.chat_template = CHATML
        tokenizer.response_schema = {"type": "object"}
        tokenizer.parse_response = lambda ids, **_: call(
            tokenizer.decode(ids, skip_special_tokens=True)
        )
        several = {"environment_factory": Talk}
    rewards = reward_environments if turns > 1 else reward_completions
    prompts = [{"prompt": [{"role": "user", "content": text}]} for text in openings]
    trainer = Counting(
        model,
        reward_funcs=[rewards],
        args=GRPOConfig(
            folder, per_device_train_batch_size=GROUPS * SIZE, num_generations=SIZE,
            max_steps=steps, learning_rate=1e-6, beta=0.0, report_to=[], save_strategy="no",
            max_completion_length=turns * (TURN_TOKENS + 32) if turns > 1 else TURN_TOKENS,
            generation_kwargs={"max_new_tokens": TURN_TOKENS},
            use_cpu=not torch.cuda.is_available(), logging_steps=1, disable_tqdm=True,
            **({"max_tool_calling_iterations": turns - 1} if turns > 1 else {}),
            **precision_arguments(precision, checkpointing),
        ),
        train_dataset=Dataset.from_list(prompts),
        processing_class=tokenizer,
        callbacks=[clock],
        peft_config=lora(rank),
        **several,
    )  # fmt: skip
    trainer.train()
    return clock, sampled


def reward_completions(completions: Sequence[Any], **_: Any) -> list[float]:
    """Return TRL's rewards of single answers."""
    return [reward_of(messages[0]["content"]) for messages in completions]


def reward_environments(environments: Sequence[Talk], **_: Any) -> list[float]:
    """Return TRL's rewards of episodes of several turns."""
    return [environment.total for environment in environments]


if __name__ == "__main__":
    main()
