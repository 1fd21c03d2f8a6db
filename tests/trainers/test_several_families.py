"""One run on several environments, from the command to the report."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.cli import main, parse_config
from trainers.output.jsonl import read_jsonl
from trainers.phases.run import train

pytestmark = pytest.mark.slow

SHORT, LONG = "short", "long"
MIX = [
    {"env": TOY_ID, "name": SHORT, "horizon": 3},
    {
        "env": TOY_ID,
        "name": LONG,
        "weight": 3,
        "horizon": "4,5",
        "horizon_every": 2,
        "horizon_gate": 0.01,
        "reward_hooks": ["potential"],
        "target_success": 0.0,
    },
]
NOT_FLAGS = ("env", "horizon", "horizon_every")


def arguments(out: Path, place: Path, *flags: str, **changes: Any) -> list[str]:
    """The command line of a run on both."""
    path = place / "mix.yaml"
    path.write_text(yaml.safe_dump({"env": MIX}))
    changes = {**dict.fromkeys(NOT_FLAGS), "sft__max_steps": 100, **changes}
    return toy_runs.arguments(out, f"--config={path}", *flags, **changes)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mixed")
    train(parse_config(arguments(place / "run", place, "--rl.log-groups=4", "--report-to=none")))
    return place / "run"


def records(folder: Path, phase: str) -> list[dict[str, Any]]:
    return [r for r in toy_runs.metrics(folder) if r["phase"] == phase]


def test_tasks_are_shared_by_weight_and_no_group_straddles(mixed: Path) -> None:
    counts: Counter[str] = Counter()
    for record in records(mixed, "rl"):
        assert sum(of["episodes"] for of in record["families"].values()) == 16
        counts.update({name: of["episodes"] for name, of in record["families"].items()})
        assert all(of["episodes"] % 4 == 0 for of in record["families"].values())
    assert counts == {SHORT: 24, LONG: 72}
    groups: dict[tuple[int, int | None], set[tuple[str, int]]] = {}
    for episode in read_jsonl(mixed / "episodes.jsonl"):
        key = episode["options"]["training_step"], episode["seed"]
        groups.setdefault(key, set()).add((episode["task_id"], episode["options"]["horizon"]))
    assert len(groups) == 24 and all(len(group) == 1 for group in groups.values())


def test_each_has_its_own_turns_gate_and_rewards(mixed: Path) -> None:
    steps = records(mixed, "rl")
    horizons = [record["families"].get(LONG, {}).get("horizon") for record in steps]
    assert horizons == [4.0, 4.0, 5.0, 5.0, 5.0, 5.0]  # its gate lets it on after two steps
    assert {r["families"][SHORT]["horizon"] for r in steps if SHORT in r["families"]} == {3.0}
    terms: dict[int, set[str]] = {}
    for episode in read_jsonl(mixed / "episodes.jsonl"):
        for turn in episode["turns"]:
            horizon_terms = terms.setdefault(episode["options"]["horizon"], set())
            horizon_terms.update(turn["reward_terms"])
    assert "potential" not in terms[3] and "potential" in terms[5]


def test_each_is_validated_compared_and_drawn(mixed: Path) -> None:
    for record in records(mixed, "valid"):
        assert set(record["families"]) == {SHORT, LONG}
        mean = sum(of["success"] for of in record["families"].values()) / 2
        assert record["success"] == pytest.approx(mean)
    summary = json.loads((mixed / "summary.json").read_text())
    assert list(summary["families"]) == [SHORT, LONG]
    parts = summary["families"].values()
    for arm in ("random", "warm-start", "trained", "oracle"):
        assert summary["eval"][arm]["n"] == 2 * toy_runs.SETTINGS["eval.num-tasks"]
        mean = sum(part["eval"][arm]["score_mean"] for part in parts) / 2
        assert summary["eval"][arm]["score_mean"] == pytest.approx(mean)
    paired = [part["paired"]["trained_minus_warm_start"]["score_mean"] for part in parts]
    assert summary["paired"]["trained_minus_warm_start"]["score_mean"] == pytest.approx(
        sum(paired) / 2
    )
    assert [part["horizon"]["rounds"] for part in parts] == [[3], [4, 5]]
    assert [part["warm_start"]["gated"] for part in parts][1] is True
    for name in (SHORT, LONG):
        for arm in ("random", "warm-start", "trained", "oracle", "valid"):
            assert (mixed / "eval_episodes" / name / f"{arm}.jsonl").exists()
    evaluated = list(read_jsonl(mixed / "eval_episodes" / LONG / "trained.jsonl"))
    assert {episode["options"]["horizon"] for episode in evaluated} == {5}
    assert not any("potential" in t["reward_terms"] for e in evaluated for t in e["turns"])


def test_the_pages_tell_of_each(mixed: Path) -> None:
    report = (mixed / "report.html").read_text()
    for name in (SHORT, LONG):
        assert f"Results in {name}" in report and f"Learning curve in {name}" in report
        assert f"target of the warm start in {name}" in report
    card = (mixed / "checkpoints" / "best" / "README.md").read_text()
    assert "### short" in card and "### long" in card and card.count("- Environment `") == 2
    metadata = yaml.safe_load(card.split("---")[1])
    (model,) = metadata["model-index"]
    assert len(model["results"]) == 2


def test_a_killed_run_goes_on_as_if_nothing_had_been(mixed: Path, tmp_path: Path) -> None:
    """The gate of one family opens at the same step, from the checkpoint's state."""
    command = arguments(tmp_path / "run", tmp_path, "--rl.log-groups=4")
    killed = toy_runs.run_command(toy_runs.begun_from(mixed, command), "rl:3")
    assert killed.returncode == -9, killed.stderr
    assert main(["--resume", f"--out={tmp_path / 'run'}"]) == 0
    assert toy_runs.by_phase(tmp_path / "run") == toy_runs.by_phase(mixed)
    assert toy_runs.summary(tmp_path / "run") == toy_runs.summary(mixed)


def test_an_environment_without_expert_is_trained_beside_one_with(tmp_path: Path) -> None:
    out = tmp_path / "run"
    changes = {
        "steps": 1,
        "eval__num_tasks": 10,
        "eval__every": 0,
        "horizon_every": None,
        "horizon": 4,
    }
    env = f"{TOY_ID},{toy_runs.NO_EXPERT_ID}"
    train(toy_runs.config(out, **{**changes, "env": env, "fit_horizon": "False"}))
    summary = json.loads((out / "summary.json").read_text())
    names = list(summary["families"])
    assert names == ["toy", "noexpert"]
    assert "oracle" not in summary["families"]["noexpert"]["eval"]
    assert "oracle" not in summary["eval"]
    assert summary["families"]["noexpert"]["warm_start"] is None
    assert any(
        remark.startswith("noexpert: There is no scale from 0 to 100: this environment has no")
        for remark in summary["remarks"]
    )


def test_a_pretrained_model_is_told_of_each_environment(small_model: Path) -> None:
    from trainers.config.resolve import resolve
    from trainers.config.schema import from_mapping
    from trainers.models.loaded_policy import load_policy

    run = resolve(
        from_mapping({"env": f"{TOY_ID},search", "model": str(small_model), "out": "unused"})
    )
    prompts = load_policy(run, small_model).prompts
    openings = {name: prompt.opening("")[0]["content"] for name, prompt in prompts.items()}
    assert "press" in openings["toy"] and "press" not in openings["search"]
    assert "search" in openings["search"]
