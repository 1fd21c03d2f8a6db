from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.experts.searching import Memory, next_command, remember
from agentgym.envs.alfworld.game import Game
from agentgym.envs.alfworld.generator import Knobs, generate
from agentgym.envs.alfworld.play import Play
from tests.envs.alfworld.tiny import IMPOSSIBLE, TINY


def playthrough(game: Game) -> list[tuple[str, str]]:
    """Let the searching expert play; return its commands and the answers."""
    session, memory = Session(Household.of(game)), Memory()
    session.intro()
    turns: list[tuple[str, str]] = []
    while not session.done and len(turns) < 150:
        command = next_command(memory, session)
        assert command in session.admissible()
        answer, _, _ = session.step(command)
        memory = remember(memory, session, command)
        turns.append((command, answer))
    return turns


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_it_solves_every_kind_of_task(difficulty: str) -> None:
    knobs = Knobs.of(difficulty)
    for number in range(24):
        game = generate(knobs, "valid_unseen", number)
        turns = playthrough(game)
        assert turns[-1][0].split()[0] in ("move", "use", "take"), game.id
        assert len(turns) < 150, game.id


def test_it_takes_only_what_it_has_read_of() -> None:
    for number in range(30):
        game = generate(Knobs.of("medium"), "train", number)
        read = ""
        for command, answer in playthrough(game):
            verb, *words = command.split()
            if verb in ("take", "use"):
                assert f"a {words[0]} {words[1]}" in read, (game.id, command)
            read += answer


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
    session, memory = Session(Household.of(IMPOSSIBLE)), Memory()
    for _ in range(10):
        command = next_command(memory, session)
        if command is None:
            break
        session.step(command)
        memory = remember(memory, session, command)
    assert command is None and len(memory.explored) == 2


def test_a_refused_command_teaches_nothing() -> None:
    play = Play(expert="searching")
    play.start(TINY)
    before = play.expert_command()
    assert play.step("examine desk 1")[1] is False
    assert play.expert_command() == before == "go to desk 1"
