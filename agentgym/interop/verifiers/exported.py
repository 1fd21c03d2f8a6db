"""Environments for verifiers: a taskset with the environment as the user.

The module ``agentgym_v1`` (``module.d``, installed outside of the package) exports both, since
verifiers imports a taskset by its name:

    vf-eval agentgym-v1 --env.taskset.env webshop --env.taskset.num_tasks 20
        --env.player.harness.id null

The model's responses are actions. The reward is the sum of the turns' rewards; ``score`` and
``success`` are metrics. A failing environment fails the rollout, which then has no reward.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import verifiers.v1 as vf

from agentgym.interop.dialogue import Dialogue

__all__ = ["AgentGymEnv", "AgentGymTaskset"]


class AgentGymConfig(vf.TasksetConfig):
    """Settings of the tasks."""

    env: str = "webshop"
    """A short name, an id, or ``MODULE:ID``."""
    kwargs: dict[str, Any] = {}  # noqa: RUF012  # a field of pydantic
    """Arguments of the environment."""
    prompt: str = "default"
    """``default``, ``bare``, the name of a protocol, or the path of a protocol file."""
    split: str = "test"
    """Split of the tasks."""
    num_tasks: int = 100
    """Number of tasks."""
    seed: int = 0
    """Seed of the draw."""


class AgentGymData(vf.TaskData):
    """A task by its id."""

    info: dict[str, Any]
    """Arguments of the environment, and the id of the task."""


class AgentGymTask(vf.Task[AgentGymData, vf.State, vf.TaskConfig]):
    """A task of an environment, scored by the environment."""


class AgentGymTaskset(vf.Taskset[AgentGymTask, AgentGymConfig]):
    """The tasks of an environment."""

    def load(self) -> Iterator[AgentGymTask]:
        """Yield the tasks, with the first messages of their episodes."""
        config = self.config
        with closing(Dialogue(config.env, prompt=config.prompt, kwargs=config.kwargs)) as dialogue:
            for task_id in dialogue.draw(config.split, config.num_tasks, config.seed):
                *earlier, first = dialogue.reset(task_id)
                info = {
                    "env": config.env,
                    "kwargs": config.kwargs,
                    "prompt": config.prompt,
                    "task_id": task_id,
                }
                system = "\n\n".join(message["content"] for message in earlier)
                data = AgentGymData(
                    id=task_id,
                    name=task_id,
                    prompt=first["content"],
                    system_prompt=system or None,
                    info=info,
                )
                yield AgentGymTask(data, config.task)


class AgentGymEnvConfig(vf.EnvConfig):
    """Settings of the player."""

    player: vf.AgentConfig = vf.AgentConfig()
    """The agent that takes the actions."""


class AgentGymEnv(vf.Env[AgentGymEnvConfig]):
    """Play a task: each response is an action, each observation a user message."""

    async def run(self, task: AgentGymTask, agents: Any) -> None:
        """Play one episode."""
        settings = task.data.info
        dialogue = Dialogue(settings["env"], prompt=settings["prompt"], kwargs=settings["kwargs"])
        dialogue.require_one_agent()
        with closing(dialogue):
            # In threads: what takes long in an environment shall not hold up other rollouts.
            await asyncio.to_thread(dialogue.reset, settings["task_id"])
            earned, info = 0.0, {"score": 0.0, "success": False}
            async with agents.player.interaction(task) as talk:
                segment = await talk.turn()
                while not segment.terminated:
                    turn = await asyncio.to_thread(dialogue.step, segment.last_reply or "")
                    earned, info = earned + turn.reward, dict(turn.info)
                    if turn.done:
                        break
                    segment = await talk.turn(turn.text)
            talk.trace.record_reward("reward", earned)
            talk.trace.record_metric("score", float(info["score"]))
            talk.trace.record_metric("success", float(info["success"]))
