"""The expert that makes rounds: it solves everything, and takes its time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.envs.alfworld.experts import plan_length
from agentgym.envs.alfworld.generator import GeneratorConfig, generate
from agentgym.envs.alfworld.session import GameSession
from tests.envs.alfworld.tiny import IMPOSSIBLE

HORIZON = 16
TASKS = 120


def households(difficulty: str, count: int) -> Iterator[Household]:
    for number in range(count):
        yield Household.of(generate(GeneratorConfig.of(difficulty), "valid_unseen", number))


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_it_walks_from_each_receptacle_to_the_next(difficulty: str) -> None:
    for house in households(difficulty, 12):
        game = GameSession(expert="fixed-order")
        game.start(house.game)
        order = [house.names[receptacle] for receptacle in dict.fromkeys(house.intro)]
        place_of = {house.names[r]: house.places[r][0] for r in house.intro}
        last = order[-1]
        while not game.native.won:
            command = str(game.expert_command())
            assert command in game.admissible()
            verb, _, name = command.partition(" ")
            if verb == "go":
                name = name.removeprefix("to ")
                since = [*order, *order][order.index(last) + 1 :]
                places = (game.native.state.place, place_of[name])
                assert all(
                    place_of[other_place] in places for other_place in since[: since.index(name)]
                )
            if verb in ("go", "open", "examine"):
                last = name
            game.step(command)


def test_it_takes_longer_than_the_expert_that_goes_there_directly() -> None:
    turns: dict[str, list[int]] = {"searching": [], "fixed-order": []}
    for house in households("easy", TASKS):
        for name, lengths in turns.items():
            lengths.append(plan_length(house, name) or 0)
    in_time = {name: sum(n <= HORIZON for n in lengths) / TASKS for name, lengths in turns.items()}
    assert in_time["searching"] > 0.98 and 0.7 < in_time["fixed-order"] < 0.95
    assert sum(turns["fixed-order"]) > 1.2 * sum(turns["searching"])


def test_within_the_horizon_it_fails_some_tasks() -> None:
    env = ALFWorldEnv(difficulty="easy", expert="fixed-order", horizon=HORIZON)
    ends = []
    for index in range(40):
        _, info = env.reset(options={"split": "test", "index": index})
        announced = info["oracle_turns"]
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[-1]
            assert info["action_valid"]
        assert info["success"] == (announced <= HORIZON)
        ends.append(info["stop_reason"])
    assert set(ends) == {"success", "horizon"}


def test_it_is_at_a_loss_when_all_is_seen_and_nothing_helps() -> None:
    game = GameSession(expert="fixed-order")
    game.start(IMPOSSIBLE)
    assert game.expert_command() is None and game.turns_left() is None
