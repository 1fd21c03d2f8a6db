"""Agents that own their loop, asked for by the commands: trained, evaluated, shown, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from agentgym.cli import main as agentgym
from agentgym.episodes import read_episodes, replay
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.cli import main

AGENT = "tests.trainers.toy_agents:words"
SMALL: dict[str, Any] = {
    "steps": 2, "horizon": "4", "sft__max_steps": 12, "sft__eval_every": 12, "sft__eval_tasks": 4,
    "eval__every": 0, "eval__num_tasks": 4, "rl__num_generations": 6, "rl__groups": 4,
    "tiny__context": 400,
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run that trained a plain loop over HTTP; do not change anything in it."""
    out = tmp_path_factory.mktemp("agents") / "run"
    command = toy_runs.arguments(
        out, f"--agent={AGENT}", "--preset=lightning", "--reward-hooks=potential", **SMALL
    )
    assert main(command) == 0
    return out


def test_a_plain_loop_trains_the_toy_policy(trained: Path) -> None:
    weights_before, weights_after = (
        load_file(trained / "checkpoints" / name / "model.safetensors")
        for name in ("warm-start", "trained")
    )
    steps = toy_runs.by_phase(trained)["rl"]
    assert any(step["trained_fraction"] > 0 for step in steps)
    assert any(not weights_before[name].equal(weights_after[name]) for name in weights_before)
    # What the policy wrote is what was trained: the engine and the trainer agree on every token.
    assert max(step.get("probe_gap", 0.0) for step in steps) < 1e-4


def test_the_records_of_a_run_replay_and_tell_every_call(trained: Path) -> None:
    episodes = list(read_episodes(trained / "episodes.jsonl"))
    assert len(episodes) == 2 * 6 and all(episode.policy == "tiny" for episode in episodes)
    for episode in episodes[:6]:
        assert replay(episode).equal
        calls = episode.extra["calls"]
        assert len(calls) >= len(episode.turns)
        assert {"turn", "text", "prompt_tokens", "completion_tokens"} <= set(calls[0])
    held_out = list(read_episodes(trained / "eval_episodes" / "trained.jsonl"))
    assert len(held_out) == 4 and all(replay(episode).equal for episode in held_out)


@pytest.mark.slow
def test_a_run_is_evaluated_with_its_agent_or_with_another(trained: Path, tmp_path: Path) -> None:
    agents = {"other": "roles", "async": "later"}
    agent_flags = {
        name: ["--agent", f"tests.trainers.toy_agents:{agent}"] for name, agent in agents.items()
    }
    for name, flags in {"own": [], **agent_flags}.items():
        out = tmp_path / name
        command = [
            "eval",
            TOY_ID,
            "--policy",
            str(trained),
            "--num-tasks",
            "3",
            "--no-scale",
            *flags,
        ]
        assert agentgym([*command, "--out", str(out)]) == 0
        report = json.loads((out / "report.json").read_text())
        assert report["policy_facts"]["agent"] == (flags[1] if flags else AGENT)
        episodes = list(read_episodes(out / "episodes.jsonl"))
        assert len(episodes) == 3 and all(episode.extra["calls"] for episode in episodes)
        assert all(replay(episode).equal for episode in episodes)
    page = tmp_path / "page.html"
    assert agentgym(["view", str(tmp_path / "own"), "--out", str(page)]) == 0
    assert "Calls of the model" in page.read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--agent=tests.trainers.toy_agents:nobody"], "nobody"),
        (["--agent=tests.toy:register_toy"], "a function of one agentgym.Session"),
        (["--agent=tests.toy:COLOURS"], "expected"),
        ([f"--agent={AGENT}", "--agent-command=true"], "got both; leave out one"),
        (["--agent-command=' unclosed"], "expected --agent-command to be a command"),
        (["--gateway.calls=3"], "only with --agent or --agent-command"),
        ([f"--agent={AGENT}", "--preset=agentrl"], "the trainer's own loop; got policy_pool"),
        ([f"--agent={AGENT}", "--preset=archer"], "the trainer's own loop; got turn_critic"),
        ([f"--agent={AGENT}", "--preset=matpo"], "expected no workers with --agent"),
        ([f"--agent={AGENT}", "--prompt=default"], "the agent decides what the policy reads"),
        ([f"--agent={AGENT}", "--sft.rounds=1"], "expected no --sft.rounds with --agent"),
    ],
)
def test_what_agents_cannot_do_is_refused_before_anything_is_made(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(toy_runs.arguments(tmp_path / "run", *flags, "--dry-run", **SMALL)) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "run").exists()
