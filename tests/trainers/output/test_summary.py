from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import DataError
from tests.trainers import toy_runs
from trainers.config.resolve import ResolvedRun, resolve
from trainers.output.phase import Phase
from trainers.output.remarks import (
    arm_names,
    base_model_remark,
    baseline_remarks,
    chosen_remark,
    cut_sentence,
    filter_remark,
    greedy_remark,
    horizon_remark,
    pooled_remark,
    random_remark,
    repeats_remark,
    steps_remark,
    target_remark,
    teacher_remark,
    untrained_verdict,
    verdict,
)
from trainers.output.roles import field_of
from trainers.output.summary import (
    BaselineEnd,
    ChosenPolicy,
    Difference,
    GreedyResults,
    Paired,
    Summary,
    WarmStart,
    imitation_losses,
    nothing_trained,
)

ARM = {
    "n": 10, "score_mean": 0.5, "score_ci95": [0.4, 0.6], "success": 0.3,
    "success_ci95": [0.1, 0.5], "turns_mean": 4.0, "scaled": 50.0,
}  # fmt: skip
PAIRED = {
    "n": 10, "score_mean": 0.2, "score_ci95": [0.1, 0.3],
    "success_mean": -0.1, "success_ci95": [-0.2, 0.0],
}  # fmt: skip
CONTENT = {
    "env": "agentgym/WebShop-v0",
    "preset": "turn-loo",
    "steps": 2,
    "horizon": {"rounds": [5, 8], "every": 1, "fit": True},
    "seed": 4,
    "wall_s": 90.0,
    "cpu_s": 60.0,
    "eval": {"random": ARM, "warm-start": ARM, "trained": ARM},
    "paired": {"trained_minus_warm_start": PAIRED},
    "evaluation": {"split": "test", "panel_sha256": "feed", "decoding": "sampled", "horizon": 8},
    "chosen": {"checkpoint": "best", "step": 1, "valid_success": 0.4, "valid_score": 0.5},
    "health": [],
}
"""What every run writes."""


@pytest.mark.slow
def test_the_file_of_a_run_is_read_whole(finished):
    content = json.loads((finished / "summary.json").read_text())
    summary = Summary.from_dict(content)
    assert summary.to_dict() == content
    assert summary.greedy is not None
    assert summary.warm_start is not None
    assert summary.eval["trained"].score_ci95 == tuple(content["eval"]["trained"]["score_ci95"])


def test_what_a_later_version_adds_is_passed_over():
    summary = Summary.from_dict({**CONTENT, "of a later version": 1})
    assert (summary.greedy, summary.warm_start, summary.remarks) == (None, None, ())
    assert summary.names["trained"] == "trained"
    document = summary.to_dict()
    arms = ("bc", "filtered-bc", "expert-iteration", "base-model", "demonstrator")
    differences = dict.fromkeys(f"trained_minus_{field_of(arm)}" for arm in arms)
    first = {**CONTENT, "paired": {**CONTENT["paired"], **differences}}
    assert first.items() <= document.items()
    assert "greedy" not in document


def test_every_difference_is_read_again():
    baselines = ("bc", "filtered-bc", "expert-iteration")
    paired = {
        f"trained_minus_{field_of(arm)}": PAIRED
        for arm in ("warm-start", *baselines, "base-model", "demonstrator")
    }
    arms = {field_of(arm): ARM for arm in ("warm-start", *baselines, "trained")}
    greedy = {
        **arms,
        **{f"trained_minus_{field_of(arm)}": PAIRED for arm in ("warm-start", *baselines)},
    }
    ends = {"expert-iteration": {"steps": 300, "chosen": 120, "valid_success": 0.5}}
    parts = {
        "paired": paired,
        "greedy": greedy,
        "baselines": ends,
        "strongest_baseline": "expert-iteration",
    }
    summary = Summary.from_dict({**CONTENT, **parts})
    document = summary.to_dict()
    assert {name: document[name] for name in parts} == parts
    assert summary.against_strongest == summary.paired.trained_minus_expert_iteration is not None


@pytest.mark.parametrize("key", ["env", "eval", "paired", "evaluation", "chosen", "health"])
def test_a_file_of_something_else_is_refused(key):
    with pytest.raises(DataError, match=key):
        Summary.from_dict({name: part for name, part in CONTENT.items() if name != key})


