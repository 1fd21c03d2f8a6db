"""Trainers of the smallest policy, for the tests of ``MultiTurnTrainer``."""

from __future__ import annotations

import faulthandler
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState

from agentgym.conversation import BARE, Prompt
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.config.sections import TinyConfig
from trainers.grpo.step_part import StepContext
from trainers.grpo.step_times import StepTimes
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.grpo.trl_arguments import grpo_arguments
from trainers.models.sft import Sft, SftSettings
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.scoring.forward import TokenForward
from trainers.rollouts.scoring.micro_batches import micro_batches
from trainers.rollouts.trajectory import to_rows

DAPO = replace(get_preset("grpo-tcr"), name="dapo", loss=Loss(), sampler="uniform", reward_hooks=())
"""What this trainer carries out of DAPO: a clip, a filter and a punishment of length."""

BUDGET = TokenBudget(turn_tokens=4, episode_tokens=120, context=160)
WARM = TinyConfig(hidden=32, layers=2, heads=2, intermediate=64, context=256)


def short_tasks() -> list[int]:
    """Indices of the training tasks that three presses solve."""
    from tests.toy import ToyTasks

    tasks = ToyTasks()
    return [i for i in range(600) if (tasks.oracle_turns(tasks.task("train", i)) or 9) <= 3][:32]


EASY = short_tasks()


class Feed:
    """Tasks in turn; remembers what it was asked and counts as stateful."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, int, int]] = []

    def __call__(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        self.requests.append((step, count, horizon))
        return [
            {"split": "train", "index": EASY[(step * count + i) % len(EASY)]} for i in range(count)
        ]

    def state_dict(self) -> dict[str, Any]:
        return {"asked": self.requests}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.requests = [(a, b, c) for a, b, c in state["asked"]]


def warm_model(steps: int = 100) -> Any:
    """A model that solves some of the easy tasks."""
    model = tiny_policy.model(size=WARM)
    rows = to_rows(tiny_policy.demonstrations(200))
    Sft(model, rows, 0, SftSettings(steps=steps, batch_size=16, lr=5e-3)).run()
    return model


def make_trainer(folder: Any, model: Any = None, *, args: Any = None, **changes: Any) -> Any:
    """A trainer of 4 tasks x 4 episodes on the toy."""
    preset: Preset | str = changes.pop("preset", "rloo")
    preset = get_preset(preset) if isinstance(preset, str) else preset
    settings: dict[str, Any] = {
        "groups": 4,
        "group_size": 4,
        "steps": 3,
        "lr": 1e-3,
        "budget": BUDGET,
    }
    settings |= args or {}
    options = {
        "envs": tiny_policy.envs(16),
        "chat": tiny_policy.chat(),
        "tasks": Feed(),
        "horizon": 3,
        "preset": preset,
        "budget": BUDGET,
        "full_horizon": 4,
        **changes,
    }
    return MultiTurnTrainer(
        tiny_policy.model() if model is None else model,
        grpo_arguments(folder, **settings),
        **options,
    )


def reloaded_model(folder: Any) -> Any:
    """A fresh model that came from a folder, whence TRL loads the reference policy."""
    model = tiny_policy.model()
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder)


class Uneven(ToyEnv):
    """Pays by the action's length in the first process; ends unpaid after a turn in others."""

    def _act(self, action: str) -> Any:
        outcome = super()._act(action)
        first = os.environ["RANK"] == "0"
        outcome.reward = float(len(action) % 5) if first else 0.0
        outcome.terminated, outcome.terms = not first, None
        return outcome


