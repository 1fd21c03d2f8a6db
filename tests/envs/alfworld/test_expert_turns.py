"""What is said of an expert's turns is what it takes: in the task set, in info, and for --fit."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game
from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.envs.alfworld.experts import EXPERTS
from agentgym.envs.alfworld.session import GameSession
from tests.envs.alfworld.data import shared_pack
from tests.envs.alfworld.houses import PLACE, problem
from trainers.rollouts.task_feed import TrainingTasks

LONG = 200
"""Turns that are enough for every expert."""


def make(**kwargs: Any) -> ALFWorldEnv:
    return ALFWorldEnv(horizon=LONG, **kwargs)


def follow(env: ALFWorldEnv, left: int | None) -> int:
    """Let the expert finish from a state; each step must shorten its way by one."""
    assert left is not None
    turns = 0
    while left:
        _, _, terminated, truncated, info = env.step(env.demonstrator_action() or "")
        turns, left = turns + 1, left - 1
        assert info["oracle_turns"] == left
        assert terminated == (left == 0) and not truncated
    return turns


def stray(env: ALFWorldEnv, rng: random.Random, steps: int) -> dict[str, Any]:
    """Play at random, now and then as the expert, without winning; return the last info."""
    _, _, over, _, info = env.step("look")
    for _ in range(steps):
        action = rng.choice(info["admissible_actions"])
        if info["oracle_turns"] != 1 and rng.random() < 0.3:
            action = env.demonstrator_action()
        snapshot = env.snapshot()
        _, _, over, _, info_after = env.step(action)
        if over:
            env.restore(snapshot)
        else:
            info = info_after
    return info


@pytest.mark.parametrize("expert", EXPERTS)
@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_an_expert_needs_as_many_turns_as_is_said(difficulty: str, expert: str) -> None:
    env = make(difficulty=difficulty, expert=expert)
    types = Counter[str]()
    for index in range(2 * len(TASK_TYPES)):
        _, info = env.reset(options={"split": "test", "index": index})
        types[str(env.task.content["task_type"])] += 1
        needed = env.tasks.oracle_turns(env.task)
        assert info["oracle_turns"] == needed
        assert follow(env, needed) == needed == env.turn
    assert types == dict.fromkeys(TASK_TYPES, 2)


@pytest.mark.parametrize("expert", EXPERTS)
@pytest.mark.parametrize("name", ["valid_seen", "valid_train"])
def test_official_games_too(name: str, expert: str) -> None:
    env = make(data=str(shared_pack(f"{name}.json.gz")), split=name, expert=expert)
    for index in range(0, env.tasks.len(name), 7):
        env.reset(options={"split": name, "index": index})
        needed = env.tasks.oracle_turns(env.task)
        assert follow(env, needed) == needed


@pytest.mark.parametrize("expert", EXPERTS)
@pytest.mark.parametrize("seed", range(18))
def test_the_way_from_anywhere_and_from_a_fork(seed: int, expert: str) -> None:
    rng = random.Random(seed)
    env = make(difficulty=("easy", "medium", "hard")[seed % 3], expert=expert)
    env.reset(options={"split": "train", "index": seed})
    info = stray(env, rng, rng.randint(1, 25))
    turns_left = info["oracle_turns"]
    fork = pickle.loads(pickle.dumps(env.snapshot()))
    copies = [make(difficulty=("easy", "medium", "hard")[seed % 3], expert=expert), deepcopy(env)]
    copies[0].restore(fork)
    stray(copies[1], rng, 5)
    copies[1].restore(fork)
    assert follow(env, turns_left) == turns_left
    for copied in copies:
        assert follow(copied, turns_left) == turns_left


def test_looking_about_costs_no_expert_a_turn_and_walking_about_does() -> None:
    env = make(difficulty="medium", expert="searching")
    _, info = env.reset(options={"split": "train", "index": 3})
    turns_left, away = info["oracle_turns"], env.demonstrator_action()
    for idle in ("look", "inventory", "help", "dance"):
        assert env.step(idle)[-1]["oracle_turns"] == turns_left
    detours = [a for a in info["admissible_actions"] if a.startswith("go to ") and a != away]
    changed = []
    for copied in detours:
        fork = env.snapshot()
        changed.append(env.step(copied)[-1]["oracle_turns"])
        env.restore(fork)
    assert max(changed) > turns_left


@pytest.mark.parametrize("expert", EXPERTS)
def test_a_lamp_that_is_on_already_leaves_only_the_walk_to_it(expert: str) -> None:
    env = make(difficulty="easy", task_types=["look"], expert=expert)
    ends = set()
    for index in range(6):
        _, info = env.reset(options={"split": "train", "index": index})
        for place in [a for a in info["admissible_actions"] if a.startswith("go to ")]:
            info = env.step(place)[-1]
            for action in info["admissible_actions"]:
                if action.startswith("use "):
                    info = env.step(action)[-1]
        assert follow(env, info["oracle_turns"]) >= 1
        ends.add(str(env.last_action).split()[0])
    assert ends == {"go", "take"}  # take, where the thing lies beside the lamp


def test_what_is_read_without_moving_counts() -> None:
    """Of three worktops at one place the apple lies on the one that the expert looks at last."""
    places = [f"(receptacleAtLocation CounterTop_bar_{n} loc_bar_1)" for n in (1, 2, 3)]
    facts = ["(inReceptacle Apple_bar_1 CounterTop_bar_3)", "(pickupable Apple_bar_1)",
             "(receptacleAtLocation Fridge_bar_1 loc_bar_2)", "(canContain FridgeType AppleType)",
             "(objectAtLocation Apple_bar_1 loc_bar_1)", "(atLocation agent1 loc_bar_0)",
    ]  # fmt: skip
    worktops = [f"CounterTop_bar_{n}" for n in (1, 2, 3)]
    types = "(objectType ?o AppleType) (receptacleType ?r FridgeType)"
    text = problem([*worktops, "Fridge_bar_1"], ["Apple_bar_1"], [*places, *facts],
                   PLACE.format("", types))  # fmt: skip
    game = GameSession(expert="searching")
    game.start(Game("worktops", TASK_TYPES[0], "FloorPlan1", "put an apple in fridge.", text))
    game.step("go to countertop 3")
    assert (game.turns_left(), game.expert_command()) == (5, "examine countertop 2")
    game.step("examine countertop 1")
    assert (game.turns_left(), game.expert_command()) == (3, "take apple 1 from countertop 1")


def test_score_potential_and_dense_reward_use_the_shortest_plan_with_any_expert() -> None:
    envs = [make(difficulty="medium", reward="dense", expert=expert) for expert in EXPERTS]
    rng = random.Random(0)
    for index in range(6):
        infos = [env.reset(options={"split": "train", "index": index})[1] for env in envs]
        for _ in range(20):
            if envs[0].tasks.oracle_turns(envs[0].task) and rng.random() < 0.5:
                action = envs[0].demonstrator_action() or "look"
            else:
                action = rng.choice(infos[0]["admissible_actions"])
            steps = [env.step(action) for env in envs]
            assert steps[0][1:4] == steps[1][1:4]
            assert steps[0][4]["score"] == steps[1][4]["score"]
            assert envs[0].potential() == envs[1].potential()
            if steps[0][2]:
                break


def test_a_feed_draws_only_tasks_that_their_demonstrator_solves_in_time() -> None:
    env = make(difficulty="easy", expert="searching")
    needed = [env.tasks.oracle_turns(env.tasks.task("train", index)) for index in range(300)]
    fitting = sum(turns is not None and turns <= 10 for turns in needed)
    assert fitting == 214  # of the shortest plans, all 300 would
    feed = TrainingTasks(env.tasks, "train", seed=0, fit=True)
    for step in range(1, 4):
        for options in feed(step, 16, 10):
            _, info = env.reset(options={**options, "horizon": 10})
            assert follow(env, info["oracle_turns"]) <= 10


def test_the_order_by_plans_is_that_of_the_chosen_expert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym.envs.alfworld.tasks.SIZES",
                        {"train": 40, "valid_seen": 6, "valid_unseen": 6})  # fmt: skip
    orders = {}
    for expert in EXPERTS:
        env = make(difficulty="medium", order="oracle_turns", expert=expert, generator_seed=5)
        tasks = list(env.tasks.iterate("train"))
        lengths = [env.tasks.oracle_turns(task) or 0 for task in tasks]
        assert lengths == sorted(lengths)
        env.reset(options={"split": "train", "index": 0})
        assert follow(env, lengths[0]) == lengths[0]
        orders[expert] = [task.id for task in tasks]
        assert (
            env.tasks.panel("test", 6).sha256
            == make(difficulty="medium", order="oracle_turns", generator_seed=5, expert=expert)
            .tasks.panel("test", 6)
            .sha256
        )
    assert orders["oracle"] != orders["searching"]
    assert sorted(orders["oracle"]) == sorted(orders["searching"])
