from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.config.resolve import ResolvedRun, resolve
from trainers.output.card import write_card
from trainers.output.headline import headline
from trainers.output.report import write_report
from trainers.output.roles import BASE_MODEL, ROLES
from trainers.output.run_folder import RunFolder
from trainers.output.summary import (
    ArmResult,
    ChosenPolicy,
    Difference,
    Evaluation,
    GreedyResults,
    Horizon,
    Paired,
    Summary,
    WarmStart,
)

ARM = ArmResult(10, 0.5, (0.4, 0.6), 0.3, (0.1, 0.5), 4.0, 50.0)
PAIRED = Difference(10, 0.2, (0.1, 0.3), -0.1, (-0.2, 0.0))
SUMMARY = Summary(
    env="agentgym/<Evil>-v0",
    preset="turn-loo",
    steps=2,
    seed=4,
    wall_s=90.0,
    cpu_s=60.0,
    chosen=ChosenPolicy("trained", 2),
    horizon=Horizon((5, 8), 1, True),
    verdict="It <went> well.",
    remarks=("The warm start missed its target.",),
    names={
        "random": "random",
        "warm-start": "base-model",
        "bc": "bc",
        "filtered-bc": "filtered-bc",
        "expert-iteration": "expert-iteration",
        "demonstrator": "demonstrator",
        "trained": "trained",
        "oracle": "oracle",
    },
    eval={arm: ARM for arm in ROLES if arm != BASE_MODEL},
    paired=Paired(PAIRED),
    greedy=GreedyResults(ARM, replace(ARM, score_mean=0.875), PAIRED),
    evaluation=Evaluation("test", "feed" * 16, "sampled", 8),
    packages={"agentgym-suite": "0.1", "torch": "2.13"},
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run_folder = RunFolder.open(tmp_path / "run", toy_runs.config(tmp_path / "run"))
    run_folder.trained.mkdir()
    return run_folder


def episode(action: str, step: int = 1, **changes: Any) -> dict:
    turn = {"action": action, "reward": 0.5, "after": {"observation": "<b>answer</b>"}}
    return {
        "task_id": "toy/<1>", "stop_reason": "success", "score": 1.0, "turns": [turn],
        "start": {"observation": "<img src=http://evil/>"}, "options": {"training_step": step},
        "details": {}, **changes,
    }  # fmt: skip


def write(path: Path, episodes: Iterable[dict]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in episodes))


def resolved(folder: RunFolder, **changes: Any) -> ResolvedRun:
    return resolve(toy_runs.config(folder.path, **changes))


def page(folder: RunFolder, *episodes: dict, **changes: Any) -> str:
    """The page; what is left of it when tags and line breaks are nothing but white space."""
    write(folder.episodes_path, episodes)
    return write_report(folder, resolved(folder), replace(SUMMARY, **changes)).read_text()


def words(text: str) -> str:
    """What a reader sees."""
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


def write_held_out(folder: RunFolder, before: list[float], after: list[float]) -> None:
    """Held-out episodes of these scores."""
    for arm, word, scores in (("warm-start", "before", before), ("trained", "after", after)):
        tasks = (
            episode(f"{word} {i}", task_id=f"toy/{i}", score=score)
            for i, score in enumerate(scores)
        )
        write(folder.eval_episodes(arm), tasks)


def test_what_models_and_environments_write_is_escaped(folder):
    action = '<script>alert("x")</script> & {braces} {{ braces }} </pre>'
    markup = page(folder, episode(action))
    assert "<script" not in markup
    assert action in words(markup)
    assert "<b>answer" not in markup
    assert "<img src=http" not in markup
    assert "toy/&lt;1&gt;" in markup
    assert "&lt;Evil&gt;" in markup
    assert "It &lt;went&gt; well." in markup


def test_the_first_line_begins_at_the_base_model(folder):
    arms = {"base-model": 0.0, "warm-start": 0.58, "trained": 0.9}
    summary = replace(
        SUMMARY,
        eval={arm: replace(ARM, success=arms.get(arm, 0.5)) for arm in ROLES},
        names={**SUMMARY.names, "base-model": "base-model", "warm-start": "warm-start"},
    )
    first = headline(summary).text
    assert first.endswith(" (base-model 0.00, warm-start 0.58, trained 0.90)")
    assert headline(SUMMARY).text == first.removesuffix(first[first.index(" (base-model") :])


