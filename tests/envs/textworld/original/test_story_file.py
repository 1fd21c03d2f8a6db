"""Damaged and hostile story files: an error, never a dead process."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.envs.textworld.original import isolated_session as isolated
from agentgym.envs.textworld.original.inform7 import InformSession
from agentgym.envs.textworld.original.isolated_session import IsolatedSession, StoryProcess
from agentgym.envs.textworld.original.story_file import HEADER, check_story, damage
from agentgym.errors import DataError, EnvFailure
from tests.envs.textworld.conftest import Story

pytest.importorskip("textworld", reason="the real engine needs the package textworld")

DAMAGED, HOSTILE = 36, 3


def damaged(good: bytes, seed: int) -> bytes:
    """Cut, flip, overwrite, blank or replace a story as a bad disk does."""
    rng, data = random.Random(seed), bytearray(good)
    place = rng.randrange(HEADER, len(good) // 2)
    kind = seed % 6
    if kind == 0:
        return good[: rng.randrange(len(good))]
    if kind == 1:
        data[place] ^= 1 << rng.randrange(8)
    elif kind == 2:
        for _ in range(rng.randrange(2, 50)):
            data[rng.randrange(HEADER, len(good) // 2)] ^= rng.randrange(1, 256)
    elif kind == 3:
        return rng.randbytes(rng.choice((0, 1, 63, 64, 65, 1000, len(good))))
    elif kind == 4:
        data[rng.choice((0, 4, 6, 8, 10, 12, 14, 26, 28))] ^= rng.randrange(1, 256)
    else:
        data[place : place + 5000] = b"\xff" * 5000
    return bytes(data)


def hostile(good: bytes, seed: int) -> bytes:
    """Overwrite a story in many places and write the checksum that fits into its header."""
    rng, data = random.Random(seed), bytearray(good)
    for _ in range(rng.choice((10, 1000, 20000))):
        data[rng.randrange(HEADER, len(data))] = rng.randrange(256)
    length = int.from_bytes(data[26:28], "big") * 8
    data[28:30] = (sum(data[HEADER:length]) & 0xFFFF).to_bytes(2, "big")
    assert not damage(bytes(data))
    return bytes(data)


_PLAYER = """
import json, sys
from agentgym.envs.textworld.original import isolated_session as isolated
from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.errors import DataError, EnvFailure
isolated.SECONDS = 3.0
env = TextWorldEnv(engine="inform7", data=sys.argv[1], split="test")
log = []
for index in range(env.tasks.len("test")):
    try:
        observation, info = env.reset(options={"split": "test", "index": index})
        log.append("played")
        for _ in range(3):
            action = (info["admissible_actions"] or ["look"])[0]
            observation, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                break
    except (DataError, EnvFailure) as error:
        log.append(type(error).__name__)
