"""Estimate the tokens of a chat model's evaluation before it is played."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.conversation import Prompt
from agentgym.core.env import TextEnv
from agentgym.core.oracle import OraclePolicy
from agentgym.errors import NotSupported
from agentgym.evaluation.plan import Job, Plan
from agentgym.policies.base import ModelOutput
from agentgym.policies.play import Moment, play

MEASURED = 3
"""Number of tasks that the expert plays to measure turns and lengths of observations."""
CHARACTERS = 4
"""Assumed characters per token of English text."""
ANSWER = 150
"""Assumed tokens per response; thinking takes more."""


@dataclass(frozen=True)
class Forecast:
    """Estimated tokens of an evaluation, if episodes are as long as the expert's or the horizon.

    Estimated from observations of a few tasks, with `CHARACTERS` per token and `ANSWER` tokens per
    response, without a prompt cache.
    """

    turns: tuple[float, int]
    """Mean turns per episode of the expert, and the horizon."""
    least: ModelOutput
    """Tokens of all episodes with the expert's number of turns."""
    most: ModelOutput
    """Tokens of all episodes that last until the horizon."""


def forecast(env: TextEnv, planned: Plan, horizon: int | None, prompt: Prompt) -> Forecast:
    """Estimate the tokens of an evaluation; the expert plays a few of its tasks, without a model.

    Args:
        env: The environment.
        planned: The episodes.
        horizon: Turn budget; None is the environment's own.
        prompt: The model's prompt; in the grammar ``tool_call`` the actions are sent as tools.

    Raises:
        EnvFailure: The environment fails.
        NotSupported: It has no expert.
    """
    episodes = [_expert(env, job, horizon) for job in planned.jobs[:MEASURED]]
    tools = env.spoken.tools() if env.spoken.grammar == "tool_call" else []
    opening = (prompt.for_tools(horizon) if tools else prompt).opening("")
    lengths = [len(message["content"]) for message in opening]
    head = sum(lengths) + len(json.dumps(tools)) + _mean([len(e[0].observation) for e in episodes])
    later = _mean([len(turn.observation) for episode in episodes for turn in episode[1:]])
    turns = [len(episode) - 1 for episode in episodes]
    horizon_turns = int(episodes[0][0].info["horizon"])

    def tokens(count: int) -> tuple[float, float]:
        """Return the tokens read and written by an episode of ``count`` turns."""
        # Every request sends the turns in the window again, so a turn is read several times.
        shown_turns = sum(len(prompt.recent(range(turn))) for turn in range(count))
        prompt_tokens = count * head / CHARACTERS + shown_turns * (later / CHARACTERS + ANSWER)
        return prompt_tokens, count * ANSWER

    n = len(planned.jobs)
    read, completion = zip(*map(tokens, turns), strict=True)
    return Forecast(
        (_mean(turns), horizon_turns),
        _output(n * _mean(read), n * _mean(completion)),
        _output(*(n * number for number in tokens(horizon_turns))),
    )


def _expert(env: TextEnv, job: Job, horizon: int | None) -> list[Moment]:
    """Let the expert play a task."""
    budget = {} if horizon is None else {"horizon": horizon}
    options = {"task_id": job.task_id, **budget}
    moments = [*play(OraclePolicy(env), env, seed=job.seed, options=options)]
    if moments[-1].failure is not None:
        raise moments[-1].failure
    if len(moments) == 1:
        raise NotSupported(f"expected the expert to act on {job.task_id}, but it did not")
    return moments


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _output(prompt_tokens: float, completion: float) -> ModelOutput:
    return ModelOutput("", round(prompt_tokens), round(completion))
