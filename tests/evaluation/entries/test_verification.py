"""Entries of a leaderboard are recomputed: forged ones are refused, with the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.errors import DataError, PolicyFailure
from agentgym.evaluation.entries import (
    EntryRefused,
    entries_page,
    verify_entries,
    verify_entry,
)
from agentgym.evaluation.prices import Limits
from agentgym.registration import FAMILIES
from tests.evaluation.entries.forgeries import ENV, FORGERIES, Entry, Forgery
from tests.toy import TOY_ID


@pytest.fixture(scope="module")
def true_entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("entries") / "true"
    agentgym.evaluate("random", ENV, num_tasks=6, scale=True, out=folder)
    return folder


def test_a_true_entry_is_accepted_with_what_was_measured(true_entry: Path) -> None:
    report = agentgym.read_report(true_entry)
    entry = verify_entry(true_entry)
    assert entry.report.rows == report.rows and entry.report.scale == report.scale
    assert entry.report.headline_score == report.headline_score
    assert verify_entry(true_entry / "report.json").sha256 == entry.sha256


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family(tmp_path: Path, family: Any) -> None:
    agentgym.evaluate("oracle", family.name, num_tasks=2, samples=2, out=tmp_path / "e")
    entry = verify_entry(tmp_path / "e")
    assert entry.report.headline_score.value == 1.0 and entry.report.scale is not None
    assert entry.report.scale.expert == 1.0


@pytest.mark.slow
def test_processes_agree_with_one(true_entry: Path) -> None:
    assert verify_entry(true_entry, workers=2) == verify_entry(true_entry)


@pytest.mark.parametrize("forged", FORGERIES, ids=lambda forged: forged.name)
def test_a_forged_entry_is_refused_with_its_place(
    true_entry: Path, tmp_path: Path, forged: Forgery
) -> None:
    entry = Entry(true_entry)
    entry.write(tmp_path / "forged", forged.forge(entry))
    [verdict] = verify_entries([tmp_path / "forged"])
    assert verdict.entry is None
    assert verdict.place.startswith(forged.place) and bool(verdict.place) == bool(forged.place)
    assert forged.field in verdict.problem, verdict.problem


def test_a_copy_is_accepted_so_that_only_the_forgeries_are_refused(
    true_entry: Path, tmp_path: Path
) -> None:
    entry = Entry(true_entry)
    entry.refit()
    entry.write(tmp_path / "copy")
    assert verify_entry(tmp_path / "copy").report.rows
    assert len({forged.name for forged in FORGERIES}) >= 20


def test_samples_chosen_tasks_and_ends_from_outside(tmp_path: Path) -> None:
    ids = agentgym.make(TOY_ID).unwrapped.tasks.panel("test", 3, 1).ids  # type: ignore[attr-defined]
    agentgym.evaluate(
        "random", TOY_ID, tasks=ids, samples=2, horizon=5, end_after_invalid=1, out=tmp_path / "e"
    )
    entry = verify_entry(tmp_path / "e", env=TOY_ID)
    assert entry.chosen_tasks and len(entry.report.rows) == 6 and entry.report.horizon == 5


def test_broken_episodes_count_as_unsolved(tmp_path: Path) -> None:
    calls = iter(range(100))

    def policy(observation: str, info: dict[str, Any]) -> str:
        if next(calls) == 3:
            raise PolicyFailure("the endpoint is gone")
        return "press red"

    report = agentgym.evaluate(policy, TOY_ID, num_tasks=4, out=tmp_path / "e")
    entry = verify_entry(tmp_path / "e")
    assert report.errors == entry.report.errors == 1
    assert entry.to_dict()["score"]["value"] == report.score_lower_bound.value


def test_an_interrupted_evaluation_is_no_entry(tmp_path: Path) -> None:
    agentgym.evaluate(
        "random", TOY_ID, num_tasks=2, out=tmp_path / "e", total_limits=Limits(tokens=1)
    )
    (tmp_path / "e" / "report.json").unlink()
    with pytest.raises(DataError, match=r"without report\.json"):
        verify_entry(tmp_path / "e")


def test_the_command(true_entry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, forged = tmp_path / "page.html", Entry(true_entry)
    forged.report["policy"] = forged.head["settings"]["policy"] = "<script>alert(1)</script>"
    forged.write(tmp_path / "forged")
    command = ["leaderboard", "verify", str(true_entry), str(tmp_path / "forged")]
    assert main([*command, "--json", "--page", str(page)]) == 1
    true, false = json.loads(capsys.readouterr().out)
    assert true["verified"] and not false["verified"]
    assert false["place"].startswith("episode 1") and "policy" in false["problem"]
    text = page.read_text()
    assert 'class="yes"' in text and 'class="no"' in text and "<script" not in text
    assert main(["leaderboard", "verify", str(true_entry)]) == 0
    assert "verified: random, score" in " ".join(capsys.readouterr().out.split())


def test_the_error_names_place_and_field(true_entry: Path, tmp_path: Path) -> None:
    entry = Entry(true_entry)
    entry.episodes[1]["turns"][0]["after"]["observation"] = "nothing"
    entry.write(tmp_path / "forged")
    with pytest.raises(EntryRefused) as refused:
        verify_entry(tmp_path / "forged")
    assert refused.value.field == "observation"
    assert refused.value.place.startswith("episode 2") and "turn 1" in refused.value.place


def test_entries_that_were_played_otherwise_are_ranked_apart(tmp_path: Path) -> None:
    kwargs: list[dict[str, Any]] = [{}, {"horizon": 3}, {"grammar": "xml"}]
    for number, env_kwargs in enumerate(kwargs):
        agentgym.evaluate(
            "oracle", TOY_ID, num_tasks=2, env_kwargs=env_kwargs, out=tmp_path / str(number)
        )
    agentgym.evaluate("oracle", TOY_ID, num_tasks=2, horizon=4, out=tmp_path / "turns")
    agentgym.evaluate("random", TOY_ID, num_tasks=2, out=tmp_path / "same")
    verdicts = verify_entries(sorted(tmp_path.iterdir()))
    assert all(verdict.entry for verdict in verdicts)
    assert entries_page(verdicts).count("<table>") == 4
