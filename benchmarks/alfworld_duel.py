"""Compare the native and the real ALFWorld engine side by side; used by ``alfworld_parity.py``.

Every game is played in both engines at once, and text, reward, done and the list of admissible
commands are compared at each start and after each command. Only the calls of one engine are timed.
The real engine computes the admissible commands in every step, so the native one is timed with
them, too.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stopwatch import Stopwatch

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game, Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts import oracle
from agentgym.envs.alfworld.original.engine import LocalEngine, OriginalEngine
from agentgym.envs.alfworld.original.process import WorkerEngine
from agentgym.envs.alfworld.original.session import OriginalSession
from agentgym.errors import DataError, DependencyNotInstalled, NotSupported

T = TypeVar("T")

ASPECTS = ("text", "reward", "done", "admissible")
POLICIES = ("mixed", "onward", "random", "oracle")
LOOKING = ("go to ", "look", "inventory", "help", "examine ")
INTERACTING, ODD = 0.6, 0.1
NONSENSE = (
    *("", " ", "\t", "\\", "\U0001f600", "xyzzy", "a" * 5000, "go to moon 1", "go to \u5e8a 1"),
    *("go to", "GO TO", "take", "take everything", "close", "examine", "use desklamp", "look \x00"),
    *("put apple 1 in/on fridge 1", "look\ngo to bed 1", "inventory now"),
)
SHOWN, LONGEST = 10, 400
WATCHES = ("native_parse", "native_reset", "native_step", "native_plan",
           "real_start", "real_reset", "real_step")  # fmt: skip


class EngineFailed(Exception):
    """One of the engines failed; has the engine and its error."""

    def __init__(self, engine: str, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.engine, self.error = engine, error


class Tally:
    """Counts of comparisons and differences, and times.

    Args:
        clock: Processor time, or wall time.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self.games: Counter[str] = Counter()
        self.mismatches: Counter[str] = Counter()
        self.steps = 0
        self.examples: list[dict[str, Any]] = []
        self._kinds: set[tuple[str, str]] = set()
        self.watch = {name: Stopwatch(clock) for name in WATCHES}

    def timed(self, name: str, call: Callable[[], T]) -> T:
        """Time a call of an engine, the part of the name before ``_``.

        Raises:
            EngineFailed: It raised.
        """
        try:
            return self.watch[name](call)
        except Exception as error:
            raise EngineFailed(name.split("_")[0], error) from error

    def example(self, aspect: str, game: Game, kind: str = "", **details: Any) -> None:
        """Keep the first example of each ``kind`` of error."""
        if len(self.examples) < SHOWN and (aspect, kind) not in self._kinds:
            self._kinds.add((aspect, kind))
            short = {name: str(value)[:LONGEST] for name, value in details.items()}
            self.examples.append({"what": aspect, "game": game.id, **short})

    @property
    def good(self) -> bool:
        """Whether games were compared and none differed, was lost or made an engine fail."""
        bad = ("lost", "failed_native", "failed_real")
        return bool(self.games["compared"] and not any(self.mismatches.values())
                    and not any(self.games[kind] for kind in bad))  # fmt: skip

    def report(self) -> dict[str, Any]:
        """Return all as JSON."""
        rates = {side: self.watch[f"{side}_step"].rate for side in ("native", "real")}
        kinds = ("played", "compared", "lost", "dead_ends", "unsolvable", "failed_native",
                 "failed_real")  # fmt: skip
        return {
            "games": {kind: self.games[kind] for kind in kinds},
            "by_type": {kind: self.games[kind] for kind in TASK_TYPES},
            "steps": self.steps,
            "mismatches": {aspect: self.mismatches[aspect] for aspect in ASPECTS},
            "oracle_wins": self.games["won"],
            "examples": self.examples,
            "steps_per_second": {side: round(rate, 1) for side, rate in rates.items()},
            "ratio": round(rates["native"] / rates["real"], 1) if rates["real"] else None,
            "mean_milliseconds": {name: w.milliseconds for name, w in self.watch.items()},
            "good": self.good,
        }


