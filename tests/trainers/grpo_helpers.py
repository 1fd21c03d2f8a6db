"""Trainers of the smallest policy, for the tests of ``MultiTurnTrainer``."""

from __future__ import annotations

from typing import Any

from tests.trainers import tiny_policy
from trainers.algorithms import Preset, get_preset
from trainers.arguments import grpo_arguments
from trainers.grpo import MultiTurnTrainer
from trainers.rollouts.budget import Limits
from trainers.rollouts.trajectory import to_rows
from trainers.sft import Sft, SftSettings
from trainers.tiny import TinyConfig

LIMITS = Limits(turn_tokens=4, episode_tokens=120, context=160)
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
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        self.asked.append((step, count, horizon))
        return [
            {"split": "train", "index": EASY[(step * count + i) % len(EASY)]} for i in range(count)
        ]

    def state_dict(self) -> dict[str, Any]:
        return {"asked": self.asked}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.asked = [(a, b, c) for a, b, c in state["asked"]]


def warm_model(steps: int = 100) -> Any:
    """A model that solves some of the easy tasks."""
    model = tiny_policy.model(size=WARM)
    rows = to_rows(tiny_policy.demonstrations(200))
    Sft(model, rows, 0, SftSettings(steps=steps, batch_size=16, lr=5e-3)).run()
    return model


def trainer(folder: Any, model: Any = None, *, args: Any = None, **changes: Any) -> Any:
    """A trainer of 4 tasks x 4 episodes on the toy."""
    preset: Preset = get_preset(changes.pop("preset", "rloo"))
    settings = {"groups": 4, "group_size": 4, "steps": 3, "lr": 1e-3, "limits": LIMITS}
    settings |= args or {}
    options = {
        "envs": tiny_policy.envs(16),
        "chat": tiny_policy.chat(),
        "tasks": Feed(),
        "horizon": 3,
        "preset": preset,
        "limits": LIMITS,
        "full_horizon": 4,
        **changes,
    }
    return MultiTurnTrainer(
        tiny_policy.model() if model is None else model,
        grpo_arguments(folder, preset, **settings),
        **options,
    )


def weights(model: Any) -> list[Any]:
    """Copies of a model's weights."""
    return [parameter.detach().clone() for parameter in model.parameters()]


def log(made: Any, name: str) -> list[float]:
    """A logged figure, step by step."""
    return [entry[name] for entry in made.state.log_history if name in entry]
