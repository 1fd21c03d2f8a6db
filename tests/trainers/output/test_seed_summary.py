"""Figures over seeds, with numbers worked by hand."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from trainers.output.page_templates import render
from trainers.output.roles import field_of
from trainers.output.seed_report import seeds_table
from trainers.output.seed_summary import (
    comparisons,
    seeds_headline,
    seeds_sentences,
    seeds_summary,
    spread,
)

T_2 = 4.302652729911275
"""0.975 quantile of Student's t with two degrees of freedom."""


def difference(success: float) -> dict[str, Any]:
    interval = [success - 0.01, success + 0.01]
    return {
        "n": 500, "success_mean": success, "success_ci95": interval, "score_mean": success / 2,
        "score_ci95": interval,
    }  # fmt: skip


def arm(success: float) -> dict[str, Any]:
    return {
        "n": 500, "success": success, "success_ci95": [0.0, 1.0], "score_mean": success,
        "score_ci95": [0.0, 1.0], "turns_mean": 4.0,
    }  # fmt: skip


def run(seed: int, start: float, **baselines: float) -> dict[str, Any]:
    """A run whose trained policy is ahead of its start, and of each baseline, by so much."""
    gains = {"warm-start": start, **baselines}
    names = {
        "random": "random",
        "warm-start": "warm-start",
        "trained": "trained",
        **{r: r for r in baselines},
    }
    return {
        "seed": seed, "env": "toy", "preset": "grpo", "names": names, "packages": {},
        "evaluation": {"split": "test", "decoding": "sampled", "panel_sha256": "0"},
        "eval": {"random": arm(0.1), "warm-start": arm(0.5), "trained": arm(0.5 + start)},
        "paired": {f"trained_minus_{field_of(n)}": difference(gain) for n, gain in gains.items()},
        "steps": 9, "chosen": {"step": 9}, "wall_s": 1.0, "cpu_s": 1.0,
        "commit": "c", "untrained": False, "verdict": "", "remarks": [], "warm_start": None,
    }  # fmt: skip


def headline(*gains: dict[str, float]) -> tuple[str, str]:
    summary = seeds_summary([run(seed, **gain) for seed, gain in enumerate(gains)])
    return summary["headline"]["tone"], summary["headline"]["text"]


def test_an_interval_over_seeds_is_students() -> None:
    estimate = spread([0.072, 0.194, 0.074])
    mean, std = 0.34 / 3, 0.06987
    assert estimate["mean"] == pytest.approx(mean) and estimate["std"] == pytest.approx(
        std, rel=1e-3
    )
    half = T_2 * std / 3**0.5
    assert estimate["ci95"] == pytest.approx([mean - half, mean + half], rel=1e-3)
    assert estimate["ci95"][0] < 0, (
        "three paired intervals above zero are no such interval over seeds"
    )
    assert spread([0.9, 1.0, 1.0], (0.0, 1.0))["ci95"][1] == 1.0
    assert spread([0.5]) == {"mean": 0.5, "std": None, "ci95": None, "values": [0.5]}


def test_two_seeds_or_equal_ones_have_no_interval_over_trainings() -> None:
    for values in ([0.1, 0.3], [0.1, 0.1, 0.1], [0.0] * 5, [1 / 3, 1 / 3 + 1e-17, 1 / 3]):
        estimate = spread(values)
        assert estimate["ci95"] is None and estimate["std"] is not None
    summary = seeds_summary([run(0, 0.2), run(1, 0.3)])
    assert summary["interval"] == "none over 2 seeds: it takes at least 3"
    assert summary["headline"] == {
        "tone": "flat",
        "text": "Not decided, as an interval over trainings takes at least 3 seeds: +0.125 in "
        "score, +0.250 in success",
    }
    (sentence,) = seeds_sentences(summary)
    assert sentence.startswith("Trained minus warm-start is +0.250 in success and +0.125 in score,")
    assert "over 2 seeds: an interval over trainings takes at least 3 seeds." in sentence
    assert "+0.200 (+0.190 to +0.210), +0.300 (+0.290 to +0.310) in success." in sentence
    equal = seeds_summary([run(seed, 0.2) for seed in range(4)])
    assert equal["headline"]["tone"] == "flat"
    assert "equal values in every seed give no interval" in next(seeds_sentences(equal))


def test_seeds_without_an_interval_have_a_table_and_a_page(tmp_path: Path) -> None:
    result = seeds_summary([run(0, 0.2), run(1, 0.3)])
    text = io.StringIO()
    Console(file=text, width=100).print(seeds_table(result))
    assert "0.750" in text.getvalue() and " - " in text.getvalue()
    assert "none over 2 seeds" in text.getvalue()
    page = render(
        "seed_report.html.j2", folder=tmp_path, summary=result, comparisons=comparisons,
        differences=[("success", 0.25, None), ("score", 0.1, [0.05, 0.2])],
        compared=[SimpleNamespace(name="", results=result, panels={}, keys=[])],
    )  # fmt: skip
    assert "no interval over trainings" in page and "+0.250" in page and "+0.050 to" in page