def test_a_phase_is_written_as_a_word():
    assert f"{Phase.VALIDATION}.jsonl" == "valid.jsonl"
    assert json.dumps({"phase": Phase.WARM_START}) == '{"phase": "sft"}'


# -- in words --------------------------------------------------------------------------------------


def test_a_policy_that_is_worse_than_random_is_called_so():
    evaluations = Summary.from_dict(CONTENT).eval
    assert random_remark(evaluations) == ""
    worse = {**evaluations, "trained": replace(evaluations["trained"], score_mean=0.25)}
    assert random_remark(worse).endswith("below random actions: 0.250 against 0.500.")


def run(*flags: str, **changes: Any) -> ResolvedRun:
    return resolve(toy_runs.config(Path("unused"), *flags, **changes))


def test_a_run_without_a_trained_episode_has_trained_nothing():
    step = {"phase": "rl", "trained_fraction": 0.0}
    assert nothing_trained([step, step, {"phase": "valid"}]) and nothing_trained([])
    assert not nothing_trained([step, {**step, "trained_fraction": 0.1}])
    assert "in all 6 steps" in untrained_verdict(6)
    assert "no step was taken" in untrained_verdict(0)


def test_a_loss_with_greedy_actions_is_said():
    names = arm_names(run())
    worse = Difference(60, -0.1, (-0.2, -0.05), -0.1, (-0.2, -0.05))
    arm = Summary.from_dict(CONTENT).eval["trained"]
    fine = GreedyResults(arm, arm, paired(0.1, 0.2))
    assert greedy_remark(None, names) == greedy_remark(fine, names) == ""
    assert "worse than warm-start: -0.100" in greedy_remark(
        replace(fine, trained_minus_warm_start=worse), names
    )
    filtered = replace(fine, trained_minus_filtered_bc=worse)
    assert "worse than filtered-bc: -0.100" in greedy_remark(filtered, names)
    level = replace(fine, trained_minus_filtered_bc=replace(worse, score_ci95=(-0.2, 0.1)))
    assert "fewer tasks than filtered-bc, with level" in greedy_remark(level, names)
    lower = replace(fine, trained_minus_filtered_bc=replace(worse, success_ci95=(-0.2, 0.1)))
    assert "scores lower than filtered-bc, with no" in greedy_remark(lower, names)


def test_filtered_demonstrations_are_disclosed():
    assert filter_remark(run()) == ""
    assert "--sft.only-successes" in filter_remark(run("--sft.only-successes"))


def test_a_gate_on_the_tasks_that_choose_is_disclosed():
    policy = ChosenPolicy("best", 3, 0.5, 0.6)
    remark = chosen_remark(policy, 4, gated=True)
    assert "The same tasks decided when the warm start ended." in remark
    assert "warm start" not in chosen_remark(policy, 4)


MISSED = WarmStart(steps=60, gated=False, success=0.0)


def paired(low: float, high: float) -> Difference:
    return Difference(60, (low + high) / 2, (low, high), 0.1, (-0.1, 0.3))


@pytest.mark.parametrize(
    ("low", "high", "phrase"),
    [
        (0.01, 0.03, "raised the score"),
        (-0.03, -0.01, "lowered the score"),
        (-0.01, 0.03, "made no measurable difference"),
        (0.0, 0.0, "made no measurable difference"),
        (0.0, 0.1, "made no measurable difference"),
    ],
)
def test_the_verdict_is_that_of_the_interval(low, high, phrase):
    sentence = verdict(
        Paired(paired(low, high)), {"warm-start": "base-model", "trained": "trained"}
    )
    assert phrase in sentence
    assert "trained minus base-model" in sentence
    assert f"({low:+.3f} to {high:+.3f})" in sentence
    assert "60 held-out tasks" in sentence


def test_a_change_in_success_alone_is_said():
    difference = replace(paired(-0.01, 0.35), success_ci95=(0.03, 0.5))
    sentence = verdict(Paired(difference), {"warm-start": "untrained", "trained": "trained"})
    assert "raised the success, but made no measurable difference to the score" in sentence


