"""Games written as ALFWorld folders: the original collects, loads and wins them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts.oracle import plan
from agentgym.envs.alfworld.generator import GeneratorConfig, generate, trial_folder, write_game
from agentgym.envs.alfworld.generator.writer import task_parameters
from agentgym.envs.alfworld.original.package import import_alfworld, original_engine, undisturbed
from agentgym.envs.alfworld.tasks import OfficialTasks
from agentgym.errors import DataError
from tests.envs.alfworld.data import games
from tests.envs.alfworld.tiny import needs_alfworld

GAMES = games(6)


@needs_alfworld
def test_the_original_collects_and_wins_what_is_written(tmp_path: Path) -> None:
    folders = {}
    for game in GAMES:
        commands = plan(HouseholdSession(Household.of(game)))
        path = write_game(game, tmp_path / "json_2.1.1" / "train" / trial_folder(game), commands)
        folders[str(path)] = game
    assert {game.task_type for game in GAMES} == set(TASK_TYPES)
    assert set(collected(tmp_path / "json_2.1.1" / "train")) == set(folders)
    engine = original_engine()
    for path, game in folders.items():
        with undisturbed():
            engine.load(path)
            state = engine.reset()
        assert state.feedback == HouseholdSession(Household.of(game)).intro()
        walkthrough = json.loads(Path(path).read_text())["walkthrough"]
        for command in walkthrough:
            assert not state["won"]
            state, score, is_done = engine.step(command)
        assert state["won"] and score == 1 and is_done


@needs_alfworld
def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    for game in GAMES:
        write_game(game, tmp_path / "json_2.1.1" / "valid_unseen" / trial_folder(game))
    tasks = OfficialTasks(tmp_path)
    assert tasks.splits == ("valid_unseen",)
    problems = [tasks.problem(task) for task in tasks.iterate("test")]
    ordered = sorted(GAMES, key=lambda game: trial_folder(game).as_posix())
    assert problems == [
        replace(game, id=problem.id) for game, problem in zip(ordered, problems, strict=True)
    ]
    names = [task.content["official_name"] for task in tasks.iterate("test")]
    assert names == [trial_folder(game).as_posix() for game in ordered]


@needs_alfworld
def test_sentences_that_could_be_code_are_refused(tmp_path: Path) -> None:
    for goal in ('put {__import__("os")} in desk.', "a #look.feedback#.", 'say "x".', "", "a\nb."):
        with pytest.raises(DataError, match="letters"):
            write_game(replace(GAMES[0], goal=goal), tmp_path)


def test_parameters_of_every_task_type() -> None:
    for game in GAMES:
        parameters = task_parameters(game)
        named = [parameters[key] for key in ("object_target", "parent_target", "toggle_target")]
        assert bool(parameters["toggle_target"]) == (game.task_type == "look_at_obj_in_light")
        assert bool(parameters["parent_target"]) != bool(parameters["toggle_target"])
        assert all(name.lower() in game.goal for name in named)
    with pytest.raises(DataError, match="goal"):
        task_parameters(replace(GAMES[0], problem="(define (:goal (and)))"))


def test_folders_differ_when_ids_do() -> None:
    listed = [generate(GeneratorConfig(), "train", number) for number in range(50)]
    assert len({trial_folder(game) for game in listed}) == 50
    assert all(len(trial_folder(game).parts) == 2 for game in listed)


def collected(folder: Path) -> list[str]:
    """Return the game files that alfworld's own environment finds."""
    import_alfworld()
    with undisturbed():
        from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv
    config = {
        "env": {"goal_desc_human_anns_prob": 0, "task_types": [1, 2, 3, 4, 5, 6]},
        "dataset": {"data_path": str(folder), "num_train_games": -1},
    }
    return list(AlfredTWEnv(config, train_eval="train").game_files)