def test_what_no_seed_changes_keeps_its_interval_over_tasks() -> None:
    summary = seeds_summary([run(0, 0.2), run(1, 0.3)])
    assert summary["eval"]["random"]["success"] == {"mean": 0.1, "ci95": [0.0, 1.0]}
    assert summary["eval"]["trained"]["success"]["values"] == [0.7, 0.8]
    assert summary["paired"]["trained_minus_warm_start"]["success"]["paired"][1] == [0.29, 0.31]


def test_a_baseline_that_one_seed_lacks_is_left_out() -> None:
    summary = seeds_summary([run(0, 0.2, bc=0.1), run(1, 0.3)])
    assert list(summary["paired"]) == ["trained_minus_warm_start"]


def test_the_headline_is_green_only_where_the_strongest_baseline_is_beaten() -> None:
    steady = [{"start": 0.3 + more, "bc": 0.2 + more} for more in (0.0, 0.01, 0.02)]
    assert headline(*steady)[0] == "up"

    def with_successes(*gains: float) -> tuple[str, str]:
        return headline(
            *({**gain, "filtered-bc": g} for gain, g in zip(steady, gains, strict=True))
        )

    tone, text = with_successes(0.02, 0.2, -0.1)
    assert tone == "flat" and "filtered-bc" in text
    assert with_successes(-0.1, -0.11, -0.12)[0] == "down"
    assert headline({"start": 0.3}, {"start": 0.31}, {"start": 0.32})[0] == "up"
    assert headline({"start": 0.3}, {"start": -0.2}, {"start": 0.1})[0] == "flat"
    assert headline({"start": -0.3}, {"start": -0.31}, {"start": -0.32})[0] == "down"
    broken = seeds_summary([run(0, 0.2), {**run(1, 0.3), "untrained": True}])
    assert seeds_headline(broken).tone == "down"


def test_the_headline_has_the_rules_of_a_single_run() -> None:
    won = [run(seed, 0.3 + seed / 100, bc=0.2 + seed / 100) for seed in range(3)]
    assert seeds_summary(won)["headline"]["tone"] == "up"
    short_heading = seeds_summary([*won[:2], {**won[2], "steps": 5}])["headline"]
    assert short_heading["tone"] == "flat" and "(5)" in short_heading["text"]
    alone = [{**run(seed, 0.3 + seed / 100), "warm_start": {"steps": 9}} for seed in range(3)]
    heading = seeds_summary(alone)["headline"]
    assert heading["tone"] == "flat" and "not compared with a baseline" in heading["text"]
    greedy = {**won[0]["eval"], **won[0]["paired"], "trained_minus_bc": difference(-0.2)}
    heading = seeds_summary([{**seed_run, "greedy": greedy} for seed_run in won])["headline"]
    assert heading["tone"] == "flat" and "with greedy actions" in heading["text"]


def test_the_headline_looks_at_score_and_success() -> None:
    runs = [run(seed, 0.3 + seed / 100) for seed in range(3)]
    for seed, seed_run in enumerate(runs):
        seed_run["paired"]["trained_minus_warm_start"]["score_mean"] = -0.1 - seed / 100
    heading = seeds_summary(runs)["headline"]
    assert heading["tone"] == "flat" and heading["text"].startswith("Mixed: -0.110")
    level = [run(seed, gain) for seed, gain in enumerate((0.2, 0.01, -0.15))]
    for seed, seed_run in enumerate(level):
        seed_run["paired"]["trained_minus_warm_start"]["score_mean"] = 0.1 + seed / 100
    heading = seeds_summary(level)["headline"]
    assert heading["text"] == "It learned: +0.110 (+0.085 to +0.135) in score, over 3 seeds"


def test_a_baseline_whose_name_has_a_hyphen_is_found() -> None:
    name = "expert-iteration"
    runs = [{**run(n, 0.2, expert_iteration=0.1)} for n in (0, 1)]
    for seed_run in runs:
        seed_run["names"] = {**seed_run["names"], name: name}
        seed_run["names"].pop("expert_iteration")
    assert "minus expert-iteration" in list(seeds_sentences(seeds_summary(runs)))[1]


def test_every_comparison_is_said() -> None:
    runs = [run(seed, 0.2, bc=0.1 + seed / 100) for seed in range(3)]
    sentences = list(seeds_sentences(seeds_summary(runs)))
    assert len(sentences) == 2 and sentences[1].startswith("Trained minus bc is +0.110 (+0.085 to ")


def test_each_of_several_environments_is_compared_over_the_seeds() -> None:
    runs = [run(seed, gain) for seed, gain in enumerate((0.2, 0.3))]
    for seed_run in runs:
        seed_run["families"] = {"shop": {**seed_run}, "maze": {**seed_run}}
    summary = seeds_summary(runs)
    assert list(summary["families"]) == ["shop", "maze"]
    assert summary["families"]["maze"]["eval"]["trained"]["success"]["values"] == [0.7, 0.8]
