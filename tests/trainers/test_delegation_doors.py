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

WEIGHTS = "checkpoints/trained/model.safetensors"
QUICK: dict[str, Any] = {
    "preset": "matpo", "steps": 2, "horizon": "9", "horizon_every": None, "sft__max_steps": 40,
    "eval__every": 0, "eval__tasks": 4, "rl__group_size": 4, "rl__groups": 2, "rl__log_groups": 2,
    "rl__turn_tokens": 16, "rl__episode_tokens": 240, "rl__save_every": 1,
    "sft__demonstrations": 48,
}  # fmt: skip
WORKERS = "--env-kwargs=worker_turns=3"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of ``matpo``."""
    out = tmp_path_factory.mktemp("matpo") / "run"
    toy_runs.run_command(toy_runs.arguments(out, WORKERS, **QUICK))
    return out


def gap(ours: Path, theirs: Path) -> float:
    one, other = load_file(ours / WEIGHTS), load_file(theirs / WEIGHTS)
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def test_workers_act_and_their_records_replay(whole):
    episodes = list(read_episodes(whole / "episodes.jsonl"))
    assert len(episodes) == 2 * 2 * 4
    agents = [{each.start.agent, *(t.after.agent for t in each.turns)} for each in episodes]
    assert any(found - {PLANNER} for found in agents)
    assert all(replay(each).equal for each in episodes)
    assert any(step["grad_norm"] > 0 for step in toy_runs.by_phase(whole)["rl"])


def test_without_workers_the_weights_are_others(whole, tmp_path):
    out = tmp_path / "alone"
    toy_runs.run_command(toy_runs.arguments(out, "--env-kwargs=worker_turns=0", **QUICK))
    assert {each.start.agent for each in read_episodes(out / "episodes.jsonl")} == {""}
    one, other = load_file(whole / WEIGHTS), load_file(out / WEIGHTS)
    # The vocabularies differ, too: what is delegated is said in words of its own.
    assert {k: v.shape for k, v in one.items()} != {k: v.shape for k, v in other.items()}


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(whole, tmp_path):
    killed = tmp_path / "killed"
    toy_runs.run_command(toy_runs.arguments(killed, WORKERS, **QUICK), die_at="rl:1")
    assert not (killed / "summary.json").exists()
    toy_runs.run_command(["--resume", f"--out={killed}"])
    assert gap(whole, killed) == 0.0
    assert toy_runs.by_phase(killed) == toy_runs.by_phase(whole)


def test_the_policy_of_a_run_is_evaluated_with_its_workers(whole, tmp_path):
    out = tmp_path / "evaluation"
    code = agentgym([
        "evaluate", "tests.toy:agentgym-test/Toy-v0", "--set", "worker_turns=3", "horizon=9",
        "--policy", f"run:{whole}", "--n", "4", "--out", str(out),
    ])  # fmt: skip
    assert code == 0
    (file,) = out.rglob("*.jsonl")
    episodes = list(read_episodes(file))
    assert {each.start.agent for each in episodes} == {PLANNER}
    assert all(replay(each).equal for each in episodes)


def test_stages_and_budgets_leave_room_for_what_is_delegated(tmp_path):
    def made(*flags: str) -> Any:
        run = resolve(toy_runs.config(
            tmp_path, *flags, preset="matpo", horizon=None, horizon_every=None,
            rl__turn_tokens=None, rl__episode_tokens=None,
        ))  # fmt: skip
        rl = run.config.rl
        return run.envs[0].rounds, rl.turn_tokens, rl.episode_tokens, run.envs[0].kwargs

    alone, workers = made("--env-kwargs=worker_turns=0"), made()
    assert (alone[0], workers[0]) == ((5, 8, 10), (8, 11, 15))
    assert workers[1] > 3 * alone[1] and workers[2] == 2 * alone[2]
    assert workers[3]["worker_turns"] == 5
