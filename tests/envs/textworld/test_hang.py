"""The real interpreter hangs on a NUL byte; the worker's time limit must contain it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.core.outcome import Outcome
from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.vector import TextVectorEnv

pytest.importorskip("textworld", reason="the real engine needs the package textworld")


class CarelessEnv(TextWorldEnv):
    """Lets one text through to the interpreter as it is."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(engine="inform7", **kwargs)

    def _act(self, action: str) -> Outcome:
        if action == "hang":
            self.session._machine.step("look\0")  # type: ignore[attr-defined]
        return super()._act(action)


@pytest.mark.slow
def test_a_hung_interpreter_costs_one_episode(
    game_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    options = [{"split": "test", "index": index} for index in (0, 0, 0)]
    envs = TextVectorEnv.make(
        CarelessEnv, 3, backend="process", workers=2, step_timeout=3.0, reset_timeout=120.0
    )
    try:
        first = envs.reset_slots(range(3), range(3), options)
        assert [info["stop_reason"] for _, info in first] == [""] * 3
        envs.step_slots(range(3), ["look"] * 3)
        results = envs.step_slots(range(3), ["look", "hang", "look"])
        observation, reward, terminated, truncated, info = results[1]
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert info["stop_reason"] == "error" and info["turn"] == 2 and observation
        for index in (0, 2):
            assert results[index][0].startswith("-= ") and results[index][4]["turn"] == 2
        assert envs.active == (True, False, True)
        assert envs.reset_slots([1], [1], [options[1]])[0] == first[1]
        steps = envs.step_slots(range(3), ["look"] * 3)
        assert [step[4]["turn"] for step in steps] == [3, 1, 3]
        assert all(step[0].startswith("-= ") for step in steps)
    finally:
        envs.close()
