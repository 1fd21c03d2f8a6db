"""The expert's plans: they win, are as short as any, and shrink by one with every step."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game, Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts.oracle import plan
from agentgym.envs.alfworld.generator import GeneratorConfig, generate
from tests.envs.alfworld.data import shared_pack
from tests.envs.alfworld.houses import random_house, shortest, wander
from tests.envs.alfworld.tiny import IMPOSSIBLE, PLAN, TINY


def follow(session: HouseholdSession) -> int:
    """Carry out the plan, checking that each command shortens it by one; return its length."""
    commands = plan(session)
    assert commands is not None
    for number, command in enumerate(commands):
        assert command in session.admissible()
        session.step(command)
        steps_left = plan(session)
        assert steps_left is not None and len(steps_left) == len(commands) - number - 1
    assert session.won
    return len(commands)


def stray(session: HouseholdSession, rng: random.Random, steps: int) -> None:
    """Play at random, mostly with things."""
    for _ in range(steps):
        commands = session.admissible()
        idle = ("go", "look", "help", "inventory", "examine")
        busy = [command for command in commands if command.split()[0] not in idle]
        session.step(rng.choice(busy if busy and rng.random() < 0.6 else commands))


def test_a_plan() -> None:
    session = HouseholdSession(Household.of(TINY))
    assert plan(session) == PLAN
    assert follow(session) == len(PLAN)
    assert plan(session) == ()


def test_no_plan_for_an_impossible_game() -> None:
    assert plan(HouseholdSession(Household.of(IMPOSSIBLE))) is None


@pytest.mark.parametrize("seed", range(120))
def test_no_plan_is_shorter(seed: int) -> None:
    """Compare with breadth-first search from reachable states of odd little households."""
    rng = random.Random(seed)
    household = random_house(rng, goals="unsliced")
    session = HouseholdSession(household)
    session.restore(wander(rng, household, rng.randint(0, 20)))
    commands = plan(session)
    if commands is None:
        assert shortest(household, session.state, 10, 20_000) in (None, -1)
        return
    assert shortest(household, session.state, len(commands), 20_000) in (len(commands), -1)
    follow(session)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_generated_games_are_won_from_anywhere(task_type: str) -> None:
    config = GeneratorConfig(task_types=(task_type,))
    for number in range(6):
        rng = random.Random(number)
        session = HouseholdSession(Household.of(generate(config, "train", number)))
        follow(session)
        session.intro()
        stray(session, rng, 30)
        follow(session)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["valid_seen.json.gz", "valid_train.json.gz"])
def test_every_official_game_is_won(name: str) -> None:
    rng = random.Random(0)
    path = shared_pack(name)
    lengths = []
    stuck = 0
    for entry in json.loads(gzip.decompress(path.read_bytes())):
        game = Game(entry["id"], entry["task_type"], "", entry["desc"], entry["pddl_problem"])
        session = HouseholdSession(Household.of(game))
        lengths.append(follow(session))
        session.intro()
        stray(session, rng, 30)
        if plan(session) is None:  # a thing in hand that fits nowhere can never be put down
            entity = session.state.hand
            assert not any(entity in accepted for accepted in session.household.accepts)
            stuck += 1
        else:
            follow(session)
    assert len(lengths) in (140, 200) and max(lengths) <= 9 and stuck < len(lengths) / 10
