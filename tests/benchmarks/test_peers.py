"""The game that is played in several projects is the same game, and its workers answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers.__main__ import absent, compare_bars
from benchmarks.peers.game import GUESSES, HIGH, TURNS, Game
from benchmarks.peers.stacks import STACKS, Stack

ROOT = Path(__file__).resolve().parents[2]


def turns_of(number: int) -> int:
    """Return how many of the guesses an episode with this number takes."""
    game = Game()
    game.start(number)
    for turn, guess in enumerate(GUESSES, 1):
        if any(game.step(guess)[2:]):
            return turn
    raise AssertionError(f"{number} was never over")


@pytest.mark.parametrize("name", ["bare Python", "agentgym", "gymnasium"])
def test_every_stack_ends_an_episode_when_the_game_does(name: str) -> None:
    loop = STACKS[name].loop()
    lengths = set()
    for _ in range(40):
        loop.reset()
        lengths.add(next(turn for turn, guess in enumerate(GUESSES, 1) if loop.step(guess)))
    assert lengths <= {turns_of(number) for number in range(1, HIGH + 1)}
    assert TURNS in lengths and len(lengths) > 1


@pytest.mark.parametrize(
    ("name", "face"), [(n, f) for n in ("agentgym", "gymnasium") for f in STACKS[n].vectors]
)
def test_many_at_once_play_on_after_their_ends(name: str, face: str) -> None:
    vector = STACKS[name].vectors[face](2)
    for turn in range(2 * TURNS + 2):
        vector.turn([GUESSES[turn % TURNS]] * 2)
    vector.close()


def test_worker_answers_with_a_number_for_each_request() -> None:
    requests = [
        ["loop", 0.01], ["vector", "slots", 2, 0.01], ["close", "slots", 2], ["bytes_each"],
    ]  # fmt: skip
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.worker", "agentgym"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    loop, vector, closed, size = map(float, process.stdout.split())
    assert loop > 0 and vector > 0 and closed == 0 and size > 0


def test_a_project_that_is_not_installed_is_named_with_what_installs_it() -> None:
    stack = Stack("no_such_project", "no-such", STACKS["gymnasium"].loop, {})
    assert "pip install no-such" in str(absent(stack, sys.executable))


def test_a_missed_bar_is_told() -> None:
    single = {"agentgym": {"steps_per_second": 250_000}}
    vector = {"agentgym, slots": {"64": 149_999}, "agentgym, Gymnasium vector": {"64": 100_000}}
    assert compare_bars(single, vector) == {"loop": True, "slots": False, "Gymnasium vector": True}
