"""The talks that SkyRL and verl-agent step."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agentgym.episodes.prompt_writer import ENV_CLASS
from agentgym.episodes.task_reference import TaskReference
from agentgym.interop.prompt_rows import prompt_rows
from agentgym.interop.skyrl import SkyRLEpisode
from agentgym.interop.verl_agent import VerlAgentManager
from tests.conformance.episodes import HORIZON, IDS, Turn, digest, native_episodes
from tests.conformance.test_data_sets import tokenizer
from tests.toy import TOY_ID


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    """The bare prompt shows observations alone, and why an action was invalid."""
    expected, tasks = native_episodes(env_id)
    envs = VerlAgentManager(
        env_id, tasks=1, split="test", num_tasks=1, prompt="bare", horizon=HORIZON
    )
    skyrl: list[list[Turn]] = []
    verl: list[list[Turn]] = []
    for episode, task_id in zip(expected, tasks, strict=True):
        row = {"agentgym": TaskReference(env_id, task_id, {"horizon": HORIZON}, "bare").to_cell()}
        observations, _ = envs.reset([{"task_id": task_id}])
        verl.append([(observations["anchor"][0], 0.0, False)])
        with SkyRLEpisode(extras=row) as env:
            opening = env.init([])[0][-1]["content"]
            skyrl.append([(_match_observation(opening, episode.turns[0]), 0.0, False)])
            for action, native in zip(episode.actions, episode.turns[1:], strict=True):
                turn: Any = env.step(action)
                text = native[0] if turn["done"] else turn["observations"][0]["content"]
                skyrl[-1].append((_match_observation(text, native), turn["reward"], turn["done"]))
                observations, rewards, is_done, _ = envs.step([action])
                reward = native[1] if rewards[0] == np.float32(native[1]) else float(rewards[0])
                verl[-1].append((observations["anchor"][0], reward, bool(is_done[0])))
    right_digest = digest([episode.turns for episode in expected])
    assert digest(skyrl) == right_digest
    assert digest(verl) == right_digest
    envs.close()


def _match_observation(text: str, right: Turn) -> str:
    """Return the observation if the text begins with it; a reason may stand behind it."""
    return right[0] if text.startswith(right[0]) else text


class Solver:
    """Answers for SkyRL's engines: the expert's action in the environment that began last."""

    weight_version = None

    def __init__(self, text_tokenizer: Any) -> None:
        self._tokenizer = text_tokenizer
        self.envs: list[Any] = []

    async def generate(self, request: Any, model: Any = None) -> dict[str, Any]:
        text = str(self.envs[-1]._dialogue._text_env.oracle_action())
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return {"responses": [text], "response_ids": [ids], "stop_reasons": ["stop"]}

    async def finish_session(self, session: str) -> None:
        pass


def test_skyrl_ends_what_is_longer_than_its_default(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its own loop drops the rest of an episode without a word; the door says so."""
    generators = pytest.importorskip(
        "skyrl.train.generators.skyrl_gym_generator", reason="skyrl is in .ci/peers"
    )
    import skyrl_gym
    from skyrl.train.config.config import SkyRLTrainConfig

    skyrl_gym.register(id=ENV_CLASS, entry_point="agentgym.interop.skyrl:SkyRLEnv")
    text_tokenizer = tokenizer()
    text_tokenizer.eos_token = "!"
    solver = Solver(text_tokenizer)
    init = SkyRLEpisode.init

    def begin(self: SkyRLEpisode, prompt: Any) -> Any:
        solver.envs.append(self)
        return init(self, prompt)

    monkeypatch.setattr(SkyRLEpisode, "init", begin)
    monkeypatch.setattr("agentgym.interop.early_ends._reported", set())
    settings = SkyRLTrainConfig()
    assert (settings.trainer.max_prompt_length, settings.generator.max_turns) == (512, 1)
    row: dict[str, Any] = prompt_rows(TOY_ID, split="test", num_tasks=1)[0]
    prompt, env_class = row.pop("prompt"), row.pop("env_class")
    rewards = []
    for max_turns, length in ((1, 512), (9, 4096)):
        settings.generator.max_turns, settings.generator.max_input_length = max_turns, length
        generator = generators.SkyRLGymGenerator(
            settings.generator, settings.environment.skyrl_gym, solver, text_tokenizer
        )
        played = asyncio.run(generator.agent_loop(prompt, env_class, dict(row), 64, length, {}))
        rewards.append(sum(played.reward))
    assert rewards[0] < rewards[1] == 1.0
    assert caplog.text.count("SkyRL ended an episode") == 1
