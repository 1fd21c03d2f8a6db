"""Costs in training: prices follow their limits through the command, also after a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainers import toy_runs
from trainers.cli import main
from trainers.rollouts.priced_tasks import PricedTasks

SMALL: dict[str, Any] = {
    "steps": 3, "horizon": "5", "horizon_every": None, "eval__every": 0, "eval__num_tasks": 2,
    "sft__max_steps": 5, "sft__demonstrations": 8, "rl__save_every": 1,
    "reward_hooks": "characters=10", "rl__price_rate": 0.001,
}  # fmt: skip


def steps(folder: Path) -> list[dict[str, Any]]:
    return toy_runs.by_phase(folder)["rl"]


@pytest.fixture(scope="module")
def priced_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("prices") / "whole"
    assert main(toy_runs.arguments(out, **SMALL)) == 0
    return out


@pytest.mark.slow
def test_the_price_of_what_is_above_its_limit_rises_by_the_rule(priced_run: Path) -> None:
    price = 0.0
    for record in steps(priced_run):
        assert record["price_characters"] == pytest.approx(price)
        assert record["cost_characters_above"] > 0
        price = max(0.0, price + 0.001 * (record["cost_characters"] - 10.0))
    assert price > 0.01


@pytest.mark.slow
def test_a_killed_run_goes_on_with_its_prices(priced_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    toy_runs.run_command(toy_runs.arguments(out, **SMALL), die_at="rl 2")
    assert main(["--resume", "--out", str(out)]) == 0
    assert toy_runs.nearly(steps(out)) == toy_runs.nearly(steps(priced_run))


def test_without_the_rate_prices_stay_and_weights_are_others(
    priced_run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "fixed"
    assert main(toy_runs.arguments(out, **{**SMALL, "rl__price_rate": 0.0})) == 0
    assert "price_characters" not in steps(out)[-1]
    file = "checkpoints/trained/model.safetensors"
    assert toy_runs.files(out)[file] != toy_runs.files(priced_run)[file]


def test_a_rate_without_a_limit_is_refused(tmp_path: Path, capsys: Any) -> None:
    changes = {**SMALL, "reward_hooks": "characters"}
    assert main(toy_runs.arguments(tmp_path / "run", **changes)) == 2
    assert "expected a cost with a limit" in capsys.readouterr().err


def test_prices_fall_to_zero_and_no_further() -> None:
    class Episode:
        stop_reason = "success"

        def used(self, name: str) -> float:
            return 1.0

    class Tasks:
        def learn(self, episodes: Any) -> None:
            self.episodes = episodes

        def state_dict(self) -> dict[str, Any]:
            return {}

        def further(self, *args: Any) -> dict[str, Any]:
            return {"": iter([{"index": 1}, {"index": 2}])}

    class Hook:
        name, limit, price = "calls", 3.0, 0.5

    tasks: Any = Tasks()
    priced = PricedTasks(tasks, [Hook()], 0.1)  # type: ignore[list-item]
    # What replaces a group is drawn while a later step is planned, and has the prices of its own.
    replacing = priced.further(1, 2, 5)[""]
    for expected in (0.3, 0.1, 0.0):
        priced.learn([Episode()])  # type: ignore[list-item]
        assert priced.state_dict()["prices"]["calls"] == pytest.approx(expected)
    assert [task["prices"] for task in replacing] == [{"calls": 0.5}] * 2
