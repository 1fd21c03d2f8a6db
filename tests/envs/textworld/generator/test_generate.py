"""Generation: TextWorld's own games, the same in every process, without side effects."""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import (
    NoSuchGame,
    make_game,
    stored_plan,
    version,
)
from agentgym.envs.textworld.generator.upstream import load_textworld, normalise
from agentgym.errors import ConfigurationError, DependencyNotInstalled

pytestmark = pytest.mark.filterwarnings("ignore:Game .* is not fully supported")

CASES: list[tuple[str, dict[str, Any]]] = [
    ("w2-o3-q4", {}),
    ("w3-o6-q5", {"nb_parallel_quests": 2, "blend_descriptions": True, "include_adj": True}),
    ("coin_collector", {"level": 105}),
    ("treasure_hunter", {"level": 5}),
    ("treasure_hunter", {"level": 12}),
    ("simple", {"rewards": "balanced"}),
    ("cooking-medium", {}),
    ("cooking-medium", {"drop": True, "held_out_foods": True}),
    ("w2-o12-q4", {"quest_end": "place"}),
]
NAMES = [f"{name}-{'-'.join(parameters)}" for name, parameters in CASES]


@pytest.fixture(scope="module", autouse=True)
def textworld() -> Any:
    return pytest.importorskip("textworld", reason="needs the package textworld")


def hashes(cases: Sequence[int] = (0, 2, 6)) -> list[str]:
    selection = [CASES[row] for row in cases]
    games = [
        make_game(GeneratorConfig.of(name, **parameters), 7, "test")
        for name, parameters in selection
    ]
    return [hashlib.sha256(json.dumps(game).encode()).hexdigest() for game in games]


def in_process(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parents[4]
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "99", "PYTHONPATH": f"{root}:{':'.join(sys.path)}"},
    )  # fmt: skip


@pytest.mark.slow
def test_games_are_the_same_in_every_process_whatever_was_made_before(tmp_path: Path) -> None:
    own_hashes = hashes()
    assert hashes((2, 0)) == [own_hashes[1], own_hashes[0]]
    out = in_process(
        "import random, numpy as np; random.seed(5); np.random.seed(5)\n"
        "from tests.envs.textworld.generator.test_generate import hashes\n"
        "print(' '.join(hashes()))",
        tmp_path,
    )
    assert out.stdout.split() == own_hashes, out.stderr
    assert out.stderr == ""


@pytest.mark.slow
def test_rules_in_the_working_directory_are_refused(tmp_path: Path, textworld: Any) -> None:
    textworld.generator.data.create_data_files(str(tmp_path / "textworld_data"))
    out = in_process(
        "from agentgym.envs.textworld.generator.upstream import load_textworld; load_textworld()",
        tmp_path,
    )
    assert "ConfigurationError" in out.stderr
    assert "start from another directory" in out.stderr


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=NAMES)
def test_textworld_reads_the_game_and_its_plan_wins(
    name: str, parameters: dict[str, Any], textworld: Any
) -> None:
    game = make_game(GeneratorConfig.of(name, **parameters), 3, "train")
    original = copy.deepcopy(game)
    parsed = textworld.Game.deserialize(game)
    assert json.loads(json.dumps(game)) == game == original
    assert parsed.objective == game["objective"]
    assert sorted(game) == sorted(parsed.serialize())
    won, policy = play(parsed, stored_plan(game) or ())
    assert won
    assert list(policy) == ([] if parameters.get("drop") else list(stored_plan(game) or ()))
    assert str(Path(textworld.__file__).parent) not in json.dumps(game)


def play(game: Any, commands: tuple[str, ...]) -> tuple[bool, list[str]]:
    """Play commands by TextWorld's rules; whether they win, and the policy at the start."""
    from textworld.generator.game import GameProgression
    from textworld.generator.inform7 import Inform7Game

    progress, speech = GameProgression(game), Inform7Game(game)
    policy = speech.gen_commands_from_actions(progress.winning_policy or ())
    for command in commands:
        assert not progress.done
        commands_on_offer = speech.gen_commands_from_actions(progress.valid_actions)
        progress.update(progress.valid_actions[commands_on_offer.index(command)])
    return progress.completed and not progress.failed, policy


