"""``--budget`` counts imitation and reinforcement learning together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from tests.trainers import toy_runs
from trainers.cli import main
from trainers.config.budget import Budget, parse_budget
from trainers.config.resolve import resolve
from trainers.output.run_folder import RunFolder
from trainers.phases.equal_compute import GENERATION
from trainers.phases.spending import spent_on_imitation

QUICK: dict[str, Any] = {
    "steps": 40, "horizon": "4", "horizon_every": None, "eval__every": 0, "eval__num_tasks": 4,
    "sft__max_steps": 20, "sft__demonstrations": 100, "sft__eval_every": 10,
    "rl__groups": 2, "rl__num_generations": 2,
}  # fmt: skip


def trained(out: Path, *budget: str, **changes: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Train under a budget; what imitation spent, and the records of reinforcement learning."""
    assert main(toy_runs.arguments(out, "--budget", *budget, **{**QUICK, **changes})) == 0
    return spent_on_imitation(RunFolder(out)), toy_runs.by_phase(out)["rl"]


@pytest.mark.slow
def test_sixty_demonstrations_of_ten_leave_four_hundred_episodes_of_a_thousand(tmp_path):
    """The split of arXiv 2510.01132, a tenth of it: 6 demonstrations and 40 episodes of 100."""
    spent, steps = trained(
        tmp_path / "run", "episodes=100", "demonstration=10", "imitation=0.6", sft__batch_size=3
    )
    assert spent.episodes == 60
    assert [record["episodes_total"] for record in steps] == [*range(4, 41, 4)]
    spent, steps = trained(
        tmp_path / "other", "episodes=100", "demonstration=10", "imitation=0.2", sft__batch_size=2
    )
    assert spent.episodes == 20 and steps[-1]["episodes_total"] == 80


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["turns", "tokens"])
def test_both_phases_spend_of_one_budget_also_after_a_kill(unit, tmp_path, monkeypatch):
    limit, share = {"turns": (400.0, 0.5), "tokens": (12_000.0, 0.25)}[unit]
    budget = [f"{unit}={limit:g}", f"imitation={share}"]
    spent, steps = trained(tmp_path / "run", *budget)

    def total(records: list[dict[str, Any]]) -> float:
        if unit == "turns":
            return spent.turns + records[-1]["turns_total"]
        return spent.tokens + sum(r["row_tokens"] for r in records) * (1 + GENERATION)

    assert getattr(spent, unit) > 0 and 1 < len(steps) < 40
    assert total(steps[:-1]) < limit <= total(steps)
    if unit == "turns":
        assert spent.turns <= limit / 2
        assert spent.turns > limit / 2 - 6
    else:
        # Asked at every gate, and over by at most what is imitated between two.
        assert spent.tokens >= limit * share
        assert toy_runs.by_phase(tmp_path / "run")["sft"][-1]["step"] == 10

    folder = tmp_path / "again"
    settings = {**QUICK, "rl__save_every": 1}
    command = toy_runs.arguments(folder, "--budget", *budget, **settings)
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 2, patch)):
        main(command)
    assert main(["--resume", *command]) == 0
    assert toy_runs.by_phase(folder)["rl"] == steps


@pytest.mark.slow
def test_nothing_left_for_reinforcement_is_refused(tmp_path, capsys):
    flags = ["--budget", "episodes=50", "demonstration=1"]
    assert main(toy_runs.arguments(tmp_path / "run", *flags, **QUICK)) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "expected a --budget that imitation does not use up" in message
    assert "took" in message and "50 episodes" in message


def test_minutes_are_those_of_the_flag(tmp_path):
    config = toy_runs.config(tmp_path / "run", "--budget=minutes=3", minutes=None)
    assert resolve(config).config.minutes == 3
    with_flag = toy_runs.config(tmp_path / "run", "--budget=minutes=3", minutes=5)
    assert resolve(with_flag).config.minutes == 5


def test_a_budget_is_read_and_shares_are_those_that_it_says():
    assert parse_budget([]) == Budget()
    budget = parse_budget(["turns=2e4", "demonstration=0", "imitation=1"])
    assert (budget.turns, budget.demonstration, budget.share_of_time) == (20_000, 0, 1)
    assert Budget().share == 1 and Budget().share_of_time == 0.5 and math.isinf(Budget().tokens)


@pytest.mark.parametrize(
    "pairs",
    [["turns"], ["turns=x"], ["turns=0"], ["turns=nan"], ["turns=-1"], ["turns=1e999"],
     ["gold=3"], ["turns=1", "turns=2"], ["imitation=1.1"], ["imitation=0"],
     ["demonstration=-1"]],
)  # fmt: skip
def test_what_is_no_budget_is_refused_in_one_sentence(pairs, tmp_path):
    with pytest.raises(ConfigurationError, match="expected --budget as some of turns=NUMBER"):
        resolve(toy_runs.config(tmp_path / "run", "--budget", *pairs))