env.close()
print(json.dumps(log))
"""


@pytest.mark.slow
def test_no_story_ends_the_process(story: Story, tmp_path: Path) -> None:
    good = story("w2-o3-q4")
    content, place = good.read_bytes(), tmp_path / "games" / "test"
    place.mkdir(parents=True)
    variants = [damaged(content, seed) for seed in range(DAMAGED)]
    variants += [hostile(content, seed) for seed in range(HOSTILE)]
    for number, data in enumerate([*variants, content]):
        shutil.copy(good.with_suffix(".json"), place / f"{number:03}.json")
        (place / f"{number:03}.z8").write_bytes(data)
    process = subprocess.run(
        [sys.executable, "-c", _PLAYER, str(place.parent)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    log = json.loads(process.stdout.splitlines()[-1])
    assert len(log) == DAMAGED + HOSTILE + 1, "some story ended the process"
    assert log[-1] == "played", "the story after the hostile ones is played"
    wrong_numbers = [number for number in range(DAMAGED) if log[number] != "DataError"]
    # What stays in the header of a damaged story may be harmless: an address that is not used.
    assert (
        all(number % 6 == 4 for number in wrong_numbers) and len(wrong_numbers) < DAMAGED // 12
    ), wrong_numbers


def test_a_whole_story_passes(story: Story) -> None:
    path = story("w2-o3-q4")
    assert check_story(path) == check_story(path) and not damage(path.read_bytes())


@pytest.mark.parametrize("content", [b"", b"\x08" * 64, b"\x05" * 1000, b"\x08" * 10**6])
def test_what_is_no_story_is_refused_with_the_remedy(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "game.z8"
    with pytest.raises(DataError, match="cannot be read"):
        check_story(path)
    path.write_bytes(content)
    with pytest.raises(DataError, match="tw-make"):
        check_story(path)


def test_a_story_that_changes_under_its_session_is_noticed(story: Story, tmp_path: Path) -> None:
    for ending in (".z8", ".json"):
        shutil.copy(story("w2-o3-q4").with_suffix(ending), tmp_path / f"game{ending}")
    session = InformSession(tmp_path / "game.z8")
    intro = session.start()
    content = (tmp_path / "game.z8").read_bytes()
    (tmp_path / "game.z8").write_bytes(content[:5000])
    with pytest.raises(DataError, match="bytes"):
        session.start()
    (tmp_path / "game.z8").write_bytes(content)
    assert session.start() == intro
    session.close()


@pytest.fixture
def process() -> Iterator[StoryProcess]:
    process = StoryProcess()
    yield process
    process.close()
    process.close()


@pytest.mark.slow
def test_another_process_plays_the_same_game(story: Story, process: StoryProcess) -> None:
    path = story("w2-o3-q4")
    near, far = InformSession(path), IsolatedSession(path, process)
    assert near.start() == far.start()
    for command in (*(near.policy() or ())[:3], "look", "dance"):
        assert near.act(command) == far.act(command)
        for question in ("admissible", "policy", "state_text", "snapshot", "description",
                         "inventory"):  # fmt: skip
            assert getattr(near, question)() == getattr(far, question)()
        assert near.max_score == far.max_score
    state = far.snapshot()
    far.start()
    far.restore(state)
    assert far.state_text() == near.state_text()
    near.close()
    far.close()
    with pytest.raises(EnvFailure, match="closed"):
        far.act("look")


def kill(env: TextWorldEnv) -> None:
    """Kill the process that plays."""
    assert env._process is not None and env._process._child is not None
    env._process._child.kill()
    env._process._child.wait()


@pytest.mark.slow
def test_a_command_of_which_the_process_dies_is_a_wrong_one(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = IsolatedSession.act

    def dying(self: IsolatedSession, command: str) -> Any:
        if command == "examine me":
            kill(env)
        return act(self, command)

    env = TextWorldEnv(engine="inform7", data={"test": [story("w2-o3-q4")]})
    env.reset(seed=0)
    assert not env.step("look")[2]
    monkeypatch.setattr(IsolatedSession, "act", dying)
    _, reward, terminated, _, info = env.step("examine me")
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert info["stop_reason"] == "action_error"
    assert env.reset(seed=0)[0]
    env.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_environment_has_a_process_of_its_own(story: Story) -> None:
    env = TextWorldEnv(engine="inform7", data={"test": [story("w2-o3-q4")]})
    first = env.reset(seed=0)
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if env.reset(seed=0) == first else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    assert env.step("look")[0].startswith("-= ")
    env.close()


@pytest.mark.slow
def test_a_process_that_is_killed_costs_one_episode(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = TextWorldEnv(
        engine="inform7", data={"test": [story("w2-o3-q4")]}, split="test", reward="dense"
    )
    first = env.reset(seed=0)
    fork = env.snapshot()
    kill(env)
    with pytest.raises(EnvFailure, match="story to be open"):
        env.step("look")
    assert env.reset(seed=0) == first
    kill(env)
    env.restore(fork)
    assert env.step("look")[0].startswith("-= ")
    monkeypatch.setattr(isolated, "SECONDS", 0.0)
    with pytest.raises(EnvFailure, match="more than 0 seconds"):
        env.step("look")
    env.close()


def test_a_game_that_does_not_fit_its_story_is_refused(story: Story, tmp_path: Path) -> None:
    shutil.copy(story("w2-o3-q4"), tmp_path / "game.z8")
    for content in (b"{}", b"[", b'{"version": 1}', b"[" * 100_000):
        (tmp_path / "game.json").write_bytes(content)
        with pytest.raises(DataError, match="TextWorld cannot read"):
            InformSession(tmp_path / "game.z8")