CHALLENGES = {
    "w2-o3-q4": [],
    "simple": ["--rewards", "dense", "--goal", "detailed"],
    "cooking-medium": ["--recipe", "2", "--take", "2", "--go", "6", "--open", "--cook", "--cut"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHALLENGES)
def test_it_is_the_game_of_tw_make(name: str, textworld: Any) -> None:
    """The original compiles and plays a story to make it: about a second a game."""
    load_textworld()
    options = textworld.GameOptions()
    options.seeds = 12345
    if name == "w2-o3-q4":
        options.nb_rooms, options.nb_objects, options.quest_length = 2, 3, 4
        options.chaining.max_breadth = 5  # the default of tw-make
        original = textworld.generator.make_game(options)
    else:
        challenge = GeneratorConfig.of(name).challenge
        make, arguments = textworld.challenges.CHALLENGES[f"tw-{challenge}"][1:]
        parser = argparse.ArgumentParser()
        arguments(parser)
        original = make(vars(parser.parse_args(CHALLENGES[name])), options)
    knowledge = json.loads(json.dumps(original.kb.serialize()))["logic"]
    expected = normalise(json.loads(json.dumps(original.serialize())), original.kb)
    game = make_game(GeneratorConfig.of(name), 12345)
    game["metadata"].pop("agentgym")
    assert game == expected
    assert sorted(game["KB"]["logic"].splitlines()) == sorted(knowledge.splitlines())


def test_a_grammar_of_several_challenges_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from textworld.generator.text_grammar import Grammar

    cache: dict[str, Any] = {}
    monkeypatch.setattr(Grammar, "_cache", cache)
    for name in ("w2-o3-q4", "coin_collector", "treasure_hunter", "simple"):
        make_game(GeneratorConfig.of(name), 1)
    parsed: dict[str, set[int]] = {}
    for path, grammar in cache.items():
        parsed.setdefault(Path(path).read_text(), set()).add(id(grammar))
    assert len(cache) > len(parsed) and all(len(objects) == 1 for objects in parsed.values())


@pytest.mark.slow
def test_global_generators_are_left_alone(textworld: Any) -> None:
    def states() -> list[Any]:
        name, keys, *rest_of_state = np.random.get_state()
        return [random.getstate(), name, list(keys), rest_of_state, dict(vars(textworld.g_rng))]

    make_game(GeneratorConfig.of("simple"), 0)
    states_before = states()
    for name in ("simple", "w2-o3-q4", "cooking"):
        make_game(GeneratorConfig.of(name), 1)
    assert states() == states_before
    code = (
        "import numpy as np, random; np.random.seed(3); random.seed(3)\n"
        "before = np.random.get_state()[1].tolist(), random.getstate()\n"
        "from agentgym.envs.textworld.generator.upstream import load_textworld; load_textworld()\n"
        "assert before == (np.random.get_state()[1].tolist(), random.getstate())"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_make_the_same_games() -> None:
    setting = GeneratorConfig.of("w2-o3-q4")
    expected = [make_game(setting, seed) for seed in range(6)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda seed: make_game(setting, seed), range(6))) == expected


def test_held_out_foods_follow_the_split() -> None:
    cooking = GeneratorConfig.of("cooking", held_out_foods=True)
    for split in ("train", "valid", "test"):
        assert make_game(cooking, 1, split)["metadata"]["settings"]["split"] == split
    assert (
        make_game(GeneratorConfig.of("cooking"), 1, "test")["metadata"]["settings"]["split"] is None
    )
    simple = GeneratorConfig.of("simple", held_out_foods=True)
    unseen = ("garlic", "kiwi", "carrot")
    foods = {split: make_game(simple, 4, split)["objective"] for split in ("train", "test")}
    assert any(food in foods["test"] for food in unseen)
    assert not any(food in foods["train"] for food in unseen)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    with pytest.raises(ConfigurationError, match="from 0 to 4294967295"):
        make_game(GeneratorConfig.of("simple"), seed)


def test_a_seed_without_a_game_is_told() -> None:
    impossible = GeneratorConfig.of(
        "custom", world_size=1, nb_objects=1, quest_length=1, quest_breadth=9
    )
    with pytest.raises(NoSuchGame, match=r"seed 0.*found none.*another seed or relax"):
        make_game(impossible, 0)


def test_a_missing_textworld_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import packaging.requirements  # noqa: F401 - what names the extra reads its entry with it

    for module in [name for name in sys.modules if name.split(".")[0] == "textworld"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(DependencyNotInstalled, match=r"-e \"\.\[textworld\]"):
        make_game(GeneratorConfig.of("simple"), 0)


def test_the_version_is_known() -> None:
    import textworld

    assert version() == textworld.__version__
