"""Workers that are killed, and environments that hang or raise, cost their episodes alone."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers.grpo.helpers import make_trainer

DEATHS = 20


class Mortal(ToyEnv):
    """Kills its process in the middle of a turn, once for each request that lies in a folder."""

    def __init__(self, requests: Path) -> None:
        super().__init__()
        self._requests = requests

    def _act(self, action: str) -> Any:
        for request in self._requests.iterdir():
            with suppress(FileNotFoundError):  # The other worker was faster.
                request.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return super()._act(action)


@pytest.mark.slow
def test_workers_killed_at_random_cost_their_episodes_alone(tmp_path):
    requests = tmp_path / "requests"
    requests.mkdir()
    envs = TextVectorEnv([partial(Mortal, requests)] * 16, backend="process", workers=2)
    episodes: list[Any] = []
    answered, rng = threading.Event(), np.random.default_rng(0)

    def kill() -> None:
        for number in range(DEATHS):
            # Between two deaths an episode ends: a worker that dies at every start is given up.
            answered.wait()
            answered.clear()
            time.sleep(rng.uniform(0.0, 0.5))
            (requests / str(number)).touch()

    killer = threading.Thread(target=kill, daemon=True)

    def stop(event: Any) -> None:
        episodes.extend(event.trajectories)
        answered.set()
        trainer.control.should_training_stop = not killer.is_alive() and not any(requests.iterdir())

    trainer = make_trainer(
        tmp_path / "run", args={"steps": 400}, envs=envs, on_rollout=stop, probe_every=0
    )
    killer.start()
    try:
        trainer.train()
    finally:
        envs.close()
    assert not killer.is_alive()
    lost = [episode for episode in episodes if episode.stop_reason == "error"]
    # Each death costs the episode that the worker was playing; others are restored.
    assert 0 < len(lost) <= DEATHS
    assert all("died" in episode.error for episode in lost)


class Unreliable(ToyEnv):
    """Hangs or raises now and then, by what it has been told."""

    def _act(self, action: str) -> Any:
        draw = np.random.default_rng([len(action), self.task.index, self.turn]).random()
        if draw < 0.03:
            time.sleep(5.0)
        if draw > 0.97:
            raise RuntimeError("short circuit")
        return super()._act(action)


@pytest.mark.slow
def test_environments_that_hang_or_raise_cost_their_episodes_alone(tmp_path):
    envs = TextVectorEnv([Unreliable] * 16, backend="thread", step_timeout=1.5)
    errors: list[str] = []
    played: list[Any] = []

    def stop(event: Any) -> None:
        played.extend(event.trajectories)
        errors.extend(e.error for e in event.trajectories if e.stop_reason == "error")
        hung = sum("1.5" in error for error in errors)
        trainer.control.should_training_stop = min(hung, len(errors) - hung) >= DEATHS

    trainer = make_trainer(tmp_path, args={"steps": 400}, envs=envs, on_rollout=stop, probe_every=0)
    try:
        trainer.train()
    finally:
        envs.close()
    assert trainer.state.global_step < 400
    assert sum("short circuit" in error for error in errors) >= DEATHS
    assert len(errors) < len(played) / 3
