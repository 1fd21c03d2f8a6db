"""Story files from the compiler that comes with TextWorld."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import make_game, stored_plan
from agentgym.envs.textworld.original.story_file import compile_game
from agentgym.errors import ConfigurationError, DataError, EnvFailure

textworld = pytest.importorskip("textworld", reason="needs the package textworld")
pytestmark = pytest.mark.filterwarnings("ignore:Game .* is not fully supported")


@pytest.mark.slow
def test_a_compiled_game_can_be_played(tmp_path: Path) -> None:
    game = make_game(GeneratorConfig.of("w2-o3-q4"), 11)
    path = compile_game(game, tmp_path / "deep" / "one.z8")
    assert sorted(file.name for file in path.parent.iterdir()) == ["one.json", "one.z8"]
    assert json.loads(path.with_suffix(".json").read_text()) == game
    env = textworld.start(str(path), textworld.EnvInfos(policy_commands=True))
    state = env.reset()
    assert tuple(state.policy_commands) == stored_plan(game)
    for command in stored_plan(game) or ():
        state, _, is_done = env.step(command)
    assert is_done
    assert state.won
    env.close()


def test_a_compiler_that_cannot_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFORM_HOME", str(tmp_path))  # where textworld looks for its compiler
    game = make_game(GeneratorConfig.of("w2-o3-q4"), 11)
    with pytest.raises(EnvFailure, match="native engine"):
        compile_game(game, tmp_path / "one.z8")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigurationError, match=r"ends in \.z8"):
        compile_game(game, tmp_path / "one.ulx")


@pytest.mark.slow
@pytest.mark.parametrize("home", ["home", None])
def test_the_compiler_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    for name in ("home", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    if home is None:
        monkeypatch.delenv("HOME", raising=False)
    else:
        monkeypatch.setenv("HOME", str(tmp_path / home))
    compile_game(make_game(GeneratorConfig.of("w2-o3-q4"), 11), tmp_path / "out" / "one.z8")
    names_left = [path.name for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert names_left == ["one.json", "one.z8"]


def test_what_textworld_does_not_understand_is_a_data_error(tmp_path: Path) -> None:
    original = make_game(GeneratorConfig.of("w2-o3-q4"), 11)
    for part, value in (("world", [1]), ("KB", {"logic": "{"}), ("infos", 3), ("quests", None)):
        game = {**copy.deepcopy(original), part: value}
        with pytest.raises(DataError, match="tw-make"):
            compile_game(game, tmp_path / "one.z8")
    assert not list(tmp_path.iterdir())
