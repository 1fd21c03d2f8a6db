"""Our machine against TextWorld's own, step by step, over games of every challenge."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld.engine.commands import GroundAction
from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld

core = pytest.importorskip("textworld.core", reason="parity needs the package textworld")

GAMES = {
    "small": ("w2-o3-q4", {}, 3),
    "parallel": ("w4-o8-q3", {"nb_parallel_quests": 2}, 2),
    "numbered": ("w4-o6-q5", {"theme": "basic", "entity_numbering": True}, 0),
    "coin": ("coin_collector", {"level": 106}, 0),
    "treasure-easy": ("treasure_hunter", {"level": 6}, 1),
    "treasure-doors": ("treasure_hunter", {"level": 18}, 0),
    "treasure-locks": ("treasure_hunter", {"level": 22}, 4),
    "simple": ("simple", {"rewards": "dense"}, 2),
    "cooking-medium": ("cooking-medium", {}, 3),
    "cooking-drop": ("cooking-medium", {"drop": True, "go": 1}, 2),
}
"""Name to setting, parameters and seed."""
LOSES = {"treasure-easy", "simple", "cooking-medium"}
"""Games that wrong steps can lose."""
MEAL = "prepare meal"
"""Where walks end. Of its several actions TextWorld's machine takes the first rule's, which leaves
ingredients over; ours takes the one with the most conditions, as the compiled game does, and is
compared with that in ``tests/envs/textworld/inform/test_parity.py``."""
TURNS = 25
JUNK = ("", "look ", " inventory", "take nothing", "examine", "go up", "?\n", "xyzzy")


@pytest.fixture(scope="module", params=GAMES)
def game(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    from agentgym.envs.textworld.generator.config import GeneratorConfig
    from agentgym.envs.textworld.generator.generate import make_game

    name, parameters, seed = GAMES[request.param]
    return request.param, make_game(GeneratorConfig.of(name, **parameters), seed)


class _Pair:
    """Both machines over one game."""

    def __init__(self, game: dict[str, Any], folder: Path) -> None:
        from textworld.envs.tw import TextWorldEnv

        path = folder / "game.json"
        path.write_text(json.dumps(game))
        fields = ("policy_commands", "moves", "last_action")
        self.env = TextWorldEnv(core.EnvInfos(**dict.fromkeys(fields, True)))
        self.env.load(str(path))
        self.machine = Machine(GameWorld.of(game))

    def start(self) -> None:
        self.state = self.env.reset()
        self.machine.reset()
        self.compare()

    def act(self, command: str) -> None:
        self.state, score, is_done = self.env.step(command)
        action = self.machine.command(command)
        assert (action is None) == (self.state["_last_action"] is None), command
        if action is not None:
            self.machine.apply(action)
            self._compare_action(action, self.state["_last_action"])
        self.compare()
        assert (self.machine.score, self.machine.done) == (score, is_done)

    def compare(self) -> None:
        state, machine = self.state, self.machine
        assert list(machine.admissible()) == state["admissible_commands"]
        assert machine.facts == frozenset(map(_fact, state["_facts"]))
        assert list(machine.policy()) == state["policy_commands"]
        assert (machine.won, machine.lost) == (state["won"], state["lost"])
        assert machine.moves == state["moves"]

    def _compare_action(self, native: GroundAction, original: Any) -> None:
        assert native.name == original.name
        bindings = {place.name: entity.name for place, entity in original.mapping.items()}
        assert native.bindings.items() <= bindings.items()


def _fact(proposition: Any) -> tuple[str, ...]:
    return (proposition.name, *proposition.names)


def _walk(machine: Machine, rng: random.Random, detours: float, junk: float) -> Iterator[str]:
    """Follow the plan with detours and nonsense, and five turns beyond the end."""
    beyond = 0
    for _ in range(TURNS):
        beyond += machine.done
        if beyond > 5:
            return
        plan = machine.policy()
        command = rng.choice(machine.admissible())
        if rng.random() < junk:
            command = rng.choice(JUNK)
        elif plan and rng.random() >= detours:
            command = plan[0]
        if command == MEAL:
            return
        yield command


def _losing_walk(game: dict[str, Any], rng: random.Random) -> list[str]:
    """Search for commands that lose, with our machine alone: it is fast."""
    machine = Machine(GameWorld.of(game))
    for _ in range(400):
        machine.reset()
        commands = []
        for _ in range(40):
            plan = machine.policy() if rng.random() < 0.5 else ()
            commands.append(plan[0] if plan else rng.choice(machine.admissible()))
            if commands[-1] == MEAL:
                break
            action = machine.command(commands[-1])
            assert action is not None
            machine.apply(action)
            if machine.lost:
                return commands
    return []


@pytest.mark.slow
def test_both_machines_agree(game: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    name, data = game
    pair = _Pair(data, tmp_path)
    for seed, detours in enumerate((0.0, 0.4, 1.0)):
        rng = random.Random(seed)
        pair.start()
        for command in _walk(pair.machine, rng, detours, junk=0.0 if detours == 0 else 0.05):
            pair.act(command)
        if detours == 0 and not name.startswith("cooking"):
            assert pair.machine.won or len(pair.machine.world.beginning[0].wins[0].plan) > TURNS


@pytest.mark.parametrize("game", sorted(LOSES), indirect=True)
def test_both_machines_agree_on_losing(game: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    name, data = game
    rng = random.Random(1)
    commands = _losing_walk(data, rng)
    assert commands, name
    pair = _Pair(data, tmp_path)
    pair.start()
    for command in commands:
        pair.act(command)
    assert pair.machine.lost
    for _ in range(3):
        pair.act(rng.choice(pair.machine.admissible()))
