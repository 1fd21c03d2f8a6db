"""A running game in one of the engines, with its experts."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentgym.envs.alfworld.engine.household import Game, Household, shared_household
from agentgym.envs.alfworld.engine.refusals import refusal
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.engine.state import HouseholdState
from agentgym.envs.alfworld.experts import EXPERTS
from agentgym.envs.alfworld.experts.base import Expert
from agentgym.envs.alfworld.experts.oracle import OracleExpert
from agentgym.envs.alfworld.original.session import OriginalSession, open_original
from agentgym.errors import ConfigurationError

ENGINES = ("native", "alfworld")


class GameSnapshot(NamedTuple):
    """A game at one point, as :meth:`GameSession.snapshot` returns it."""

    engine: str
    """Name of the engine."""
    expert: str
    """Name of the expert."""
    state: HouseholdState
    """State of the native engine."""
    plan_length: int | None
    """Length of the shortest plan from the start."""
    experts: tuple[dict[str, Any], ...]
    """State of the experts."""
    original: Any
    """State of the original engine; None without it."""


class GameSession:
    """A game in play.

    The native engine always runs: it provides the state and the experts' plans. With the engine
    ``alfworld`` the original runs beside it and provides the answers.
    """

    def __init__(self, engine: str = "native", expert: str = "oracle") -> None:
        self.engine, self.expert = engine, expert
        self._native: HouseholdSession | None = None
        self._original: OriginalSession | None = None
        self._plan_length: int | None = None
        self._begin()

    def start(self, game: Game) -> str:
        """Begin a game and return the engine's first text.

        Raises:
            DataError: The game is malformed.
            EnvFailure: The original engine failed.
        """
        self._native = HouseholdSession(shared_household(game))
        text = self._native.intro()
        self._begin()
        plan = self._shortest.plan(self._native)
        self._plan_length = None if plan is None else len(plan)
        if self.engine == "native":
            return text
        if self._original is None:
            self._original = open_original(game)
            return self._original.intro()
        return self._original.start(game)

    @property
    def native(self) -> HouseholdSession:
        """The native engine's session."""
        assert self._native is not None, "start a game first"
        return self._native

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that do something now, sorted."""
        return self.native.admissible()

    def step(self, command: str) -> tuple[str, bool, bool]:
        """Carry out a command; return the answer, whether it was admissible, and whether it won.

        Raises:
            EnvFailure: The original engine failed.
        """
        session, old_state = self.native, self.native.state
        action = session.find(command)
        answer, _, won = session.act(action)
        if action is not None:
            changed = session.state is not old_state
            for expert in self._experts:
                expert.observe(session, action, command.strip(), changed)
        if self._original is not None:
            answer, _, won = self._original.step(command)
        return answer, action is not None, won

    def refusal(self, command: str) -> str:
        """Explain why an inadmissible command does nothing, using only visible information."""
        return refusal(self.native, command)

    def turns_left(self) -> int | None:
        """Return the number of turns that the chosen expert still needs; None if it cannot win."""
        plan = self._active_expert.plan(self.native)
        return None if plan is None else len(plan)

    def oracle_command(self) -> str | None:
        """Return the next command of the shortest plan; None if the game is won or cannot be."""
        plan = self._shortest.plan(self.native)
        return plan[0] if plan else None

    def expert_command(self) -> str | None:
        """Return the chosen expert's next command; None if the game is won or cannot be won."""
        plan = self._active_expert.plan(self.native)
        return plan[0] if plan else None

    @property
    def progress(self) -> float:
        """Completed share of the shortest plan: ``1 - left / whole``, for every expert.

        It is 0 at the start, 1 when the task is solved, and below 0 after a step in the wrong
        direction; the differences of successive values sum to 1 over a solved task.
        """
        plan = self._shortest.plan(self.native)
        if not plan:
            return 0.0 if plan is None else 1.0
        return 1.0 - len(plan) / self._plan_length if self._plan_length else 0.0

    def state_text(self) -> str:
        """Return a text that is equal for equal states of a game."""
        return self.native.state_text()

    def snapshot(self) -> GameSnapshot:
        """Fork the game: return a picklable snapshot for :meth:`restore`."""
        original = None if self._original is None else self._original.snapshot()
        experts = tuple(expert.snapshot() for expert in self._experts)
        state = self.native.snapshot()
        return GameSnapshot(self.engine, self.expert, state, self._plan_length, experts, original)

    def restore(self, game: Game, snapshot: GameSnapshot) -> None:
        """Go to the state of a snapshot of the same game.

        Raises:
            ConfigurationError: The snapshot is of another engine, expert or game; nothing has
                changed then.
            EnvFailure: The original engine failed.
        """
        household = shared_household(game)
        self._check(household, snapshot)
        # The steps that can fail come first, so that a failure leaves the game unchanged.
        if self.engine != "native":
            if self._original is None:
                self._original = open_original(game)
            self._original.restore(snapshot.original)
        self._native = HouseholdSession(household)
        self._native.restore(snapshot.state)
        self._plan_length = snapshot.plan_length
        self._begin()
        for expert, memory in zip(self._experts, snapshot.experts, strict=True):
            expert.restore(memory)

    def close(self) -> None:
        """Release the original engine, if there is one; may be called twice."""
        if self._original is not None:
            self._original.close()
            self._original = None

    def _begin(self) -> None:
        """Make experts in their initial state; the shortest plan is always needed, for progress."""
        self._shortest = OracleExpert()
        self._active_expert: Expert = self._shortest
        self._experts: tuple[Expert, ...] = (self._shortest,)
        if self.expert != "oracle":
            self._active_expert = EXPERTS[self.expert]()
            self._experts = (self._shortest, self._active_expert)

    def _check(self, household: Household, snapshot: Any) -> None:
        """Raise unless a snapshot belongs to this engine, expert and game."""
        expectation = f"a snapshot of engine={self.engine!r} with expert={self.expert!r}"
        if not isinstance(snapshot, GameSnapshot):
            raise ConfigurationError(f"expected {expectation}, got {type(snapshot).__name__}")
        if (snapshot.engine, snapshot.expert) != (self.engine, self.expert):
            raise ConfigurationError(
                f"expected {expectation}, got one of engine={snapshot.engine!r} with "
                f"expert={snapshot.expert!r}; restore it in an environment made like the one it "
                "was taken from"
            )
        if len(snapshot.state.contents) != len(household.places):
            raise ConfigurationError(
                f"expected a snapshot of the game {household.game.id}, got one of a room with "
                f"{len(snapshot.state.contents)} receptacles instead of {len(household.places)}"
            )
