from __future__ import annotations

from benchmarks.studies.runner.keys import settle
from tests.benchmarks.toy_study import FLAGS
from trainers.multirun.cache import Keys


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
    same = (
        "--horizon 3", "--horizon 3,5 --horizon-every 2", "--horizon 3,5 --horizon-gate 0.5",
        "--horizon 3,5 --fit-horizon", "--horizon 5 --rl.learning-rate 0.1",
        "--horizon 5 --preset grpo",
    )  # fmt: skip
    assert {keys(flags).start for flags in same} == {keys("--horizon 5").start}


def test_warm_starts_that_differ_are_not_shared() -> None:
    other = (
        "--sft.learning-rate 0.1", "--sft.target-success 0.1", "--eval.num-tasks 19",
        "--tiny.hidden 32",
        "--eval.horizon 6", "--rl.groups 5", "--temperature 0.5",
    )  # fmt: skip
    run_keys = [keys("--horizon 5"), keys("--horizon 5", seed=1)]
    run_keys += [keys(f"--horizon 5 {flag}") for flag in other]
    assert len({key.start for key in run_keys}) == len(run_keys)