def test_the_page_needs_nothing_else(folder):
    markup = page(folder)
    assert "http:" not in markup
    assert "https:" not in markup
    assert markup.count("<svg") == 2
    assert "<link" not in markup
    assert "<img" not in markup


@pytest.mark.parametrize(
    ("score", "success", "sentence", "tone"),
    [
        ((0.1, 0.3), (-0.2, 0.0), "It learned: +0.200 (+0.100 to +0.300) in score", "up"),
        ((-0.3, -0.1), (0.0, 0.2), "It got worse: +0.200 (-0.300 to -0.100) in score", "down"),
        ((-0.3, -0.1), (0.1, 0.2), "Mixed: +0.200 (-0.300 to -0.100) in score, -0.100", "flat"),
        ((-0.1, 0.3), (-0.2, 0.0), "No effect shown: +0.200 (-0.100 to +0.300) in score", "flat"),
        ((-0.1, 0.3), (0.1, 0.2), "It learned: -0.100 (+0.100 to +0.200) in success", "up"),
    ],
)
def test_the_page_begins_with_whether_it_learned(folder, score, success, sentence, tone):
    paired = replace(PAIRED, score_ci95=score, success_ci95=success)
    markup = page(folder, paired=Paired(paired), steps=20)
    assert sentence in words(markup)
    assert f'class="card verdict" style="--tone:var(--{tone})"' in markup


BETTER = Difference(10, 0.2, (0.1, 0.3), 0.2, (0.1, 0.3))
WORSE = Difference(10, -0.2, (-0.3, -0.1), -0.2, (-0.3, -0.1))
ALIKE = Difference(10, 0.0, (-0.1, 0.1), 0.0, (-0.1, 0.1))
HIGHER = replace(ALIKE, score_mean=0.2, score_ci95=(0.1, 0.3))
"""A higher score, and no measurable difference in success."""
LOWER = replace(ALIKE, score_mean=-0.2, score_ci95=(-0.3, -0.1))
UNLIKELY = GreedyResults(ARM, ARM, BETTER, bc=ARM, trained_minus_bc=WORSE)
"""Better with sampled actions than with the likeliest ones."""


@pytest.mark.parametrize(
    ("further", "changes", "sentence", "tone"),
    [
        (BETTER, {}, "It learned, and more than bc: +0.200", "up"),
        (WORSE, {}, "It improved, but bc did better: -0.200", "down"),
        (ALIKE, {}, "It improved, and so did bc: +0.000", "flat"),
        (HIGHER, {}, "It improved, and so did bc: +0.000", "flat"),
        (
            replace(BETTER, score_ci95=(-0.1, 0.1)),
            {},
            "It learned, and solves more tasks than bc, with level scores: +0.200",
            "up",
        ),
        (
            replace(BETTER, score_mean=-0.1, score_ci95=(-0.2, -0.05)),
            {},
            "It improved, and solves more tasks than bc, at a lower score: -0.100",
            "flat",
        ),
        (
            LOWER,
            {},
            "It improved, but bc did better: -0.200 (-0.300 to -0.100) in score",
            "down",
        ),
        (BETTER, {"greedy": UNLIKELY}, "but below it with greedy actions: -0.200", "flat"),
        (None, {"warm_start": WarmStart(9, True, 0.5)}, "not compared with a baseline", "flat"),
        (BETTER, {"steps": 5}, "Too few steps to tell (5): +0.200", "flat"),
        (BETTER, {"untrained": True}, "Nothing was trained: no weight was changed", "down"),
    ],
)
def test_the_page_is_green_only_if_the_strongest_policy_is_beaten(
    folder, further, changes, sentence, tone
):
    paired = Paired(BETTER, trained_minus_bc=further)
    strongest_baseline = "bc" if further else ""
    markup = page(
        folder,
        **{"paired": paired, "steps": 20, "strongest_baseline": strongest_baseline, **changes},
    )
    assert sentence in words(markup)
    assert f'class="card verdict" style="--tone:var(--{tone})"' in markup


