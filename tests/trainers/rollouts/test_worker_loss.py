"""Workers that are killed, and environments that hang or raise, cost their episodes alone."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers.grpo.helpers import make_trainer

DEATHS = 20


class Waiting(ToyEnv):
    """Takes long enough to be killed in the middle of a turn."""

    def _act(self, action: str) -> Any:
        time.sleep(0.02)
        return super()._act(action)


@pytest.mark.slow
def test_workers_killed_at_random_cost_their_episodes_alone(tmp_path):
    envs = TextVectorEnv([Waiting] * 16, backend="process", workers=2)
    events: list[Any] = []
    over, answered, killed = threading.Event(), threading.Event(), []

    def kill() -> None:
        rng = np.random.default_rng(0)
        while len(killed) < DEATHS and not over.wait(rng.uniform(0.3, 1.5)):
            # On a busy machine a worker starts slowly; what dies at every start is given up.
            answered.wait()
            pid = envs._exchange.backend.pids[int(rng.integers(2))]  # type: ignore[attr-defined]
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # It is being replaced.
                continue
            killed.append(pid)
            answered.clear()

    trainer = make_trainer(
        tmp_path, args={"steps": 400}, envs=envs, on_rollout=events.append, probe_every=0
    )

    def stop(event: Any) -> None:
        events.append(event)
        answered.set()
        trainer.control.should_training_stop = len(killed) == DEATHS

    trainer._on_rollout = stop
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        trainer.train()
    finally:
        over.set()
        answered.set()
        killer.join()
        envs.close()
    assert len(killed) == DEATHS
    episodes = [episode for event in events for episode in event.trajectories]
    lost = [episode for episode in episodes if episode.stop_reason == "error"]
    # Each death costs at most the episode that the worker was playing; others are restored.
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
    envs = TextVectorEnv([Unreliable] * 16, backend="thread", step_timeout=0.3)
    errors: list[str] = []
    played: list[Any] = []

    def stop(event: Any) -> None:
        played.extend(event.trajectories)
        errors.extend(e.error for e in event.trajectories if e.stop_reason == "error")
        hung = sum("0.3" in error for error in errors)
        trainer.control.should_training_stop = min(hung, len(errors) - hung) >= DEATHS

    trainer = make_trainer(tmp_path, args={"steps": 400}, envs=envs, on_rollout=stop, probe_every=0)
    try:
        trainer.train()
    finally:
        envs.close()
    assert trainer.state.global_step < 400
    assert sum("short circuit" in error for error in errors) >= DEATHS
    assert len(errors) < len(played) / 3
