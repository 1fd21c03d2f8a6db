"""A vLLM server that dies and comes back in the middle of a rollout gets its weights again."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.trainers import tiny_policy
from tests.trainers.rollouts.engines import standin_server
from tests.trainers.rollouts.engines.standin_server import StandIn
from tests.trainers.rollouts.engines.test_vllm_server import NEEDS, connect
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.rollout_runner import RolloutRunner

DEATHS = 20
BUDGET = TokenBudget(turn_tokens=3, episode_tokens=120, context=128)


class Restarting(StandIn):
    """Is killed and started again, without its weights, at random requests."""

    def __init__(self, deaths: int) -> None:
        self.left, self.restarts = deaths, 0
        self._rng, self._dying = np.random.default_rng(0), threading.Lock()
        super().__init__(max_model_len=128)

    def _complete(self, payload: dict[str, Any]) -> tuple[int, Any]:
        with self._dying:
            if self.left and self._rng.random() < 0.03:
                self.left -= 1
                self.restarts += 1
                self.weights = "default"
                threading.Thread(target=self._restart, daemon=True).start()
        return super()._complete(payload)

    def _restart(self) -> None:
        with self._dying:
            self.stop()
            self.start(self.port)


def runner_on(server: StandIn, folder: Any) -> RolloutRunner:
    model = tiny_policy.model()
    engine = connect(model, folder, server, needs=replace(NEEDS, context=128), patience=5.0)
    runner = RolloutRunner(tiny_policy.envs(8), tiny_policy.chat(), engine, BUDGET)
    runner.recovery = EngineWeights(engine, lambda: model, lambda: 3)
    runner.recovery.send()
    return runner


def play(runner: RolloutRunner) -> list[list[list[int]]]:
    episodes = runner.run(tiny_policy.tasks(40), group_size=4, horizon=4)
    assert not any(episode.error for episode in episodes)
    assert {turn.version for episode in episodes for turn in episode.turns} == {3}
    return [[turn.ids for turn in episode.turns] for episode in episodes]


@pytest.mark.slow
def test_twenty_restarts_change_no_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(standin_server, "VOCABULARY", len(tiny_policy.chat().tokenizer))
    samples = []
    for deaths in (0, DEATHS):
        server = Restarting(deaths)
        runner = runner_on(server, tmp_path / str(deaths))
        samples.append(play(runner))
        assert server.restarts == deaths
        sent = server.paths().count("/update_weight_version")
        assert (sent, deaths) == (1, 0) or sent > deaths / 2, sent
        runner.engine.close()
        server.stop()
    assert samples[0] == samples[1]


def test_a_server_that_never_comes_back_ends_the_rollout_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(standin_server, "VOCABULARY", len(tiny_policy.chat().tokenizer))
    server = Restarting(0)
    runner = runner_on(server, tmp_path)
    for vllm_server in runner.engine._servers:
        vllm_server._patience = 0.05
    server.stop()
    with pytest.raises(EngineFailure, match=r"failed 5 times.*some/model.*--resume"):
        play(runner)
    runner.engine.close()
