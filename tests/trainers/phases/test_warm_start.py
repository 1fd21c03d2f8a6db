from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from agentgym.errors import ConfigurationError, DependencyNotInstalled
from tests.toy import ToyEnv
from tests.trainers import toy_runs
from tests.trainers.toy_runs import equal
from trainers.config.resolve import ResolvedRun, resolve
from trainers.config.resolved_env import ResolvedEnv
from trainers.models.loaded_policy import build_tiny
from trainers.output.display import Display
from trainers.output.run_checkpoints import FINISHED
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.demonstrators import (
    WORDS_OF_A_SLOW_ONE,
    Demonstrator,
    demonstrated_rows,
    demonstration_tasks,
)
from trainers.phases.warm_start import ValidationGate, warm_start

QUICK = {"sft__max_steps": 20, "sft__eval_every": 10}
THREADS: dict[str, Any] = {"backend": "thread", "workers": 4}


@pytest.fixture(autouse=True, scope="module")
def words() -> None:
    """What shows words is played anew here."""


def started(path: Path, *flags: str, **changes: Any) -> tuple[ResolvedRun, RunFolder]:
    config = toy_runs.config(path, *flags, **{**QUICK, **changes})
    return resolve(config), RunFolder.open(path, config)


def warmed(path: Path, *flags: str, **changes: Any) -> Any:
    plan, folder = started(path, *flags, **changes)
    return warm_start(plan, folder, Display(quiet=True))


def weights(policy: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in policy.model.state_dict().items()}


def demonstrated(plan: ResolvedRun) -> list[dict[str, Any]]:
    return demonstration_tasks(plan, plan.envs[0])[0]


def test_demonstrations_are_distinct_training_tasks_chosen_by_the_seed(tmp_path):
    plan, _ = started(tmp_path / "a")
    env = plan.envs[0].make_env()
    tasks = demonstrated(plan)
    indices = [options["index"] for options in tasks]
    assert len(set(indices)) == len(indices) == 64
    assert {options["split"] for options in tasks} == {"train"}
    assert demonstrated(plan) == tasks
    assert demonstrated(started(tmp_path / "b", seed=1)[0]) != tasks
    everything = demonstrated(started(tmp_path / "c", sft__demonstrations=5000)[0])
    assert len(everything) == env.tasks.len("train")


def test_the_vocabulary_is_that_of_the_experts_episodes(tmp_path):
    policy = warmed(tmp_path / "run", sft__max_steps=0)
    vocabulary = policy.chat.tokenizer.get_vocab()
    for word in ("press", "red", "then", "next", "door", "click", "."):
        assert word in vocabulary


def test_every_demonstration_is_played_once(tmp_path, monkeypatch):
    """The words of the vocabulary and the rows of the imitation come from the same episodes."""
    plan, folder = started(tmp_path / "run", sft__max_steps=1, sft__copy_steps=0)
    started_runs: list[str] = []
    start = ToyEnv._start

    def counting(self: ToyEnv, task: Any, rng: Any) -> str:
        if task.split == "train":
            started_runs.append(task.id)
        return start(self, task, rng)

    monkeypatch.setattr(ToyEnv, "_start", counting)
    warm_start(plan, folder, Display(quiet=True))
    env = plan.envs[0].make_env()
    tasks = demonstrated(plan)
    ids = [env.tasks.task("train", task["index"]).id for task in tasks]
    assert started_runs[: len(ids)] == ids
    # What shows words only is played at random: every other training task, as there are a thousand.
    assert set(ids).isdisjoint(started_runs[len(ids) :]) and len(started_runs) == env.tasks.len(
        "train"
    )


class Watched(Display):
    """Notes what a person would see."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.events: list[tuple[str, int]] = []

    def phase(self, name: str, total: int, step: int = 0, unit: str = "steps") -> None:
        self.events.append((name, total))

    def update(self, step: int, **values: Any) -> None:
        self.events.append(("update", step))


@pytest.fixture
def started_tasks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Training tasks that were begun, in an environment that counts as slow."""
    tasks: list[int] = []
    start = ToyEnv._start

    def counting(self: ToyEnv, task: Any, rng: Any) -> str:
        if task.split == "train":
            tasks.append(task.index)
        return start(self, task, rng)

    monkeypatch.setattr(ToyEnv, "_start", counting)
    monkeypatch.setattr(ResolvedEnv, "backend", "thread")
    return tasks


