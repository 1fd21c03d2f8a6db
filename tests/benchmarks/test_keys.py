from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies.runner.keys import runs_of, settle
from benchmarks.studies.runner.study import BEFORE, Arm
from tests.benchmarks.toy_study import FLAGS
from trainers.phases.multirun.cache import Keys


def keys(more: str = "", seed: int = 0) -> Keys:
    return settle((*FLAGS.split(), *more.split())).keys(seed)


def test_a_default_that_is_spelled_out_changes_nothing() -> None:
    defaults = "--temperature 1 --preset turn-loo --sft.batch-size 16 --rl.success-bonus 1"
    assert keys("--horizon 5") == keys(f"--horizon 5 {defaults}")
    assert keys("--horizon 5") == keys("--horizon 5 --env-kwargs horizon=5")


def test_what_changes_no_number_changes_no_key() -> None:
    assert keys("--horizon 5") == keys(
        "--horizon 5 --backend thread --memory.micro-tokens 99 --export merged --out here"
    )


def test_another_setting_is_another_run() -> None:
    changed = (
        "--horizon 4", "--horizon 5 --fit-horizon", "--horizon 5 --rl.learning-rate 0.1",
        "--horizon 5 --env-kwargs horizon=6", "--horizon 5 --preset grpo",
        "--horizon 5 --sft.learning-rate 0.1",
    )  # fmt: skip
    run_keys = [keys("--horizon 5"), keys("--horizon 5", seed=1), *map(keys, changed)]
    assert len({key.run for key in run_keys}) == len(run_keys)


def test_schedules_share_their_warm_start() -> None:
    same_key = (
        "--horizon 3", "--horizon 3,5 --horizon-every 2", "--horizon 3,5 --horizon-gate 0.5",
        "--horizon 3,5 --fit-horizon", "--horizon 5 --rl.learning-rate 0.1",
        "--horizon 5 --preset grpo",
    )  # fmt: skip
    assert {keys(flags).start for flags in same_key} == {keys("--horizon 5").start}


def test_warm_starts_that_differ_are_not_shared() -> None:
    other_key = (
        "--sft.learning-rate 0.1", "--sft.target-success 0.1", "--eval.num-tasks 19",
        "--tiny.hidden 32",
        "--eval.horizon 6", "--rl.groups 5", "--temperature 0.5",
    )  # fmt: skip
    run_keys = [keys("--horizon 5"), keys("--horizon 5", seed=1)]
    run_keys += [keys(f"--horizon 5 {flag}") for flag in other_key]
    assert len({key.start for key in run_keys}) == len(run_keys)


FIRST = Arm("first", tuple(FLAGS.split()))


def following(flags: str, first: Arm = FIRST) -> Arm:
    return Arm("later", (*FLAGS.split(), *flags.split()), after=first)


def key_of(arm: Arm, seed: int = 0, root: str = "runs") -> Keys:
    return runs_of([arm], [seed], Path(root))[0].keys


TAUGHT = f"--preset on-policy-distillation --distill.teacher {BEFORE}"


def test_a_run_that_comes_after_another_is_known_by_it_and_not_by_its_place() -> None:
    arm = following(TAUGHT)
    (run,) = runs_of([arm], [0], Path("here"))
    folder = f"here/{key_of(FIRST).run}"
    assert run.settings[-1] == folder and BEFORE in arm.settings
    assert key_of(arm, root="there") == run.keys
    other_arm = Arm("first", (*FIRST.settings, "--rl.learning-rate", "1"))
    different = [
        arm, following(f"{TAUGHT}/checkpoints/trained"), following(TAUGHT, other_arm),
        following(f"{TAUGHT} --rl.learning-rate 1"),
    ]  # fmt: skip
    keys_of_runs = [key_of(some) for some in different] + [key_of(arm, seed=1)]
    assert len({key.run for key in keys_of_runs}) == len(keys_of_runs)


@pytest.mark.slow
def test_a_teacher_matters_to_the_warm_start_where_the_policy_is_made_with_its_tokens(
    smollm2: str,
) -> None:
    assert key_of(following(TAUGHT)).start != key_of(FIRST).start
    pretrained = f"--env mathpython --model {smollm2} --quick --rl.num-generations 8"
    first = Arm("first", tuple(pretrained.split()))
    taught = Arm("taught", tuple(f"{pretrained} {TAUGHT}".split()), after=first)
    assert key_of(taught).start == key_of(first).start
    imitating = f"--model {BEFORE}/checkpoints/warm-start --sft.max-steps 40"
    arms = [
        Arm("next", (*first.settings[:2], *flags.split()), after=first)
        for flags in (imitating, imitating.replace("warm-start", "trained"))
    ]
    assert len({key_of(arm).start for arm in [first, *arms]}) == 3
