"""The section ``--distill.*``: every flag is the part that it names, or is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.errors import ConfigurationError
from tests.trainers import toy_runs
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS
from trainers.config.preset_file import with_parts_of
from trainers.config.preset_values import values_of_preset
from trainers.config.resolve import ResolvedRun, resolve
from trainers.methods.distill.credit import ReverseKL

HOUSE, GRPO = PRESETS["turn-loo"], PRESETS["grpo"]
ALONE = PRESETS["on-policy-distillation"]
TAUGHT = Term(ReverseKL())


def resolved(*flags: str, preset: str = "on-policy-distillation", **changes: Any) -> ResolvedRun:
    """The run that a command line comes to."""
    return resolve(toy_runs.config(Path("unused"), *flags, preset=preset, **changes))


NAMED = "--distill.teacher=HuggingFaceTB/some-model"
WEIGHED = tuple(replace(term, weight=0.5) for term in HOUSE.terms)
KNOBS: dict[str, tuple[str, list[str], Preset]] = {
    "alone": (ALONE.name, [NAMED], ALONE),
    "weight": (
        ALONE.name, [NAMED, "--distill.weight=2"],
        replace(ALONE, terms=(replace(TAUGHT, weight=2.0),)),
    ),
    "reward": (
        ALONE.name, [NAMED, "--distill.reward-weight=0.5"], replace(ALONE, terms=(*WEIGHED, TAUGHT))
    ),
    "privileged": (
        ALONE.name, [NAMED, "--distill.privileged=plan"],
        replace(ALONE, terms=(Term(ReverseKL("plan")),)),
    ),
    "added": ("turn-loo", [NAMED], replace(HOUSE, terms=(*HOUSE.terms, TAUGHT), filters=())),
    "added from a server": (
        "turn-loo", ["--distill.url=http://localhost:1"],
        replace(HOUSE, terms=(*HOUSE.terms, TAUGHT), filters=()),
    ),
    "added with a weight": (
        "grpo", [NAMED, "--distill.weight=0.1", "--distill.reward-weight=3"],
        replace(GRPO, terms=(replace(GRPO.terms[0], weight=3.0), replace(TAUGHT, weight=0.1))),
    ),
    "instead of the reward": (
        "grpo", [NAMED, "--distill.reward-weight=0"], replace(GRPO, terms=(TAUGHT,))
    ),
    "with the filters of a flag": (
        "dapo", [NAMED, "--rl.filters=zero-variance"],
        replace(PRESETS["dapo"], terms=(*PRESETS["dapo"].terms, TAUGHT)),
    ),
    "left out": ("grpo", ["--distill.weight=0"], GRPO),
}  # fmt: skip


@pytest.mark.parametrize("knob", KNOBS)
def test_a_flag_is_the_part_that_it_names(knob):
    name, flags, preset = KNOBS[knob]
    resolved_preset = resolved(*flags, preset=name).preset
    assert {**resolved_preset.described(), "loss": 0} == {**preset.described(), "loss": 0}


def test_the_policy_itself_teaches_where_it_reads_more():
    run = resolved(preset="self-distillation")
    assert run.config.distill.teacher == "start" and run.sources["distill.teacher"] == "preset"
    overridden = resolved("--distill.teacher=current", preset="self-distillation")
    assert overridden.config.distill.teacher == "current"
    assert resolved("--distill.privileged=plan", preset="grpo").config.distill.teacher == "start"
    assert resolved(preset="grpo").config.distill.teacher is None


def test_what_flags_set_is_read_off_the_preset_again():
    run = resolved(NAMED, "--distill.weight=0.25", "--distill.privileged=plan")
    assert values_of_preset(run.preset)["distill"] == {"weight": 0.25, "privileged": "plan"}
    assert "distill" not in values_of_preset(GRPO)


def test_its_parts_are_read_from_a_file(tmp_path):
    file = tmp_path / "mine.yaml"
    parts = PRESETS["self-distillation"].described()
    assert parts["terms"][0]["signal"] == {
        "part": "ReverseKL", "privileged": "plan", "name": "logp_teacher",
    }  # fmt: skip
    file.write_text(yaml.safe_dump(parts))
    assert with_parts_of(GRPO, file).terms == (Term(ReverseKL("plan")),)


@pytest.mark.parametrize(
    ("flags", "preset", "sentence"),
    [
        ([], ALONE.name, "'on-policy-distillation' needs teacher (a teacher of its tokens"),
        ([NAMED, "--distill.url=http://a:1"], ALONE.name, "because there is one teacher, got both"),
        (["--distill.weight=0"], ALONE.name, "because nothing else would be learned from, got 0"),
        (["--distill.reward-weight=1"], "grpo", "expected --distill.reward-weight with a preset"),
        (["--distill.privileged=none"], "grpo", "because nothing of 'grpo' reads it"),
        ([NAMED, "--distill.weight=0"], "grpo", "expected --distill.teacher with a preset that"),
        (["--distill.teacher=start"], ALONE.name, "would be its own teacher and learn nothing"),
        ([NAMED], "archer", "its rows are actions scored by a critic, not whole episodes"),
        ([NAMED], "dpo", "its credit is a preference between two episodes"),
        (
            ["--distill.url=http://a:1", "--temperature=0.7"],
            ALONE.name, "expected --temperature 1 with --distill.url",
        ),
        (["--distill.weight=-1"], "grpo", "expected --distill.weight to be at least 0, got -1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(flags, preset, sentence):
    with pytest.raises(ConfigurationError) as refused:
        resolved(*flags, preset=preset)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_a_plan_wants_an_environment_with_an_expert():
    with pytest.raises(ConfigurationError, match=r"expected --distill.privileged none, because "):
        resolved(preset="self-distillation", env=toy_runs.NO_EXPERT_ID, sft__max_steps=0)