class Duel:
    """One game in both engines, compared at the start and after every command.

    Args:
        game: The game.
        tally: Receives differences and times.
        engine: The real engine.

    Raises:
        EngineFailed: One of the engines failed.
    """

    def __init__(self, game: Game, tally: Tally, engine: OriginalEngine) -> None:
        self.game, self.tally = game, tally
        self.commands: list[str] = []
        self.real = tally.timed("real_start", lambda: OriginalSession(game, engine))
        self.household = tally.timed("native_parse", lambda: Household.of(game))
        self._begin()

    def reset(self) -> None:
        """Restart the game in both."""
        self.tally.timed("real_reset", lambda: self.real.start(self.game))
        self._begin()

    def _begin(self) -> None:
        """Start the game in the native engine, and compare."""
        self.commands = []
        self.native = self.tally.timed("native_reset", self._open)
        sides = (self.native, self.real)
        native_view, real_view = ((s.intro(), 0.0, s.done, s.admissible()) for s in sides)
        self.compare("(reset)", native_view, real_view)

    def _open(self) -> HouseholdSession:
        """Start the game in the native engine, computing all that the real one does at a start."""
        session = HouseholdSession(self.household)
        session.intro()
        session.admissible()
        return session

    def step(self, command: str) -> bool:
        """Execute a command in both; return whether the game continues."""
        native, real = self.native, self.real
        self.commands.append(command)
        native_view = self.tally.timed(
            "native_step", lambda: (*native.step(command), native.admissible())
        )
        real_view = self.tally.timed("real_step", lambda: (*real.step(command), real.admissible()))
        self.tally.steps += 1
        self.compare(command, native_view, real_view)
        return not (native_view[2] or real_view[2])

    def compare(self, command: str, native_view: Sequence[Any], real_view: Sequence[Any]) -> None:
        """Record differences."""
        for aspect, native, real in zip(ASPECTS, native_view, real_view, strict=True):
            if native == real:
                continue
            self.tally.mismatches[aspect] += 1
            if aspect == "admissible":
                more, less = sorted({*native} - {*real}), sorted({*real} - {*native})
                native, real = more or native, less or real
            if aspect == "text":
                native, real = from_difference(native, real)
            kind = command.split(" ")[0]
            self.tally.example(aspect, self.game, kind, after=self.commands[-6:-1],
                               command=command, native=native, real=real)  # fmt: skip

    def follow_the_expert(self) -> bool | None:
        """Execute the expert's plan from here.

        Returns:
            Whether both engines say that the task is solved; None if there is no plan.
        """
        plan = self.tally.timed("native_plan", lambda: oracle.plan(self.native))
        if plan is None:
            return None
        all(self.step(command) for command in plan)  # stops where the game is over
        return self.native.won and self.real.won

    def wander(self, draw: random.Random, steps: int) -> None:
        """Play at random, also beyond a win, which both engines allow."""
        for _ in range(steps):
            self.step(random_command(draw, self.real.admissible()))


def from_difference(native: str, real: str) -> tuple[str, str]:
    """Return two texts from shortly before their first difference."""
    pairs = enumerate(zip(native, real, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(native), len(real)))
    return repr(native[max(0, place - 40) :]), repr(real[max(0, place - 40) :])


def random_command(draw: random.Random, admissible: Sequence[str]) -> str:
    """Draw a command: mostly one with an effect on things, at times an odd one."""
    chance = draw.random()
    acting = [command for command in admissible if not command.startswith(LOOKING)]
    if chance < INTERACTING and acting:
        return draw.choice(acting)
    command = draw.choice(admissible)
    if chance < 1 - ODD:
        return command
    nonsense = draw.choice(NONSENSE)
    return draw.choice([command.upper(), command.title(), f"  {command} ", f"{command}\n",
                        command.replace(" ", "  "), f"{command}.", f"\u00a0{command}",
                        command[:-1], nonsense, nonsense, nonsense])  # fmt: skip


class Arena:
    """Plays games one after the other in one pair of engines, counting failures.

    Args:
        policy: One of :data:`POLICIES`.
        steps: Commands of the random play.
        seed: Seed of the random play; every game has a separate generator.
        worker: Run the real engine in a separate process.
    """

    def __init__(
        self, policy: str = "mixed", steps: int = 20, seed: int = 0, worker: bool = False
    ) -> None:
        self.policy, self.steps, self.seed, self.worker = policy, steps, seed, worker
        self.tally = Tally(time.perf_counter if worker else time.process_time)
        self._engine: OriginalEngine | None = None

    def play(self, game: Game, *, solvable: bool = True) -> None:
        """Play one game; failures are counted.

        Args:
            game: The game.
            solvable: Whether it is said to be solvable.

        Raises:
            DependencyNotInstalled: alfworld is absent.
            NotSupported: The packages do not work on this Python.
        """
        games = self.tally.games
        games["played"] += 1
        games[game.task_type] += 1
        if self._engine is None:
            self._engine = WorkerEngine() if self.worker else LocalEngine()
        try:
            duel = Duel(game, self.tally, self._engine)
            won = self._play(duel)
        except EngineFailed as failure:
            self.close()
            if isinstance(failure.error, (DependencyNotInstalled, NotSupported)):
                raise failure.error from None
            if failure.engine == "real" and isinstance(failure.error, DataError) and no_plan(game):
                games["unsolvable"] += 1
                return
            games[f"failed_{failure.engine}"] += 1
            self.tally.example(f"failed_{failure.engine}", game, error=failure)
            return
        games["compared"] += 1
        if won is None and not solvable:
            games["unsolvable"] += 1
        elif self.policy != "random":
            games["won" if won else "lost"] += 1
            if not won:
                self.tally.example("lost", game, game.task_type, expert=won, played=duel.commands)

    def close(self) -> None:
        """Release the real engine; the next game acquires it again."""
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def __enter__(self) -> Arena:
        """Return the arena."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def _play(self, duel: Duel) -> bool | None:
        """Play by the policy; return whether the expert won each time, None if it had no plan."""
        if self.policy != "oracle":
            duel.wander(random.Random(f"{self.seed} {duel.game.id}"), self.steps)
        first = True if self.policy == "random" else duel.follow_the_expert()
        if first is None and stuck(duel.native):
            self.tally.games["dead_ends"] += 1
            first = True
        elif self.policy != "mixed":
            return first
        duel.reset()
        last = duel.follow_the_expert()
        return None if last is None else bool(first and last)


def stuck(session: HouseholdSession) -> bool:
    """Return whether the hand is stuck with an object that no receptacle accepts."""
    carried = session.state.hand
    return carried >= 0 and not any(carried in accepted for accepted in session.household.accepts)


def no_plan(game: Game) -> bool:
    """Return whether the native engine has no plan for a game either."""
    try:
        return oracle.plan(HouseholdSession(Household.of(game))) is None
    except Exception:
        return True
