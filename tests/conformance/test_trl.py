"""TRL's environments: what its trainer calls, as it finds it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgym.agents import call_text
from agentgym.interop.trl import TrlTasks
from tests.conformance.episodes import HORIZON, HOSTILE, IDS, Turn, bare, digest, episodes
from tests.interop.test_trl import tools_of

GRAMMAR = "tool_call"


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    """TRL is told the sum of the rewards; it has to be that of the turns, to the last bit."""
    local = bare(env_id, GRAMMAR)
    spec = local.language.specs[0]
    # A tool server has no lone surrogates: JSON and tokenizers write none.
    text = HOSTILE[1].replace("\ud800", "?")
    call = call_text(spec.name, {param.name: text for param in spec.params})
    expected = episodes(local, env_id, [call, call])
    tasks = [local.tasks.task("test", episode.index).id for episode in expected]
    local.close()
    env: Any = TrlTasks(env_id, split="test", num_tasks=1, horizon=HORIZON).environment_factory()
    tools = tools_of(env)
    transcripts: list[list[Turn]] = []
    for episode, task_id in zip(expected, tasks, strict=True):
        turns = [(env.reset(task_id=task_id), 0.0, False)]
        for action in episode.actions:
            request = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
            text = tools[request["name"]](**request["arguments"])
            turns.append((text, env.get_reward(), "The episode is over" in text))
        transcripts.append(
            [
                _plain(turn, expected_turn)
                for turn, expected_turn in zip(turns, episode.turns, strict=True)
            ]
        )
    assert digest(transcripts) == digest([_summed(episode.turns) for episode in expected])


def _plain(turn: Turn, right: Turn) -> Turn:
    """Take what TRL's model reads around an observation away, if the observation is there."""
    observation = right[0]
    return (observation if observation in turn[0] else turn[0], *turn[1:])


def _summed(turns: tuple[Turn, ...]) -> list[Turn]:
    return [
        (text, sum(reward for _, reward, _ in turns[: number + 1]), over)
        for number, (text, _, over) in enumerate(turns)
    ]