def test_a_slow_environment_is_played_a_few_dozen_times_for_its_words(tmp_path, started_tasks):
    plan, folder = started(tmp_path / "run", sft__max_steps=0, **THREADS)
    started_tasks.clear()
    warm_start(plan, folder, display := Watched())
    assert sorted(started_tasks) == sorted(
        o["index"] for o in demonstrated(plan)[:WORDS_OF_A_SLOW_ONE]
    )
    assert display.events[0] == ("demonstrations", WORDS_OF_A_SLOW_ONE)
    assert [step for name, step in display.events if name == "update"] == [*range(1, 49)]


def test_episodes_without_use_for_imitation_or_vocabulary_are_not_played(tmp_path, started_tasks):
    tiny = build_tiny(resolve(toy_runs.config(tmp_path, **QUICK)), ["press red gold blue"])
    tiny.save(tmp_path / "model")
    settings = {"model": tmp_path / "model", "sft__max_steps": 0, **THREADS}
    plan, folder = started(tmp_path / "run", **settings)
    started_tasks.clear()
    warm_start(plan, folder, display := Watched())
    assert len(started_tasks) == 1, "only its opening is looked at"
    assert not display.events


def test_demonstrations_are_shown_as_they_are_watched_and_are_the_same_in_parallel(
    tmp_path, started_tasks
):
    encoded = []
    for workers in (1, 5):
        changes = {"sft__max_steps": 1, "sft__copy_steps": 0, **THREADS}
        changes["workers"] = workers
        plan, folder = started(tmp_path / str(workers), **changes)
        policy = warm_start(plan, folder, display := Watched())
        updates = [("update", n) for n in range(1, 65)]
        assert display.events[:65] == [("demonstrations", 64), *updates]
        player = Demonstrator(plan, plan.envs[0])
        rows = demonstrated_rows(plan, policy, {"toy": player})
        player.close()
        encoded.append([(row.ids, row.mask) for row in rows])
    assert encoded[0] == encoded[1]


def test_words_that_no_demonstration_shows_are_known(tmp_path):
    """The text of an environment costs no expert."""
    settings = {"sft__max_steps": 1, "sft__copy_steps": 0}
    from_one = warmed(tmp_path / "few", sft__demonstrations=1, **settings)
    from_many = warmed(tmp_path / "many", sft__demonstrations=64, **settings)
    assert set(from_one.chat.tokenizer.get_vocab()) == set(from_many.chat.tokenizer.get_vocab())


@pytest.mark.slow
def test_the_warm_start_imitates_and_is_kept_as_a_model(tmp_path):
    policy = warmed(tmp_path / "run")
    records = [r for r in toy_runs.metrics(tmp_path / "run") if "loss" in r]
    assert records[-1]["loss"] < records[0]["loss"]
    finished = tmp_path / "run" / "checkpoints" / FINISHED
    assert (finished / COMPLETE).exists()
    assert policy.model.name_or_path == str(finished)
    assert not list(finished.parent.glob("sft-*")), "its checkpoints are not needed any more"
    assert not policy.model.training


@pytest.mark.slow
def test_a_finished_warm_start_is_not_repeated(tmp_path, monkeypatch):
    first = weights(warmed(tmp_path / "run"))
    monkeypatch.setattr("trainers.phases.warm_start._fresh", lambda *_: pytest.fail("began anew"))
    assert equal(weights(warmed(tmp_path / "run", "--resume")), first)


@pytest.mark.slow
def test_without_steps_the_policy_is_fresh(tmp_path):
    untrained = weights(warmed(tmp_path / "a", sft__max_steps=0))
    assert equal(untrained, weights(warmed(tmp_path / "b", sft__max_steps=0, sft__copy_steps=50)))
    assert not equal(untrained, weights(warmed(tmp_path / "c", sft__max_steps=0, seed=1)))


