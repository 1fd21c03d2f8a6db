"""The preset ``matpo`` through the command: workers act, are recorded, and survive a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from agentgym.cli import main as agentgym
from agentgym.core.delegation import PLANNER
from agentgym.episodes import read_episodes, replay
from tests.trainers import toy_runs
from trainers.config.resolve import resolve

WEIGHTS = "checkpoints/trained/adapter_model.safetensors"
SMALL: dict[str, Any] = {
    "preset": "matpo", "horizon": "9", "horizon_every": None, "eval__every": 0,
    "eval__num_tasks": 2,
    "rl__num_generations": 4, "rl__groups": 2, "rl__log_groups": 2, "rl__turn_tokens": 16,
    "rl__episode_tokens": 240, "rl__save_every": 1,
}  # fmt: skip
WORKERS, ALONE = "--env-kwargs=worker_turns=3", "--env-kwargs=worker_turns=0"


def run(out: Path, *flags: str, die_at: str = toy_runs.ALIVE, **changes: Any) -> Path:
    """Train through the command in a process of its own; the folder."""
    toy_runs.run_command(toy_runs.arguments(out, *flags, **SMALL, **changes), die_at=die_at)
    return out


@pytest.fixture(scope="module")
def worker_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One step of ``matpo`` after a short imitation of the expert with its workers."""
    changes = {
        "steps": 1, "tiny__hidden": 32, "sft__max_steps": 110, "sft__eval_every": 110,
        "sft__eval_tasks": 4, "sft__save_every": 110,
    }  # fmt: skip
    return run(tmp_path_factory.mktemp("matpo") / "begun", WORKERS, **changes)


@pytest.fixture(scope="module")
def start(worker_run: Path) -> dict[str, Any]:
    """Settings of runs of two steps that go on from its warm start."""
    start = worker_run / "checkpoints/warm-start"
    return {"model": start, "prompt": "bare", "steps": 2, "sft__max_steps": 0}


@pytest.fixture(scope="module")
def matpo_run(start: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of ``matpo`` from there."""
    return run(tmp_path_factory.mktemp("matpo") / "whole", WORKERS, **start)


def gap(first: Path, second: Path) -> float:
    tensors, other_tensors = load_file(first / WEIGHTS), load_file(second / WEIGHTS)
    return max(float((tensors[name] - other_tensors[name]).abs().max()) for name in tensors)


@pytest.mark.slow
def test_workers_act_and_their_records_replay(worker_run, matpo_run):
    for out, steps in ((worker_run, 1), (matpo_run, 2)):
        episodes = list(read_episodes(out / "episodes.jsonl"))
        assert len(episodes) == steps * 2 * 4
        agents = [
            {episode.start.agent, *(t.after.agent for t in episode.turns)} for episode in episodes
        ]
        assert any(episode_agents - {PLANNER} for episode_agents in agents)
        assert all(replay(episode).equal for episode in episodes)


@pytest.mark.slow
def test_without_workers_the_weights_are_others(matpo_run, start, tmp_path):
    alone = run(tmp_path / "alone", ALONE, **start)
    assert {episode.start.agent for episode in read_episodes(alone / "episodes.jsonl")} == {""}
    assert gap(matpo_run, alone) > 1e-3


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(matpo_run, start, tmp_path):
    killed = run(tmp_path / "killed", WORKERS, die_at="rl:1", **start)
    assert not (killed / "summary.json").exists()
    toy_runs.run_command(["--resume", f"--out={killed}"])
    assert gap(matpo_run, killed) == 0.0
    assert toy_runs.by_phase(killed) == toy_runs.by_phase(matpo_run)


def test_the_policy_of_a_run_is_evaluated_with_its_workers(worker_run, tmp_path):
    out = tmp_path / "evaluation"
    code = agentgym([
        "eval", "tests.toy:agentgym-test/Toy-v0", "--env-kwargs", "worker_turns=3", "horizon=9",
        "--policy", str(worker_run), "--num-tasks", "4", "--out", str(out),
    ])  # fmt: skip
    assert code == 0
    (file,) = out.rglob("*.jsonl")
    episodes = list(read_episodes(file))
    assert {episode.start.agent for episode in episodes} == {PLANNER}
    assert all(replay(episode).equal for episode in episodes)


def test_stages_and_budgets_leave_room_for_what_is_delegated(tmp_path):
    def resolve_sizes(*flags: str) -> Any:
        run = resolve(toy_runs.config(
            tmp_path, *flags, preset="matpo", horizon=None, horizon_every=None,
            rl__turn_tokens=None, rl__episode_tokens=None,
        ))  # fmt: skip
        rl = run.config.rl
        return run.envs[0].rounds, rl.turn_tokens, rl.episode_tokens, run.envs[0].kwargs

    alone, workers = resolve_sizes("--env-kwargs=worker_turns=0"), resolve_sizes()
    assert (alone[0], workers[0]) == ((5, 8, 10), (8, 11, 15))
    assert workers[1] > 3 * alone[1] and workers[2] == 2 * alone[2]
    assert workers[3]["worker_turns"] == 5
