"""Agents of frameworks train the tiny policy as they are; ``.ci/peers`` installs each by itself."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from agentgym.episodes import read_episodes, replay
from tests.trainers import toy_runs
from tests.trainers.methods.gateway import framework_agents
from trainers.cli import main

SMALL: dict[str, Any] = {
    "steps": 2, "horizon": "4", "eval__every": 0, "eval__num_tasks": 2, "tiny__context": 4096,
    "sft__demonstrations": 16, "sft__max_steps": 12, "sft__eval_every": 12, "sft__eval_tasks": 2,
    "sft__batch_size": 4, "rl__groups": 2, "rl__num_generations": 4, "rl__episode_tokens": 600,
}  # fmt: skip
PACKAGES = {"smolagents": "smolagents", "langgraph": "langchain_openai", "openai_agents": "agents"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_an_agent_of_a_framework_is_trained_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is in .ci/peers")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    lines = inspect.getsource(getattr(framework_agents, name)).splitlines()
    glue = [line for line in lines[1:] if line.strip() and " import " not in line]
    assert len(glue) <= 5
    out = tmp_path / "run"
    agent = f"--agent={framework_agents.__name__}:{name}"
    assert main(toy_runs.arguments(out, agent, "--preset=lightning", **SMALL)) == 0
    steps = toy_runs.by_phase(out)["rl"]
    assert all(step["action_tokens"] > 0 for step in steps)
    assert max(step.get("probe_gap", 0.0) for step in steps) < 1e-4
    episodes = list(read_episodes(out / "episodes.jsonl"))
    assert len(episodes) == 8 and all(replay(episode).equal for episode in episodes)
    # Each asked; that it takes turns by its tools the demonstrations have shown.
    assert all(episode.extra["calls"] for episode in episodes)
    if any(step["advantage_std"] > 0 for step in steps):
        weights_before, weights_after = (
            load_file(out / "checkpoints" / checkpoint / "model.safetensors")
            for checkpoint in ("warm-start", "trained")
        )
        assert any(not weights_before[key].equal(weights_after[key]) for key in weights_before)