def test_of_several_baselines_the_headline_speaks_of_the_strongest(folder):
    paired = Paired(BETTER, trained_minus_bc=BETTER, trained_minus_filtered_bc=WORSE)
    markup = page(folder, paired=paired, steps=20, strongest_baseline="filtered-bc")
    assert "It improved, but filtered-bc did better: -0.200" in words(markup)
    assert 'class="card verdict" style="--tone:var(--down)"' in markup
    assert "success, sampled, minus filtered-bc -0.200" in words(markup)


def test_the_page_says_the_result(folder):
    text = words(page(folder))
    for part in ("base-model", "trained", "oracle", "0.400 to 0.600", "missed its target", "50.0"):
        assert part in text
    assert "warm-start 0." not in text
    assert "num_generations: 4" in text


def test_the_page_says_whether_the_gate_was_reached(folder):
    missed = WarmStart(60, False, 0.125)
    assert "target of the warm start missed validation success 0.125, target" in words(
        page(folder, warm_start=missed)
    )
    assert "target of the warm start reached" in words(
        page(folder, warm_start=replace(missed, gated=True))
    )
    assert "began from base-model" in words(page(folder))


def test_the_page_says_what_greedy_actions_reach(folder):
    text = words(page(folder))
    assert "trained-greedy 0.875 0.400 to 0.600" in text
    assert "score, greedy, minus base-model +0.200 (+0.100 to +0.300)" in text
    assert "likeliest action in place" not in words(page(folder, greedy=None))


def test_the_page_says_how_the_run_came_about(folder):
    text = words(page(folder, commit="c0ffee"))
    for part in ("feed" * 16, "torch 2.13", "1.5 minutes", "checkpoints/trained", "c0ffee"):
        assert part in text


@pytest.mark.parametrize(
    ("horizon", "phrase"),
    [
        ("4", "turns of an episode 4, only tasks"),
        ("3,5", "turns of an episode 3, 5, each for 2 steps, only tasks"),
    ],
)
def test_the_page_and_the_card_say_how_the_horizon_grew(folder, horizon, phrase):
    run = resolved(folder, horizon=horizon)
    assert phrase in words(write_report(folder, run, SUMMARY).read_text())
    write_card(folder, run, SUMMARY)
    card = (folder.trained / "README.md").read_text()
    assert f"turns of an episode: {phrase.split('episode ')[1].split(', only')[0]}.\n" in card


def test_the_page_says_how_to_go_on(folder):
    text = words(page(folder))
    assert f"agentgym-train --resume --out {folder.path} " in text
    assert f"agentgym replay {folder.path}/eval_episodes/trained.jsonl" in text
    assert f"place = '{folder.trained}'" in text
    run = resolved(folder, env=f"tests.toy:{TOY_ID}")
    text = words(write_report(folder, run, SUMMARY).read_text())
    assert f"/eval_episodes/trained.jsonl --env tests.toy:{TOY_ID}" in text


def test_the_page_says_what_broke(folder):
    assert "Nothing: no episode was lost" in words(page(folder))
    rows = [{"score": 0.0, "success": False, "stop_reason": reason} for reason in ("", "error")]
    folder.log(phase="eval", arm="warm-start-greedy", rows=rows)
    text = words(page(folder))
    assert "1 held-out episode of base-model-greedy (unsolved): the environment failed" in text
    assert "Nothing:" not in text


def test_without_a_scale_its_column_is_empty(folder):
    arms = {arm: replace(ARM, scaled=None) for arm in ("random", "warm-start", "trained")}
    markup = page(folder, eval=arms, greedy=None)
    assert markup.count(">-</td>") == 3
    assert "oracle</td>" not in markup


def test_the_last_episodes_are_shown(folder):
    markup = page(folder, *(episode(f"press {i}", step=i) for i in range(1, 11)))
    assert "press 10 " in markup
    assert "step 5:" in markup
    assert "step 4:" not in markup


def test_held_out_tasks_are_shown_before_and_after(folder):
    write_held_out(folder, [1.0] * 5, [1.0] * 5)
    markup = page(folder)
    places = [markup.index(f"{word} {i} ") for i in range(3) for word in ("before", "after")]
    assert places == sorted(places)
    assert "before 3" not in markup
    assert "base-model: toy/0, success, score 1.00" in markup
    assert "0 rose, 0 fell, 5 stayed" in markup


