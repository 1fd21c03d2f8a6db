"""Presets that choose and replace their tasks: what is trained, through the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.trainers import toy_runs
from tests.trainers.toy_runs import equal
from trainers.cli import main
from trainers.config.resolve import resolve

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "horizon": "3", "sft__max_steps": 20, "eval__every": 0,
    "eval__num_tasks": 4, "rl__log_groups": 99, "rl__minibatches": 1, "rl__invalid_penalty": 0,
    "rl__groups": 3, "rl__num_generations": 2,
}  # fmt: skip


def trained(out: Path, *flags: str, start: Path | None = None, **changes: Any) -> Path:
    """Train through the command, perhaps from the warm start of another run."""
    command = toy_runs.arguments(out, *flags, **{**QUICK, **changes})
    assert main(toy_runs.begun_from(start, command)) == 0
    return out


def episodes(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]


def step_of(episode: dict[str, Any]) -> int:
    return int(episode["options"]["training_step"])


def same_weights(first: Path, other: Path) -> bool:
    return equal(*map(toy_runs.trained_weights, (first, other)))


def killed_and_resumed(
    reference: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, step: int, **settings: Any
) -> Path:
    """Train as a whole run did, die when the record of a step has been written, and go on."""
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", step, patch)):
        trained(folder, start=reference, **settings)
    return trained(folder, "--resume", **settings)


@pytest.mark.slow
def test_flat_groups_are_replaced_recorded_and_learned_from(tmp_path, monkeypatch):
    """DAPO whole, and without the refill; killed behind a checkpoint it ends as it would have."""
    settings = {
        "preset": "dapo", "steps": 3, "rl__save_every": 1, "rl__sampler": "informative",
        "reward_hooks": "progressive=0.5",
    }  # fmt: skip
    reference = trained(tmp_path / "whole", **settings)
    records = toy_runs.by_phase(reference)["rl"]
    group_counts = [record["groups_played"] for record in records]
    assert max(group_counts) > 3 and all(3 <= count <= 30 for count in group_counts)
    for record, count in zip(records, group_counts, strict=True):
        step_episodes = [
            episode for episode in episodes(reference) if step_of(episode) == record["step"]
        ]
        assert len(step_episodes) == 2 * count
        assert record["turns_total"] >= sum(len(episode["turns"]) for episode in step_episodes)
        groups = Counter(episode["task_id"] for episode in step_episodes)
        assert set(groups.values()) == {2} and len(groups) == count
        # As many groups train as are not missing of the three.
        live = record["trained_fraction"] * 3
        assert live == pytest.approx(3 - record["groups_missing"])
    plain_run = trained(tmp_path / "plain", "--refill.groups=0", start=reference, **settings)
    assert "groups_played" not in toy_runs.by_phase(plain_run)["rl"][0]
    assert not same_weights(plain_run, reference)
    resumed = killed_and_resumed(reference, tmp_path / "again", monkeypatch, 2, **settings)
    assert same_weights(resumed, reference)
    assert (resumed / "episodes.jsonl").read_bytes() == (reference / "episodes.jsonl").read_bytes()


@pytest.mark.slow
def test_progressive_rewards_follow_the_formula_at_every_step(tmp_path, monkeypatch):
    """What records hold of step s satisfies R = alpha(s) outcome + (1 - alpha(s)) mean gain."""
    stages = "progressive:first=0.3,second=0.7,third=1,every=1,gate=1"
    settings = {
        "preset": "vspo", "steps": 4, "rl__save_every": 2, "reward_hooks": stages,
        "rl__invalid_penalty": 0.25, "sft__max_steps": 80,
    }  # fmt: skip
    reference = trained(tmp_path / "whole", **settings)
    pairs = set()
    for episode in episodes(reference):
        alpha = (0.3, 0.7, 1.0, 1.0)[step_of(episode) - 1]
        turns = episode["turns"]
        outcome = sum(v for t in turns for k, v in t["reward_terms"].items() if k != "progressive")
        shut = not all(turn["action_valid"] for turn in turns)
        over = turns[-1]["terminated"] or turns[-1]["truncated"]
        potentials = [
            episode["start"]["potential"],
            *(turn["after"]["potential"] for turn in turns),
        ]
        gain = (potentials[-1] - potentials[0]) / len(turns)
        expected = (0.0 if shut and over else alpha * outcome) + (1 - alpha) * gain
        assert sum(turn["reward"] for turn in turns) == pytest.approx(expected, abs=1e-12)
        pairs.add((alpha, shut))
    assert {alpha for alpha, _ in pairs} == {0.3, 0.7, 1.0} and len(
        {shut for _, shut in pairs}
    ) == 2
    resumed = killed_and_resumed(reference, tmp_path / "again", monkeypatch, 3, **settings)
    assert same_weights(resumed, reference)
    assert (resumed / "episodes.jsonl").read_bytes() == (reference / "episodes.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "without"),
    [
        ("vspo", {"rl__sampler": "uniform"}),
        ("vspo", {"refill__groups": 0}),
        ("vspo", {"reward_hooks": "progressive=1"}),
        ("dapo", {"refill__groups": 0}),
    ],
)
def test_a_preset_without_one_of_its_parts_trains_otherwise(preset, without, runs, tmp_path):
    reference = runs(preset)
    assert not same_weights(varied(tmp_path / "run", preset, start=reference, **without), reference)


def varied(out: Path, preset: str, **changes: Any) -> Path:
    """Train with rewards that differ although hardly any task is solved."""
    hooks = {} if preset == "vspo" else {"reward_hooks": "progressive=0.5"}
    return trained(out, preset=preset, **{**hooks, **changes})


@pytest.mark.slow
def test_a_solved_task_pays_its_calls_under_grpo_tcr(tmp_path):
    """The bonus is .1 for every valid action before the one that solves the task."""
    settings = {"preset": "grpo-tcr", "sft__max_steps": 160, "horizon": "5"}
    out = trained(tmp_path / "run", **settings)
    solved = [episode for episode in episodes(out) if episode["success"]]
    assert solved
    for episode in solved:
        *calls, last = episode["turns"]
        valid = sum(turn["action_valid"] for turn in calls)
        assert last["reward_terms"]["tool_bonus"] == pytest.approx(0.1 * valid)
    plain_run = trained(tmp_path / "plain", start=out, **settings, reward_hooks="tool_bonus=0")
    assert not same_weights(out, plain_run)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two steps of each preset, made once."""
    folders: dict[str, Path] = {}

    def run(preset: str) -> Path:
        if preset not in folders:
            folders[preset] = varied(tmp_path_factory.mktemp(preset) / "run", preset)
        return folders[preset]

    return run


def test_a_preset_brings_its_rewards_and_stages(tmp_path):
    run = resolve(toy_runs.config(tmp_path / "run", preset="vspo", steps=None))
    (env,) = run.envs
    assert [hook.name for hook in env.make_hooks()][-1] == "progressive" and run.config.steps == 300
    overridden = resolve(
        toy_runs.config(tmp_path / "run", preset="vspo", reward_hooks="progressive=0.5")
    )
    assert overridden.envs[0].reward_hooks == ("progressive=0.5",)
    assert (run.config.rl.sampler, run.preset.refill) == ("value", 4)
    assert resolve(toy_runs.config(tmp_path / "run")).preset.refill == 0