@pytest.mark.parametrize(
    ("low", "high", "phrase"),
    [
        (
            0.02,
            0.1,
            "It solves more tasks than the strongest baseline, filtered-bc, with le",
        ),
        (-0.1, -0.02, "It solves fewer tasks than the strongest baseline, filtered-bc, wi"),
        (
            -0.1,
            0.1,
            "It does not differ measurably from the strongest baseline, filtered-bc",
        ),
    ],
)
def test_the_verdict_compares_with_the_strongest_baseline(low, high, phrase):
    against = replace(paired(0.0, 0.1), success_ci95=(low, high))
    names = arm_names(run())
    comparisons = Paired(paired(0.0, 0.1), paired(0.0, 0.3), against)
    sentence = verdict(comparisons, names, "filtered-bc")
    assert phrase in sentence and ": trained minus filtered-bc is" in sentence
    assert "trained minus bc is" in verdict(comparisons, names, "bc")
    assert "imitat" not in verdict(Paired(paired(0.0, 0.1)), names)


UP, DOWN, CHANCE = (0.02, 0.1), (-0.1, -0.02), (-0.1, 0.1)


@pytest.mark.parametrize(
    ("score", "success", "phrase"),
    [
        (UP, DOWN, "Reinforcement learning raised the score and lowered the success: "),
        (DOWN, UP, "Reinforcement learning lowered the score and raised the success: "),
        (UP, UP, "Reinforcement learning raised score and success: "),
        (DOWN, DOWN, "Reinforcement learning lowered score and success: "),
        (UP, CHANCE, "Reinforcement learning raised the score, but made no measurable difference "),
        (CHANCE, CHANCE, "Reinforcement learning made no measurable difference to score or succ"),
    ],
)
def test_the_verdict_names_both_directions_if_score_and_success_disagree(score, success, phrase):
    difference = replace(paired(*score), success_ci95=success)
    sentence = verdict(Paired(difference), {"warm-start": "warm-start", "trained": "trained"})
    assert sentence.startswith(phrase)


@pytest.mark.parametrize(
    ("score", "success", "phrase"),
    [
        (UP, UP, "It does better than the strongest baseline, bc"),
        (
            CHANCE,
            UP,
            "It solves more tasks than the strongest baseline, bc, with level scores",
        ),
        (DOWN, UP, "It solves more tasks than the strongest baseline, bc, at a lower score"),
        (
            UP,
            DOWN,
            "It solves fewer tasks than the strongest baseline, bc, at a higher score",
        ),
        (UP, CHANCE, "It scores higher than the strongest baseline, bc, with no"),
        (DOWN, CHANCE, "It scores lower than the strongest baseline, bc, with no"),
        (CHANCE, CHANCE, "It does not differ measurably from the strongest baseline, bc"),
    ],
)
def test_so_does_the_comparison_with_the_strongest_baseline(score, success, phrase):
    against = replace(paired(*score), success_ci95=success)
    comparisons = Paired(paired(0.0, 0.1), trained_minus_bc=against)
    sentence = verdict(comparisons, arm_names(run()), "bc")
    assert f" {phrase}" in sentence


def test_what_each_baseline_was_is_said():
    end, last = BaselineEnd(300, 120, 0.5), BaselineEnd(40, 40)
    ends, names = {"filtered-bc": end, "expert-iteration": last}, arm_names(run())
    filtered, iteration = baseline_remarks(ends, {}, names)
    assert filtered.startswith("filtered-bc: 300 steps from the warm start on the demo")
    assert "that solved their task, at least the compute of" in filtered and "step 120" in filtered
    assert "on its own solved episodes. The policy of step 40, the last, is compared." in iteration
    assert "by tokens" not in iteration + next(baseline_remarks(ends, {}, names, 300))
    assert [*baseline_remarks({}, {"bc": "so"}, names)] == ["bc was left out: so."]


def test_what_the_time_cut_is_said():
    assert cut_sentence({}, 800, 40) == ""
    sentence = cut_sentence({"sft": 50, "rl": 3}, 800, 40)
    assert (
        "ended the warm start after 50 of 800 steps and reinforcement learning after 3" in sentence
    )


def test_a_policy_that_outgrew_its_expert_is_said():
    above = replace(paired(0.0, 0.1), success_ci95=(0.01, 0.2))
    level = teacher_remark(above, "expert")
    assert "solves more tasks than the expert that it imitated, with level scores: tr" in level
    better = replace(above, score_ci95=(0.01, 0.2))
    assert "does better than the expert that it imitated: trained" in teacher_remark(
        better, "expert"
    )
    lower = replace(above, score_ci95=(-0.2, -0.01))
    assert "that it imitated, at a lower score: trained" in teacher_remark(lower, "expert")
    assert "imitated in toy, with" in teacher_remark(above, "expert", "toy")
    assert teacher_remark(above, "random") == ""
    assert teacher_remark(replace(above, success_ci95=(-0.1, 0.2)), "expert") == ""
    assert teacher_remark(None, "expert") == ""


