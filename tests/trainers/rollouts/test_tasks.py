from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.core.tasks import Task, TaskList
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.registration.making import make_env
from tests.toy import ToyTasks
from trainers.algorithms.sampling import InformativeSampler
from trainers.algorithms.schedule import PerFamily, Stages
from trainers.rollouts.task_feed import MixedTasks, TrainingTasks, knows_oracle_lengths
from trainers.rollouts.trajectory import SampledTurn, Trajectory

TASKS = ToyTasks()


def ids(step: int = 1, count: int = 8, horizon: int = 5, **changes) -> list[str]:
    options = {"tasks": TASKS, "split": "train", "seed": 0, "fit": True, **changes}
    return [reset["task_id"] for reset in TrainingTasks(**options)(step, count, horizon)]


def test_tasks_depend_on_seed_and_step_and_nothing_else():
    feed = TrainingTasks(TASKS, "train", 0, True)
    first = feed(7, 8, 5)
    feed(8, 3, 2)
    assert feed(7, 8, 5) == first == TrainingTasks(ToyTasks(), "train", 0, True)(7, 8, 5)
    assert ids(step=7) != ids(step=8)
    assert ids(step=7) != ids(step=7, seed=1)


def test_the_global_generator_is_neither_read_nor_moved():
    np.random.seed(1)
    generator_before = np.random.get_state()[1].tolist()
    first = ids()
    assert np.random.get_state()[1].tolist() == generator_before
    np.random.seed(2)
    assert ids() == first


@pytest.mark.parametrize("step", range(1, 20))
def test_tasks_of_a_step_are_distinct_and_of_the_split(step):
    drawn = ids(step=step, count=16, split="valid", fit=False)
    assert len(set(drawn)) == 16
    assert {TASKS.find(task_id).split for task_id in drawn} == {"valid"}


@pytest.mark.parametrize("horizon", [2, 3, 4, 5])
def test_fit_draws_only_what_the_expert_solves_in_time(horizon):
    needed = [TASKS.oracle_turns(TASKS.find(task_id)) for task_id in ids(horizon=horizon)]
    assert max(needed) <= horizon


def test_fit_is_about_the_demonstrator_that_was_chosen():
    """Who has to search needs more turns than who knows where everything is."""
    env = make_env(
        "agentgym/ALFWorld-v0", {"difficulty": "easy", "expert": "searching"}, "--env-kwargs"
    )
    drawn = TrainingTasks(env.tasks, "train", 0, True)(1, 12, 10)
    for options in drawn:
        env.reset(seed=0, options={**options, "horizon": 50})
        is_done = False
        while not is_done:
            action = env.oracle_action()
            assert action is not None
            *_, terminated, truncated, info = env.step(action)
            is_done = terminated or truncated
        assert info["success"] and info["turn"] <= 10


def test_without_fit_every_length_is_drawn():
    needed = {TASKS.oracle_turns(TASKS.find(i)) for i in ids(count=64, horizon=2, fit=False)}
    assert max(needed) == 5


def test_nothing_that_fits_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r"within 1 turns.*'train' of toy.*--no-fit-"):
        ids(horizon=1)


def test_an_unknown_split_is_an_error_at_once():
    with pytest.raises(TaskNotFound, match="'exam'"):
        TrainingTasks(TASKS, "exam", 0, True)


def test_too_few_tasks_are_repeated():
    task_list = TaskList("few", {"train": [Task(f"few/{i}", "train", i, "go") for i in range(3)]})
    drawn = ids(tasks=task_list, count=7)
    assert len(drawn) == 7
    assert sorted({drawn.count(task_id) for task_id in drawn}) == [2, 3]


def test_tasks_of_unknown_length_fit_anywhere():
    unknown = TaskList("unknown", {"train": [Task("unknown/0", "train", 0, "go")]})
    assert not knows_oracle_lengths(unknown, "train")
    assert knows_oracle_lengths(TASKS, "train")
    assert ids(tasks=unknown, count=1, horizon=1) == ["unknown/0"]


def test_the_tasks_of_a_seed_and_step_are_those_they_always_were():
    """Runs of other versions are continued and compared."""
    assert ids(step=3, count=3, horizon=3, seed=7) == [
        "toy/green-gold-blue",
        "toy/blue-red-blue",
        "toy/gold-gold-gold",
    ]