def train_on_two_processes(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    """Train two steps on two processes of this machine; what each of them ended with."""
    return on_two_processes(folder, _train, changes)


def on_two_processes(folder: Path, job: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call ``job(folder, *arguments)`` in two processes; what it returned in each.

    They are forks, which saves minutes of imports on a busy machine, but wants one without a GPU.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder.mkdir(exist_ok=True)
    context = torch.multiprocessing.start_processes(
        _rank, (port, folder, job, arguments), nprocs=2, join=False, start_method="fork"
    )
    try:
        # A deadlock must fail the test; join returns whenever a process ends.
        joined = context.join(timeout=90) or context.join(timeout=30)
        assert joined, "a process waits for the other"
    finally:
        for process in context.processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in (0, 1)]


def _rank(rank: int, port: int, folder: Path, job: Callable[..., Any], arguments: Any) -> None:
    """One of the two processes."""
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    os.environ["ACCELERATE_USE_CPU"] = "true"
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    faulthandler.dump_traceback_later(60)
    torch.save(job(folder, *arguments), folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def _train(folder: Path, changes: dict[str, Any]) -> dict[str, Any]:
    """Train two steps of a process's share."""
    trainer = make_trainer(
        folder / "run",
        **{
            "args": {"steps": 2},
            "preset": DAPO,
            "micro_tokens": 100,
            "envs": TextVectorEnv([Uneven] * 8),
            "budget": TokenBudget(4, 120, 160),
            "prompt": Prompt(BARE.windowed(1)),
            **changes,
        },
    )
    out: dict[str, Any] = {"start": weights(trainer.model), "passes": 0}
    score = trainer._generate_and_score_completions

    def scored(inputs: Any) -> dict[str, Any]:
        output = score(inputs)
        out["rows"] = len(output["prompt_ids"])
        out["trained"] = bool(output["tool_mask"][output["completion_mask"] > 0].any())
        return output

    trainer._generate_and_score_completions = scored
    loss = trainer._part_loss
    trainer._part_loss = lambda *args: out.update(passes=out["passes"] + 1) or loss(*args)
    trainer.train()
    out |= {"steps": trainer.state.global_step, "weights": weights(trainer.model)}
    out["entropy"] = trainer._metrics["train"]["entropy"] or log(trainer, "entropy")
    return out


def weights(model: Any) -> list[Any]:
    """Copies of a model's weights."""
    return [parameter.detach().clone() for parameter in model.parameters()]


def log(trainer: Any, name: str) -> list[float]:
    """A logged figure, step by step."""
    return [entry[name] for entry in trainer.state.log_history if name in entry]


def part(trainer: Any, kind: type) -> Any:
    """The part of a trainer's step that is of a class; None if it has none."""
    return next((part for part in trainer.parts if isinstance(part, kind)), None)


def same(first: Any, second: Any, room: float = 0.0) -> bool:
    """Whether weights are equal, or nearly so."""
    pairs = zip(first, second, strict=True)
    return all(torch.allclose(a, b, rtol=0.0, atol=room) for a, b in pairs)


def flattened(tree: Any, place: str = "") -> dict[str, torch.Tensor]:
    """Every number of nested state, by its place."""
    if isinstance(tree, torch.Tensor):
        return {place: tree.detach()}
    if isinstance(tree, dict):
        parts = [flattened(value, f"{place}/{name}") for name, value in tree.items()]
        return {name: value for part in parts for name, value in part.items()}
    if isinstance(tree, list):
        return flattened(dict(enumerate(tree)), place)
    return {place: torch.tensor(float(tree))} if isinstance(tree, int | float) else {}


def step_context(policy: Any, preset: Preset, micro_tokens: int | None = None) -> StepContext:
    """What a trainer of the smallest policy lends to a part, apart from any training."""
    accelerator = Accelerator(cpu=True)
    return StepContext(
        accelerator=accelerator,
        preset=preset,
        policy=policy,
        wrapped=lambda: policy,
        unwrapped=lambda: policy,
        forward=TokenForward(accelerator, policy, logits_mib=16),
        chat=tiny_policy.chat(),
        passes=lambda batch: [part.rows for part in micro_batches(batch, micro_tokens)],
        micro_tokens=micro_tokens,
        temperature=1.0,
        own_adapters=False,
        updates=1,
        seed=lambda: 0,
        trained_steps=lambda: 0,
        gather=lambda episodes, place: episodes,
        last_step=lambda: 1,
        tasks=Feed(),
        times=StepTimes(),
    )