def test_the_imitation_of_random_actions_is_said():
    env = replace(run().envs[0], demonstrator="random")
    assert "random actions for 60 steps, not an expert" in target_remark(MISSED, env)


def test_a_gate_that_was_missed_is_said():
    env = run().envs[0]
    assert "missed its target: validation success 0.000 after 60 steps" in target_remark(
        MISSED, env
    )
    assert "reached its target after 60 steps" in target_remark(replace(MISSED, gated=True), env)
    assert "missed its target in toy: validation" in target_remark(MISSED, env, several=True)


def test_a_loss_that_hardly_moved_names_the_rate():
    env, missed = run().envs[0], replace(MISSED, success=0.04)
    still = target_remark(missed, env, losses=(3.19, 3.22), rate=1e-5)
    assert "from 3.19 to 3.22: raise --sft.learning-rate, which was 1e-05" in still
    assert "max-steps" not in still
    fallen = target_remark(missed, env, losses=(2.06, 0.04), rate=5e-4)
    assert "--sft.max-steps" in fallen and "learning-rate" not in fallen
    half = target_remark(replace(MISSED, success=0.4), env, losses=(2.06, 0.04), rate=5e-4)
    assert half.endswith(f"the target is {env.target_success}."), "0.4 is not rare"


def test_losses_of_a_warm_start_are_its_first_and_last():
    records = [{"phase": "sft", "step": 0, "success": 0.0}]
    assert imitation_losses(records) is None
    for step, loss in ((10, 2.0), (20, 0.5), (30, 0.1)):
        records.append({"phase": "sft", "step": step, "loss": loss})
    assert imitation_losses([*records, {"phase": "rl", "loss": 9.0}]) == (2.0, 0.1)


def test_a_base_model_that_solves_nothing_names_the_warm_start():
    alone = run(model="x", sft__max_steps=0)
    assert "--sft.max-steps auto imitates" in base_model_remark(alone, 0.0)
    assert base_model_remark(alone, 0.1) == base_model_remark(run(model="x"), 0.0) == ""
    assert base_model_remark(run(sft__max_steps=0), 0.0) == "", "a tiny policy is from scratch"
    nobody = run(model="x", env=toy_runs.NO_EXPERT_ID, sft__max_steps=0)
    assert base_model_remark(nobody, 0.0) == "", "there is nobody to imitate"


def test_policies_that_often_repeat_themselves_are_named():
    names = {"base-model": "base-model", "warm-start": "warm-start", "trained": "trained"}
    shares = {"base-model": 0.72, "warm-start": 0.2, "trained": 0.1}
    assert repeats_remark(shares, names) == (
        "Turns that repeat an earlier invalid action: base-model 72%, warm-start 20%."
    )
    assert repeats_remark({"trained": 0.1}, names) == ""


def test_a_horizon_that_never_grew_is_said():
    env = replace(run().envs[0], rounds=(2, 5), horizon_every=3, horizon_gate=0.4)
    remark = horizon_remark(2, env)
    assert "ended at 2 of 5 turns" in remark and "success of 3 steps did not reach" in remark
    timed = horizon_remark(2, replace(env, horizon_gate=None), several=True)
    assert "in toy ended" in timed and "a stage takes 3 steps" in timed
    assert horizon_remark(5, env) == horizon_remark(None, env) == ""


def test_a_training_that_ended_early_is_said():
    assert "after 1 of 4 steps" in steps_remark(1, 4)
    assert steps_remark(4, 4) == ""


def test_only_what_was_imitated_is_a_warm_start():
    assert arm_names(run(model="x", sft__max_steps=0))["warm-start"] == "base-model"
    assert arm_names(run(sft__max_steps=0))["warm-start"] == "untrained"
    assert arm_names(run(model="x"))["warm-start"] == "warm-start"


def test_what_figures_of_several_environments_are_is_said():
    assert "(30 of webshop, 20 of search)" in pooled_remark({"webshop": 30, "search": 20})
    assert pooled_remark({"webshop": 30}) == ""
