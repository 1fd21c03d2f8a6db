from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.generator import GeneratorConfig, generate
from agentgym.envs.alfworld.session import GameSession
from tests.envs.alfworld.tiny import IMPOSSIBLE, TINY


def playthrough(game: Game) -> list[tuple[str, str]]:
    """Let the searching expert play; return its commands and the answers."""
    active = GameSession(expert="searching")
    active.start(game)
    turns: list[tuple[str, str]] = []
    while not active.native.won and len(turns) < 150:
        command = active.expert_command()
        assert command is not None and command in active.admissible()
        turns.append((command, active.step(command)[0]))
    return turns


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_it_solves_every_kind_of_task(difficulty: str) -> None:
    config = GeneratorConfig.of(difficulty)
    for number in range(24):
        game = generate(config, "valid_unseen", number)
        turns = playthrough(game)
        assert turns[-1][0].split()[0] in ("move", "use", "take"), game.id
        assert len(turns) < 150, game.id


def test_it_takes_only_what_it_has_read_of() -> None:
    for number in range(30):
        game = generate(GeneratorConfig.of("medium"), "train", number)
        text = ""
        for command, answer in playthrough(game):
            verb, *words = command.split()
            if verb in ("take", "use"):
                assert f"a {words[0]} {words[1]}" in text, (game.id, command)
            text += answer


def test_it_looks_in_the_order_of_the_first_text() -> None:
    commands = [command for command, _ in playthrough(TINY)]
    assert commands == [
        "go to desk 1", "take mug 1 from desk 1", "go to drawer 1", "open drawer 1",
        "move mug 1 to drawer 1",
    ]  # fmt: skip


def test_it_opens_what_is_closed() -> None:
    hidden = TINY.problem.replace("(inReceptacle Mug_bar_1 Desk_bar_1)", "").replace(
        "(openable Drawer_bar_1)",
        "(openable Drawer_bar_1) (inReceptacle Mug_bar_1 Drawer_bar_1)",
    )
    goal = hidden.replace("(receptacleType ?r DrawerType)", "(receptacleType ?r DeskType)")
    turns = [command for command, _ in playthrough(replace(TINY, problem=goal))]
    assert turns[:4] == [
        "go to desk 1", "go to drawer 1", "open drawer 1", "take mug 1 from drawer 1",
    ]  # fmt: skip
    assert turns[-1] == "move mug 1 to desk 1"


def test_it_is_at_a_loss_when_all_is_seen_and_nothing_helps() -> None:
    active = GameSession(expert="searching")
    active.start(IMPOSSIBLE)
    assert active.expert_command() is None and active.turns_left() is None
    for command in ("go to drawer 1", "open drawer 1"):
        active.step(command)
        assert active.expert_command() is None


def test_what_was_put_down_is_not_forgotten() -> None:
    """Nobody has looked into the desk from which the mug was taken, as a policy may do."""
    hidden = TINY.problem.replace("Desk_bar_1 loc_bar_1", "Desk_bar_1 loc_bar_2")
    hidden = hidden.replace("Mug_bar_1 loc_bar_1", "Mug_bar_1 loc_bar_2")
    active = GameSession(expert="searching")
    active.start(replace(TINY, problem=hidden))
    for command in ("go to drawer 1", "take mug 1 from desk 1", "move mug 1 to desk 1"):
        assert active.step(command)[1]
    assert active.turns_left() == 3 and active.expert_command() == "take mug 1 from desk 1"


def test_a_refused_command_teaches_nothing() -> None:
    active = GameSession(expert="searching")
    active.start(TINY)
    command_before = active.expert_command()
    assert active.step("examine desk 1")[1] is False
    assert active.expert_command() == command_before == "go to desk 1"