def test_a_sampler_may_choose_by_the_returns_seen_so_far():
    """Tasks that are always solved are left out; the rest still fits and is distinct."""
    feed = TrainingTasks(TASKS, "valid", 0, True, InformativeSampler)
    first = {options["task_id"] for options in feed(1, 8, 4)}
    state_dict_before = feed.state_dict()
    feed.learn([Trajectory(task_id=name, turns=[SampledTurn([], [1], [0.0], reward=1.0)])
                for name in first for _ in range(8)])  # fmt: skip
    second = {options["task_id"] for options in feed(1, 8, 4)}
    assert len(first) == len(second) == 8
    assert not first & second
    assert max(TASKS.oracle_turns(TASKS.find(task_id)) for task_id in second) <= 4
    feed.load_state_dict(state_dict_before)
    assert {options["task_id"] for options in feed(1, 8, 4)} == first


def test_the_return_of_an_environment_that_failed_says_nothing():
    feed = TrainingTasks(TASKS, "valid", 0, True)
    state_dict_before = feed.state_dict()
    feed.learn([Trajectory(task_id=TASKS.task("valid", 3).id, stop_reason="error"), Trajectory()])
    assert feed.state_dict() == state_dict_before


def test_each_family_learns_from_its_own_episodes():
    sources = {name: TrainingTasks(TASKS, "valid", 0, False) for name in ("a", "b")}
    schedule = PerFamily({name: Stages((3,), 1) for name in sources})
    mixed = MixedTasks({**sources, "c": Numbered("c")}, dict.fromkeys("abc", 1.0), schedule)
    task = TASKS.task("valid", 3).id
    mixed.learn([Trajectory(task_id=task, family="b"), Trajectory(task_id="c/1", family="c")])
    state = mixed.state_dict()
    assert (state["a"]["tasks"], state["b"]["tasks"], set(state)) == ([], [3], {"a", "b"})
    mixed.load_state_dict({"a": state["b"], "b": state["a"]})
    assert sources["a"].state_dict() == state["b"]


class Numbered:
    """A task source that tells what it was asked for."""

    def __init__(self, name):
        self.name = name

    def __call__(self, step, count, horizon):
        return [{"task_id": f"{self.name}/{step}/{k}/{horizon}"} for k in range(count)]


def mixture(weights, **rounds):
    schedule = PerFamily({name: Stages(rounds.get(name, (4,)), 1) for name in weights})
    return MixedTasks({name: Numbered(name) for name in weights}, weights, schedule)


@given(
    weights=st.lists(st.floats(0.05, 20.0), min_size=1, max_size=5),
    count=st.integers(1, 7),
    steps=st.integers(1, 30),
)
def test_after_every_task_each_family_has_had_its_share(weights, count, steps):
    named = {f"f{k}": weight for k, weight in enumerate(weights)}
    tasks, drawn = mixture(named), []
    for step in range(1, steps + 1):
        drawn += [task["family"] for task in tasks(step, count, 0)]
        for name, weight in named.items():
            due = len(drawn) * weight / sum(weights)
            assert abs(drawn.count(name) - due) < len(weights)
    assert len(drawn) == count * steps


def test_a_step_of_a_mixture_depends_on_nothing_but_its_number():
    weights = {"a": 2.0, "b": 1.0}
    feed = mixture(weights)
    feed(9, 4, 0)
    first = [mixture(weights)(step, 4, 0) for step in range(1, 6)]
    assert [feed(step, 4, 0) for step in range(5, 0, -1)] == first[::-1]
    assert [task["family"] for task in first[0]] == ["a", "b", "a", "a"]


def test_each_task_of_a_mixture_has_the_turns_of_its_family():
    tasks = mixture({"a": 1.0, "b": 1.0}, a=(3, 5), b=(8,))
    assert [(t["family"], t["horizon"]) for t in tasks(1, 2, 99)] == [("a", 3), ("b", 8)]
    assert [(t["family"], t["horizon"]) for t in tasks(2, 2, 99)] == [("a", 5), ("b", 8)]
    assert tasks(2, 2, 99)[0]["task_id"] == "a/2/0/5"
