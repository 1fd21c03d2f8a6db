from __future__ import annotations

import math

from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.envs.textworld.inform.story import Story
from tests.envs.textworld.engine import games

OPEN = games.event([("open", "c_0")], games.actions(["open box"]))
TAKEN = games.event([("in", "f_0", "I")], games.actions(["take plum"]))
EAST = games.event([("at", "P", "r_1")], games.actions(["go east"]))


def _machine(*quests: dict[str, object]) -> Machine:
    return Machine(GameWorld.of(games.game(quests)))


def test_every_quest_that_is_not_optional_must_be_complete() -> None:
    machine = _machine(games.quest([OPEN]), games.quest([TAKEN], optional=True, reward=5))
    assert Story.of(machine.world.game).max_score == 6
    assert games.play(machine, "open box").won
    assert machine.score == 1


def test_any_winning_event_completes_a_quest() -> None:
    machine = _machine(games.quest([OPEN, TAKEN]), games.quest([EAST]))
    assert games.play(machine, "take plum").score == 1
    assert games.play(machine, "open box").score == 1
    assert games.play(machine, "go east").won and machine.score == 2


def test_the_nearest_event_is_planned_for() -> None:
    far = games.event([("in", "o_0", "I")], games.actions(games.WALKTHROUGH[:2]))
    assert _machine(games.quest([far, EAST])).policy() == ("go east",)


def test_parallel_quests_share_one_plan() -> None:
    machine = _machine(games.quest([OPEN]), games.quest([TAKEN]), games.quest([EAST]))
    plan = machine.policy()
    assert sorted(plan) == ["go east", "open box", "take plum"] and plan[-1] == "go east"
    assert games.play(machine, *plan).won


def test_a_repeatable_quest_pays_every_time_and_never_ends() -> None:
    machine = _machine(games.quest([OPEN], optional=True, repeatable=True), games.quest([EAST]))
    assert Story.of(machine.world.game).max_score == math.inf
    games.play(machine, "open box", "look", "close box", "look")
    assert machine.score == 2 and not machine.done


def test_what_holds_at_the_start_is_complete_at_once() -> None:
    at_start = games.event([("at", "P", "r_0")])
    machine = _machine(games.quest([at_start]), games.quest([EAST]))
    assert machine.score == 1 and machine.policy() == ("go east",)


def test_a_quest_that_failed_is_not_followed() -> None:
    eaten = games.event([("eaten", "f_0")])
    machine = _machine(games.quest([OPEN], [eaten], optional=True), games.quest([EAST]))
    games.play(machine, "take plum", "eat plum", "open box")
    assert machine.score == 0 and not machine.lost
    assert games.play(machine, "go east").won


def test_the_result_of_a_compiled_game_knows_only_conditions() -> None:
    at_start, eaten = games.event([("at", "P", "r_0")]), games.event([("eaten", "f_0")])
    machine = _machine(games.quest([at_start]), games.quest([OPEN], [eaten]), games.quest([EAST]))
    assert (machine.score, machine.result.score) == (1, 0)
    machine.wait()
    assert (machine.result.score, machine.result.paid) == (1, (0,))
    games.play(machine, "open box", "go east")
    assert machine.result.won and machine.won and machine.result.score == machine.score == 3
    result = machine.result
    assert games.play(machine, "go west").result is result


def test_the_result_loses_by_optional_quests_too() -> None:
    eaten = games.event([("eaten", "f_0")])
    machine = _machine(games.quest([OPEN], [eaten], optional=True))
    assert machine.won and not machine.result.won
    games.play(machine, "take plum", "eat plum")
    assert machine.result.lost and not machine.lost
