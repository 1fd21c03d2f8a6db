"""The base of the experts that use only text they have read, and so can be imitated.

They explore until they have seen everything that the task needs, then follow the shortest plan
through it. Each subclass defines where it looks and how it moves.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from agentgym.envs.alfworld.engine.actions import VERBS, HouseholdAction, command_of, perform
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState
from agentgym.envs.alfworld.experts.base import Expert
from agentgym.envs.alfworld.experts.oracle import plan_from


class Memory(NamedTuple):
    """The text read so far, as an immutable value."""

    explored: frozenset[int] = frozenset()
    """Receptacles whose contents have been shown."""
    objects: frozenset[int] = frozenset()
    """Objects that have been shown, taken or put down."""
    last: int = NOBODY
    """The receptacle that was shown last, open or closed."""
    examined: frozenset[int] = frozenset()
    """Objects that were clean, hot or cool from the beginning, and of which that is known."""
    moved: bool = False
    """Whether an object is in its place: if the game is not won, it needs a treatment."""


class ReadingExpert(Expert):
    """An expert that uses only text it has read."""

    def __init__(self) -> None:
        super().__init__()
        self._memory = Memory()

    def _find(self, session: HouseholdSession) -> tuple[str, ...] | None:
        return self._play(session.household, session.state, self._memory)

    def _stale(self, session: HouseholdSession, action: HouseholdAction, changed: bool) -> bool:
        old_memory = self._memory
        self._memory = remember(old_memory, session.household, session.state, action)
        return changed or self._memory is not old_memory

    def _play(
        self, house: Household, state: HouseholdState, memory: Memory
    ) -> tuple[str, ...] | None:
        """Return all that the expert will do, found by letting it play a copy of the game.

        None if everything will have been seen and there is no plan.

        It ends: every plan that is followed gets shorter, and a new one is only made when something
        is seen for the first time.
        """
        needed, decisive = _needed(house), _decisive(house)
        won = house.goal.satisfied(state)
        commands: list[str] = []
        plan: tuple[HouseholdAction, ...] | None = None
        discovery = True
        while not won:
            if discovery or plan == ():
                plan = plan_from(house, self._believed(memory, house, state))
                if plan == ():  # All is done as believed, and the game is not won.
                    memory = memory._replace(moved=True)
                    plan = plan_from(house, self._believed(memory, house, state))
            if plan is None:
                action = _look_here(memory, house, state) or self._explore(memory, house, state)
            else:
                action = self._step(memory, house, state, plan[0]) if plan else None
                plan = plan[action == plan[0] :] if plan else plan
            if action is None:
                return None
            command = command_of(house, action)
            if command != command.strip():  # as for the plans of the oracle
                return None
            commands.append(command)
            state, _ = perform(house, state, action)
            old_memory, memory = memory, remember(memory, house, state, action)
            fresh = memory.objects is not old_memory.objects
            discovery = fresh and not needed.isdisjoint(memory.objects - old_memory.objects)
            won = action.verb in decisive and house.goal.satisfied(state)
        return tuple(commands)

    def _believed(self, memory: Memory, house: Household, state: HouseholdState) -> HouseholdState:
        """Return a state with the objects that have been read of, each as it was when last seen."""
        objects = memory.objects | {state.hand}
        contents = [
            tuple([x for x in content if x in objects]) if content else ()
            for content in state.contents
        ]
        start, examined = house.start, memory.examined
        return state._replace(
            contents=tuple(contents),
            clean=state.clean - (start.clean - examined),
            hot=state.hot - (start.hot - examined),
            cool=state.cool - (start.cool - examined),
        )

    @abstractmethod
    def _explore(
        self, memory: Memory, house: Household, state: HouseholdState
    ) -> HouseholdAction | None:
        """Go to a receptacle that may show something new; None if all has been seen."""

    def _step(
        self, memory: Memory, house: Household, state: HouseholdState, planned: HouseholdAction
    ) -> HouseholdAction:
        """Return the next action on the way to a planned one; here, the planned one."""
        return planned


def remember(
    memory: Memory, house: Household, state: HouseholdState, action: HouseholdAction
) -> Memory:
    """Add the information in the answer to an action; the same object is returned if there is none.

    ``state`` is the one after the action.
    """
    explored, objects, last, examined, moved = memory
    if action.verb in ("take", "move"):
        remembered = action.first in objects and moved >= (action.verb == "move")
        return (
            memory
            if remembered
            else memory._replace(
                objects=objects if action.first in objects else objects | {action.first},
                moved=moved or action.verb == "move",
            )
        )
    if action.verb == "examine" or action.verb in house.appliances:
        start, entity = house.start, action.first
        surprising = entity in start.clean or entity in start.hot or entity in start.cool
        tells = action.verb != "examine" or entity not in house.containers
        if not surprising or not tells or entity in examined:
            return memory
        return memory._replace(examined=examined | {entity})
    if action.verb not in ("go", "open", "check"):
        return memory
    receptacle = action.first
    if receptacle in house.openable and receptacle not in state.opened:
        return memory if receptacle == last else memory._replace(last=receptacle)
    contents = state.contents[receptacle]
    if receptacle == last and receptacle in explored and objects.issuperset(contents):
        return memory
    return memory._replace(
        explored=explored | {receptacle}, objects=objects.union(contents), last=receptacle
    )


def _needed(house: Household) -> frozenset[int]:
    """Return the entities that a plan may depend on; seeing any other changes no plan."""
    mentioned = set[int]()
    for query in house.goal.queries:
        mentioned.update(*query.domains)
        for literal in query.fluents:
            mentioned.update(literal.args)
            mentioned.update(house.knives if literal.predicate == "issliced" else ())
    return frozenset(mentioned)


def _decisive(house: Household) -> frozenset[str]:
    """Return the verbs that may win: walking about and opening doors does in few goals only."""
    predicates = {literal.predicate for query in house.goal.queries for literal in query.fluents}
    idle = set() if predicates & {"atlocation", "opened"} else {"go", "open"}
    return frozenset(VERBS.keys() - {"check"} - idle)


def _look_here(memory: Memory, house: Household, state: HouseholdState) -> HouseholdAction | None:
    """Return the action that shows one more receptacle of this place; None if all are known."""
    for receptacle in house.receptacles_at.get(state.place, ()):
        if receptacle not in memory.explored:
            closed = receptacle in house.openable and receptacle not in state.opened
            return HouseholdAction("open" if closed else "check", receptacle)
    return None