def test_a_task_that_rose_and_one_that_fell_are_shown_too(folder):
    write_held_out(folder, [1, 1, 1, 1, 0.5, 1, 0, 0], [1, 1, 1, 1, 0.25, 0, 0.5, 1])
    markup = page(folder)
    assert "2 rose, 2 fell, 4 stayed" in markup
    assert [i for i in range(8) if f"before {i} " in markup] == [0, 1, 2, 4, 6]


def test_a_failed_episode_says_what_failed(folder):
    failed = episode("press red", stop_reason="error", turns=[], details={"error": "no <power>"})
    assert "no &lt;power&gt;" in page(folder, failed)


def test_a_page_without_episodes_is_fine(folder):
    assert "Last training episodes" in write_report(folder, resolved(folder), SUMMARY).read_text()


# -- the card of the model -------------------------------------------------------------------------


def card(folder: RunFolder, **changes: Any) -> str:
    write_card(folder, resolved(folder, **changes), SUMMARY)
    return (folder.trained / "README.md").read_text()


def code(text: str) -> str:
    match = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert match
    return match[1]


def test_the_card_states_model_data_and_result(folder):
    text = card(folder)
    for part in (
        TOY_ID, "`turn-loo`, 2 steps of 4 groups of 4 episodes",
        "turns of an episode: 3, 4, 5, each for 2 steps.", "4 episodes; seed 4",
        "It <went> well.", "| trained-greedy | 0.875 (0.400 to 0.600) |", "feed" * 16,
        "torch 2.13", "from scratch",
    ):  # fmt: skip
        assert part in text


@pytest.mark.slow
def test_the_code_of_the_card_plays_as_the_run_did(finished, tmp_path, monkeypatch):
    """Greedy actions leave nothing to chance, so they reach exactly what the run measured."""
    summary = Summary.from_dict(json.loads((finished / "summary.json").read_text()))
    monkeypatch.chdir(finished / "checkpoints" / "best")
    names: dict[str, Any] = {}
    exec(code(Path("README.md").read_text()), names)
    assert summary.greedy is not None
    report, expected = names["report"], summary.greedy.trained
    assert (report.n, report.score_mean, report.success, report.turns_mean) == (
        expected.n, expected.score_mean, expected.success, expected.turns_mean,
    )  # fmt: skip
    assert report.panel_sha256 == summary.evaluation.panel_sha256


def test_the_code_of_the_card_imports_an_environment_of_ones_own(folder):
    assert f"import tests.toy  # registers {TOY_ID}\n" in card(folder, env=f"tests.toy:{TOY_ID}")


def test_the_card_of_adapters_loads_them_and_begins_with_the_system_message(folder):
    (folder.trained / "adapter_config.json").touch()
    text = card(folder, model="some/chat-model")
    assert "LoRA adapters for the language model `some/chat-model`" in text
    assert "AutoPeftModelForCausalLM" in code(text)
    assert "You act in a text environment" in code(text)
    compile(code(text), "card", "exec")


def test_the_card_of_a_model_of_the_hub_names_its_base_in_the_metadata(folder):
    from huggingface_hub import ModelCard

    (folder.trained / "adapter_config.json").touch()
    data = ModelCard(card(folder, model="some/chat-model")).data
    assert (data.base_model, data.base_model_relation) == ("some/chat-model", "adapter")
    assert data.library_name == "peft"
    assert ModelCard(card(folder)).data.base_model is None, "a model from scratch has no base"


def test_the_card_says_which_step_its_weights_are_of(folder):
    best = ChosenPolicy("best", 1, 0.5, 0.75)
    (folder.best).mkdir()
    write_card(folder, resolved(folder), replace(SUMMARY, chosen=best))
    assert "- Weights: those after step 1." in (folder.best / "README.md").read_text()
    assert not (folder.trained / "README.md").exists(), "it was not the one that was compared"
    assert "Weights: those" not in card(folder)
    text = words(page(folder, chosen=best))
    assert f"place = '{folder.best}'" in text
