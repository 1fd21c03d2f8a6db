"""Compare the native TextWorld engine with Inform 7, command by command.

    python benchmarks/textworld_parity.py [--per-challenge N] [--challenge NAME] [--seed 0]
                                          [--walks 3] [--steps 50]

Needs the package ``textworld``: each game is generated, compiled to a story file and played by its
interpreter, and by the native engine from the game's JSON. Both get the same commands and must give
equal answers: text, points, win and loss, admissible commands and state. The commands are

- ``admissible``: what the rules allow; the first walk follows the plan, the others are random;
- ``inadmissible``: the game's own verbs with any of its things;
- ``free``: abbreviations, other verbs, lists, half sentences, questions left open, nonsense.

Without ``--per-challenge`` there are 52 games, of all five challenges, varied. The exit
code is 1 where anything differs or nothing was compared. Times are processor time.

Smallest run: ``--challenge simple --per-challenge 1 --walks 1``
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance import to_json
from stopwatch import Stopwatch

from agentgym.envs.textworld.engine.session import NativeSession
from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import make_game
from agentgym.envs.textworld.original.inform7 import InformSession
from agentgym.envs.textworld.original.story_file import compile_game
from agentgym.envs.textworld.sanitise import read_command
from agentgym.envs.textworld.session import GameSession, GameTurn
from agentgym.errors import AgentGymError, DataError

SHOWN = 10
COMPARED = ("text", "score", "won", "lost")
KINDS = ("admissible", "inadmissible", "free")
GAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("w2-o3-q4", {}),
    ("w4-o6-q8", {}),
    ("w8-o12-q16", {}),
    ("custom", {"world_size": 4, "nb_objects": 10, "theme": "basic"}),
    ("custom", {"world_size": 5, "nb_objects": 12, "include_adj": True}),
    ("custom", {"world_size": 5, "nb_objects": 10, "blend_instructions": True}),
    ("custom", {"world_size": 3, "nb_objects": 20, "only_last_action": True}),
    ("custom", {"world_size": 6, "nb_objects": 20, "entity_numbering": True}),
    ("custom", {"world_size": 1, "nb_objects": 12}),
    ("custom", {"world_size": 6, "nb_objects": 28}),
    ("custom", {"world_size": 5, "nb_objects": 10, "blend_descriptions": True}),
    ("custom", {"world_size": 6, "nb_objects": 15, "nb_parallel_quests": 2}),
    *(("coin_collector", {"level": level}) for level in (1, 3, 5, 8, 12, 103, 110, 203, 208)),
    *(("treasure_hunter", {"level": level}) for level in (1, 4, 8, 11, 14, 17, 20, 21, 23, 26)),
    *(("simple", {"rewards": rewards, "goal": goal}) for rewards in ("dense", "balanced", "sparse")
      for goal in ("detailed", "brief", "none")),
    ("cooking", {}),
    ("cooking", {"recipe": 1, "take": 1, "go": 6, "open": True, "cook": True, "cut": True}),
    ("cooking", {"recipe": 3, "take": 2, "go": 9, "open": True, "cook": True, "cut": True,
                 "drop": True}),
    ("cooking", {"recipe": 2, "take": 2, "go": 12, "open": True}),
    ("cooking", {"recipe": 4, "take": 2, "go": 6, "cut": True}),
    ("cooking", {"recipe": 5, "take": 4, "go": 12, "open": True, "cook": True, "cut": True}),
    ("cooking", {"recipe": 2, "take": 1, "go": 1, "cook": True, "cut": True, "drop": True}),
    ("cooking", {"recipe": 3, "take": 1, "go": 6, "cook": True}),
    ("cooking", {"recipe": 1, "take": 1, "go": 9, "open": True}),
    ("cooking", {"recipe": 2, "go": 6, "cook": True, "cut": True}),
    ("cooking", {"recipe": 3, "take": 3, "go": 1, "open": True, "cook": True}),
    ("cooking", {"recipe": 2, "take": 2, "go": 9, "open": True, "cut": True, "drop": True}),
)  # fmt: skip
OWN = ("take {}", "drop {}", "open {}", "close {}", "examine {}", "eat {}", "take {} from {}",
       "put {} on {}", "insert {} into {}", "lock {} with {}", "unlock {} with {}", "go {way}",
       "look", "inventory")  # fmt: skip
COOKING = ("cook {} with {}", "slice {} with {}", "chop {} with {}", "dice {} with {}", "drink {}",
           "prepare meal")  # fmt: skip
FREE = (
    "n", "s", "e", "w", "l", "i", "in", "out", "up", "it", "x", "foo", "wait", "help", "goal",
    "score", "jump", "smell", "listen", "exit", "stand", "sleep", "yes", "no", "think", "take",
    "open", "eat", "drop", "close", "examine", "wave", "sorry", "prepare", "wake", "go", "go up",
    "x it", "take it", "x me", "kiss me", "drop all", "take all", "take two", "get out", "stand up",
    "take inventory", "look around", "go back", "inventory please", "I think I should go north",
    "unlock the door", "examine the walls", "say hello",
)  # fmt: skip
FREE_ABOUT = (
    "x {}", "get {}", "pick up {}", "take the {}", "take a {}", "take my {}", "take {} and {}",
    "take all from {}", "put all on {}", "examine the {}", "look at {}", "look {}", "look in {}",
    "look under {}", "search {}", "enter {}", "go {}", "go to {}", "push {}", "pull {}", "turn {}",
    "move {}", "unlock {}", "unlock {} with", "unlock {} using {}", "open {} with {}", "lock {}",
    "put {}", "put {} in {}", "put {} on {} now", "put down {}", "insert {} in {}", "north {}",
    "take {} {}", "use {}", "read {}", "touch {}", "attack {}", "sit on {}", "stand on {}",
    "wear {}", "take off {}", "take {} off", "remove {}", "remove {} from {}", "give {} to me",
    "throw {} at {}", "drop {} and {}", "drop everything but {}", "cut {}", "chop {}", "drink {}",
    "burn {}", "tie {} to {}", "switch on {}", "climb {}", "tell me about {}", "ask me for {}",
    "set {} to 5", "buy {}", "squeeze {}", "swing {}", "wave {}", "rub {}", "taste {}", "{}",
    "the {}", "cook {}", "cook {} in {}", "listen to {}",
)  # fmt: skip


class Duel:
    """One game in both engines.

    Args:
        game: Its JSON.
        story: Its compiled story file.
        watches: A stopwatch for each engine.
    """

    def __init__(self, game: dict[str, Any], story: Path, watches: dict[str, Stopwatch]) -> None:
        self.sessions: dict[str, GameSession] = {
            "inform7": InformSession(story), "native": NativeSession(game)
        }  # fmt: skip
        self._watches = watches
        infos = [info for _, info in game["infos"] if info["name"]]
        self.names = [i["name"] for i in infos if i["type"] not in ("r", "slot", "ingredient")]
        self._cooking = game["metadata"].get("uuid", "").startswith("tw-cooking")

    def start(self) -> dict[str, str]:
        """Start both engines."""
        return {name: session.start() for name, session in self.sessions.items()}

    def act(self, command: str) -> dict[str, GameTurn]:
        """Give both engines a command."""
        return {name: self._watches[name](lambda s=session: s.act(command))  # type: ignore[misc]
                for name, session in self.sessions.items()}  # fmt: skip

    def command(self, kind: str, follow: bool, rng: random.Random) -> str:
        """Choose a command of a kind."""
        session = self.sessions["native"]
        commands = session.admissible()
        if kind == "admissible":
            plan = session.policy() if follow else None
            return plan[0] if plan else rng.choice(commands)
        words = {word for command in commands for word in command.split()}
        near = [name for name in self.names if words & set(name.split())] or self.names
        names = [rng.choice(near if rng.random() < 0.85 else self.names) for _ in range(2)]
        if kind == "inadmissible":
            template = rng.choice(OWN + COOKING * self._cooking)
            return template.format(*names, way=rng.choice(("north", "south", "east", "west")))
        short = [rng.choice(name.split()) if rng.random() < 0.35 else name for name in names]
        if rng.random() < 0.3:
            return rng.choice(FREE)
        return rng.choice(FREE_ABOUT).format(*short)


class Tally:
    """Counts comparisons and differences."""

    def __init__(self) -> None:
        self.steps: dict[str, Counter[str]] = {}
        self.differences: dict[str, Counter[str]] = {}
        self.examples: list[dict[str, Any]] = []
        self.ends: Counter[str] = Counter()

    def compare(
        self, game: str, kind: str, aspect: str, command: str, values: dict[str, Any]
    ) -> bool:
        """Compare one value; return whether it is equal."""
        if values["inform7"] == values["native"]:
            return True
        challenge = game.split("/")[0]
        self.differences.setdefault(challenge, Counter())[f"{kind}.{aspect}"] += 1
        if len(self.examples) < SHOWN:
            self.examples.append({"game": game, "what": aspect, "command": command, **values})
        return False

    def walk(self, name: str, duel: Duel, steps: int, follow: bool, rng: random.Random) -> None:
        """Play one episode in both engines."""
        count = self.steps.setdefault(name.split("/")[0], Counter())
        count["starts"] += 1
        self.compare(name, "start", "text", "", duel.start())
        for _ in range(steps):
            kind = rng.choices(KINDS, (0.5, 0.2, 0.3))[0]
            command = read_command(duel.command(kind, follow, rng))
            if command.refusal:
                continue
            if command.text in duel.sessions["native"].admissible():
                kind = "admissible"
            count[kind] += 1
            turns = duel.act(command.text)
            for aspect in COMPARED:
                values = {engine: getattr(turn, aspect) for engine, turn in turns.items()}
                self.compare(name, kind, aspect, command.text, values)
            states = {engine: s.state_text() for engine, s in duel.sessions.items()}
            admissible = {engine: s.admissible() for engine, s in duel.sessions.items()}
            is_same = self.compare(name, kind, "state", command.text, states)
            turn = turns["inform7"]
            if turn.won or turn.lost:
                self.ends["won" if turn.won else "lost"] += 1
                return
            if not (is_same and self.compare(name, kind, "admissible", command.text, admissible)):
                return


def choose_games(
    per_challenge: int | None, challenge: str | None
) -> list[tuple[str, dict[str, Any]]]:
    """Choose games: all, some of each challenge, or those of one."""
    games, count = [], Counter[str]()
    for name, parameters in GAMES:
        kind = GeneratorConfig.of(name, **parameters).challenge
        count[kind] += 1
        fits = challenge is None or kind == challenge
        if fits and (per_challenge is None or count[kind] <= per_challenge):
            games.append((name, parameters))
    return games


def play(args: argparse.Namespace, watches: dict[str, Stopwatch]) -> dict[str, Any]:
    """Play all games."""
    tally, skipped, n_played = Tally(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, parameters) in enumerate(
            choose_games(args.per_challenge, args.challenge)
        ):
            setting, seed = GeneratorConfig.of(name, **parameters), args.seed + 1000 * (number + 1)
            label = f"{setting.challenge}/{setting.key()}/{seed}"
            try:
                game = make_game(setting, seed, "test")
                duel = Duel(game, compile_game(game, Path(folder, f"{number}.z8")), watches)
            except DataError as error:
                skipped.append(f"{label}: {error}")
                continue
            n_played += 1
            for walk in range(args.walks):
                rng = random.Random(f"{seed}/{walk}")
                tally.walk(label, duel, args.steps, walk == 0, rng)
            for session in duel.sessions.values():
                session.close()
    total = sum(tally.steps.values(), Counter())
    differences = sum(tally.differences.values(), Counter())
    return {
        "games": n_played, "skipped": skipped, "steps": dict(total), "ends": dict(tally.ends),
        "differences": dict(differences),
        "by_challenge": {name: {"steps": dict(steps),
                                "differences": dict(tally.differences.get(name, Counter()))}
                         for name, steps in tally.steps.items()},
        "steps_per_second": {name: round(watch.rate, 1) for name, watch in watches.items()},
        "times_faster": round(watches["native"].rate / watches["inform7"].rate, 1),
        "examples": tally.examples,
    }  # fmt: skip


def main() -> int:
    """Run the comparison and print its result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--per-challenge", type=int)
    parser.add_argument("--challenge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--walks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    watches = {name: Stopwatch(time.process_time) for name in ("inform7", "native")}
    try:
        result = play(args, watches)
    except AgentGymError as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(to_json(result))
    return int("error" in result or bool(result["differences"]) or not result["games"])


if __name__ == "__main__":
    sys.exit(main())
