"""Arithmetic questions in skyrl-gym's environments, which bring scorers and no questions."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import gymnasium

from agentgym.core.tasks import SPLITS, Task, TaskList
from agentgym.errors import require
from agentgym.interop.imported_env import FREE_TEXT, SINGLE_ANSWER, ImportedEnv
from agentgym.interop.world import World, WorldTurn
from agentgym.support.random_stream import Stream

ANSWERS = {"gsm8k": "#### {}", "gsm8k_multi_turn": "#### {}", "aime": "Answer: {}"}
"""How each environment reads an answer."""
SIZE = 100
"""Questions of each split."""


class SkyrlWorld(World):
    """An environment of skyrl-gym, made anew for each question.

    Args:
        name: Its id.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._env: Any = None
        self._answer = ""

    def reset(self, task: Task, seed: int) -> str:
        """Ask the question."""
        self._answer = ANSWERS[self._name].format(task.content["answer"])
        truth = {"ground_truth": str(task.content["answer"])}
        row = {"reward_spec": truth, "reward_model": truth, "extra_info": {}}
        self._env = require("skyrl_gym", "skyrl").make(self._name, env_config={}, extras=row)
        messages, _ = self._env.init([{"role": "user", "content": task.goal}])
        return "\n\n".join(message["content"] for message in messages)

    def step(self, text: str) -> WorldTurn:
        """Give the response to the environment."""
        output = self._env.step(text)
        words = "\n\n".join(message["content"] for message in output["observations"])
        return WorldTurn(words, float(output["reward"]), output["done"])

    def expert(self) -> str:
        """Return the right answer."""
        return self._answer


def make(name: str, **kwargs: Any) -> ImportedEnv:
    """Make an environment of skyrl-gym with questions; further arguments are `ImportedEnv`'s."""
    specs = FREE_TEXT if name == "gsm8k_multi_turn" else SINGLE_ANSWER
    splits = {split: [_question(name, split, k) for k in range(SIZE)] for split in SPLITS}
    tasks = TaskList(f"skyrl/{name}", splits)
    return ImportedEnv(SkyrlWorld(name), tasks, specs=specs, has_expert=True, **kwargs)


def _question(name: str, split: str, index: int) -> Task:
    draw = Stream("skyrl questions", split, index)
    factor, other, summand = (draw.between(12, 99) for _ in range(3))
    goal = (
        f"What is {factor} times {other} plus {summand}? End your response with "
        f"'{ANSWERS[name].format('NUMBER')}'."
    )
    content = {
        "answer": factor * other + summand,
        "version of skyrl-gym": metadata.version("skyrl-gym"),
    }
    return Task(f"skyrl/{name}/{split}/{index}", split, index, goal, content)


for _name in ANSWERS:
    gymnasium.register(f"skyrl/{_name}-v0", entry_point=f"{__name__}:make", kwargs={"name": _name})