@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "steps"), [(0.0, 10), (1.0, 20)])
def test_the_gate_decides_when_it_ends(tmp_path, threshold, steps):
    warmed(tmp_path / "run", sft__target_success=threshold)
    note = RunFolder(tmp_path / "run").state()["sft"]
    assert (note["steps"], note["gated"]) == (steps, threshold == 0.0)
    records = toy_runs.metrics(tmp_path / "run")
    assert [r["step"] for r in records if "success" in r] == [*range(10, steps + 1, 10)]


@pytest.mark.slow
def test_success_is_shown_once_it_was_measured(tmp_path, monkeypatch):
    successes = {}
    monkeypatch.setattr(
        Display,
        "update",
        lambda self, step, **values: successes.update({step: values.get("success")}),
    )
    warmed(tmp_path / "run", sft__target_success=1.0, sft__eval_every=20)
    (measured,) = [r for r in toy_runs.metrics(tmp_path / "run") if "success" in r]
    assert successes.pop(20) == measured["success"]
    assert successes and set(successes.values()) == {None}


@pytest.mark.slow
def test_a_gate_that_was_reached_is_reached_again_after_a_kill(tmp_path, monkeypatch):
    """The gate and a checkpoint fall on one step; the run dies between the two."""

    class Killed(BaseException):
        pass

    ask = ValidationGate.__call__

    def dying(self: ValidationGate, step: int) -> bool:
        ask(self, step)
        raise Killed

    changes = {"sft__target_success": 0.0, "sft__save_every": 10}
    with monkeypatch.context() as patch:
        patch.setattr(ValidationGate, "__call__", dying)
        with pytest.raises(Killed):
            warmed(tmp_path / "run", **changes)
    resumed = warmed(tmp_path / "run", "--resume", **changes)
    uninterrupted = warmed(tmp_path / "whole", **changes)
    notes = [RunFolder(tmp_path / name).state()["sft"] for name in ("run", "whole")]
    assert notes[0] == notes[1]
    assert equal(weights(resumed), weights(uninterrupted))


def test_demonstrations_that_failed_can_be_left_out(tmp_path):
    """Random actions solve a few of the easiest tasks."""
    settings = {"sft__demonstrator": "random", "sft__demonstrations": 400}
    counts = {}
    for only in (False, True):
        flags = ["--sft.only-successes"] if only else []
        plan, _ = started(tmp_path / str(only), *flags, **settings)
        policy = build_tiny(plan, ["red gold blue"])
        player = Demonstrator(plan, plan.envs[0])
        solved = [e.last["success"] for e in Demonstrator(plan, plan.envs[0]).demonstrations]
        counts[only] = len(demonstrated_rows(plan, policy, {"toy": player}))
        assert counts[only] == (sum(solved) if only else len(solved))
    assert 0 < counts[True] < counts[False]


def test_demonstrations_that_all_failed_are_said_to(tmp_path):
    settings = {"sft__demonstrator": "random", "sft__demonstrations": 1}
    plan, folder = started(tmp_path / "run", "--sft.only-successes", **settings)
    with pytest.raises(ConfigurationError, match="but none did within"):
        warm_start(plan, folder, Display(quiet=True))


@pytest.mark.slow
def test_the_gate_leaves_failed_episodes_out(tmp_path):
    plan, folder = started(tmp_path / "run", env=toy_runs.FLAKY_ID)
    policy = warm_start(plan, folder, Display(quiet=True))
    gate = ValidationGate(plan, folder, policy)
    episodes: list[Any] = []
    play = gate._player.play

    def win(*args: Any, **options: Any) -> list[Any]:
        episodes.extend(play(*args, **options))
        for trajectory in episodes:
            trajectory.success = trajectory.stop_reason != "error"
        return episodes

    gate._player.play = win  # type: ignore[method-assign]
    assert gate(1)
    gate.close()
    assert gate.success == 1.0
    assert any(trajectory.stop_reason == "error" for trajectory in episodes)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("vllm") is not None, reason="tests/trainers/vllm plays on it")
def test_the_gate_plays_on_the_engine_that_was_chosen(tmp_path):
    plan, folder = started(tmp_path / "run")
    policy = warm_start(plan, folder, Display(quiet=True))
    run = resolve(toy_runs.config(tmp_path / "run", engine="vllm", **QUICK))
    with pytest.raises(DependencyNotInstalled, match="vllm"):
        ValidationGate(run, folder, policy)
