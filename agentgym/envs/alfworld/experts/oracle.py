"""The oracle: the fewest commands that fulfil the goal, from any state, without a planner.

It knows where everything is. The goal is read as what each object needs (where it must be, how it
must have been treated, whether it must be in hand or on), and this as the subgoals of a
:class:`~agentgym.envs.alfworld.experts.plan_search.PlanSearch`. That covers all task types of
ALFWorld and their sliced variants. Plans for goals that say more are checked by carrying them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import product

from agentgym.envs.alfworld.engine.actions import HouseholdAction, command_of, perform
from agentgym.envs.alfworld.engine.goals import FLUENTS, Literal, Query
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState
from agentgym.envs.alfworld.experts.base import Expert
from agentgym.envs.alfworld.experts.plan_search import (
    EndPosition,
    PartialPlan,
    PlanSearch,
    Subgoal,
)

TREATMENTS = {"isclean": "clean", "ishot": "heat", "iscool": "cool", "issliced": "slice"}
"""Predicate of a goal -> verb that makes it true."""


@dataclass(slots=True)
class ObjectNeed:
    """What a goal asks of one term that stands for an object."""

    term: int
    treatments: list[str] = field(default_factory=list)
    where: int | None = None
    """Term for the receptacle that it must be in."""
    in_hand: bool = False
    toggled: bool = False


class OracleExpert(Expert):
    """The oracle, which knows where everything is and takes the fewest turns."""

    def _find(self, session: HouseholdSession) -> tuple[str, ...] | None:
        return plan(session)

    def _stale(self, session: HouseholdSession, action: HouseholdAction, changed: bool) -> bool:
        return changed


def plan(session: HouseholdSession) -> tuple[str, ...] | None:
    """Return the fewest commands that win from the present state; the session is not changed.

    The first command of a plan leads to a state whose plan is one shorter.

    Returns:
        The commands, none of them when the game is won; None if the goal cannot be fulfilled, or if
        no task type has its form.
    """
    house = session.household
    actions = plan_from(house, session.state)
    commands = [command_of(house, action) for action in actions or ()]
    # A name without a number ends in a blank, and a command that ends so cannot be given.
    typable = all(command == command.strip() for command in commands)
    return None if actions is None or not typable else tuple(commands)


def plan_from(house: Household, state: HouseholdState) -> tuple[HouseholdAction, ...] | None:
    """Return the actions of a shortest plan from a state, as :func:`plan` does."""
    if house.goal.satisfied(state):
        return ()
    best: PartialPlan | None = None
    origin = PartialPlan(state.place, state.hand, frozenset(), 0, None)
    for query in house.goal.queries:
        needs, exact = _read_needs(query)
        slices = [need for need in needs if "slice" in need.treatments]
        search = PlanSearch(house, state, best)
        for start in (origin, *(_slice_first(search, query, slices) if slices else ())):
            if start is not origin:
                search = PlanSearch(house, _state_after(house, state, start), best)
            _search(search, query, needs, start)
            candidate = search.best
            if candidate is not best and (exact or _wins(house, state, candidate)):
                best = candidate
    return None if best is None else tuple(best.actions())


def _search(
    search: PlanSearch, query: Query, needs: Sequence[ObjectNeed], start: PartialPlan
) -> None:
    """Search plans for one query that continue the actions leading to ``start``."""
    lamps = [need for need in needs if need.toggled]
    hand_needs = [need for need in needs if need.in_hand]
    if len(lamps) > 1 or len(hand_needs) > 1:
        return
    end_positions = _end_positions(search, query, lamps[0] if lamps else None)
    put = [need for need in needs if need.where is not None and not need.toggled]
    loose = [need for need in needs if need.where is None and not need.in_hand and not need.toggled]
    carried = [_subgoal(query, need) for need in (*loose, *hand_needs)]
    for subgoals in _deliveries(search, query, put):
        search.run([*subgoals, *carried], end_positions, start)


def _subgoal(
    query: Query, need: ObjectNeed, ends: tuple[int, ...] = (), but: Sequence[int] = ()
) -> Subgoal:
    objects = tuple(entity for entity in _candidates(query, need.term) if entity not in but)
    group = NOBODY if need.where is None else len(query.domains) + need.where
    return Subgoal(objects, tuple(need.treatments), group, ends)


def _deliveries(
    search: PlanSearch, query: Query, needs: Sequence[ObjectNeed]
) -> Iterator[tuple[Subgoal, ...]]:
    """Yield the subgoals that are left, for receptacles in which as much is done already."""
    terms = list(dict.fromkeys(need.where for need in needs))
    choices = []
    for term in terms:
        assert term is not None
        group = [need for need in needs if need.where == term]
        choices.append(list(_destinations(search, query, term, group)))
    for selection in product(*choices):
        yield tuple(subgoal for subgoals in selection for subgoal in subgoals)


def _destinations(
    search: PlanSearch, query: Query, term: int, needs: Sequence[ObjectNeed]
) -> Iterator[tuple[Subgoal, ...]]:
    """Yield the remaining needs of one receptacle term: first those with most needs met."""
    state, house = search.state, search.house
    fresh = []
    alike = _all_alike(query, needs)
    for receptacle in _candidates(query, term):
        if receptacle >= len(house.places) or not house.places[receptacle]:
            continue
        for unmatched, matched in _match_needs(
            state, query, needs, state.contents[receptacle], alike
        ):
            if matched:
                yield tuple(_subgoal(query, need, (receptacle,), matched) for need in unmatched)
            else:
                closed = receptacle in house.openable and receptacle not in state.opened
                away = state.place not in house.places[receptacle]
                fresh.append((closed + away, receptacle))
    if fresh:
        ends = tuple(receptacle for _, receptacle in sorted(fresh))
        yield tuple(_subgoal(query, need, ends) for need in needs)


def _match_needs(
    state: HouseholdState,
    query: Query,
    needs: Sequence[ObjectNeed],
    entities: Sequence[int],
    alike: bool,
) -> Iterator[tuple[list[ObjectNeed], list[int]]]:
    """Yield ways to match needs with objects that are in place already.

    Yields:
        The unmatched needs, and the objects. Of equal needs as many as possible are matched; of
        others, it may be shorter to move an object away and use it for another need.
    """
    if not needs:
        yield [], []
        return
    need, remaining = needs[0], needs[1:]
    values = _candidates(query, need.term)
    fit = [
        entity for entity in entities if entity in values and _has_treatments(state, need, entity)
    ]
    for entity in fit[:1] if alike else fit:
        others_present = [candidate for candidate in entities if candidate != entity]
        for unmatched, matched in _match_needs(state, query, remaining, others_present, alike):
            yield unmatched, [entity, *matched]
    if not (alike and fit):
        for unmatched, matched in _match_needs(state, query, remaining, entities, alike):
            yield [need, *unmatched], matched


def _all_alike(query: Query, needs: Sequence[ObjectNeed]) -> bool:
    """Return whether needs differ in nothing, so that any of them may be met first."""
    kinds = {(_candidates(query, need.term), tuple(sorted(need.treatments))) for need in needs}
    return len(kinds) == 1


def _has_treatments(state: HouseholdState, need: ObjectNeed, entity: int) -> bool:
    """Return whether an object has had the treatments that it needs."""
    return all(
        FLUENTS[name](state, (entity,))
        for name, verb in TREATMENTS.items()
        if verb in need.treatments
    )


def _end_positions(
    search: PlanSearch, query: Query, lamp: ObjectNeed | None
) -> list[EndPosition] | None:
    """Return where the agent may end; None if anywhere."""
    ats = [part.args[1] for part in query.fluents if part.predicate == "atlocation"]
    house, state = search.house, search.state
    if not ats and lamp is None:
        return None
    places = set(_candidates(query, ats[0])) if ats else set(house.receptacles_at)
    spots = [(r, place) for place in sorted(places) for r in house.receptacles_at.get(place, ())]
    if lamp is None:
        return [EndPosition(receptacle, place, NOBODY) for receptacle, place in spots]
    end_positions = []
    for lamp_entity in _candidates(query, lamp.term):
        switch = NOBODY if lamp_entity in state.toggled else lamp_entity
        for receptacle, place in spots:
            if lamp_entity in state.contents[receptacle] and (
                lamp_entity in house.switches or switch < 0
            ):
                end_positions.append(EndPosition(receptacle, place, switch))
    return end_positions


def _slice_first(
    search: PlanSearch, query: Query, needs: Sequence[ObjectNeed]
) -> Iterator[PartialPlan]:
    """Yield ways to slice some objects before anything else is done."""
    house = search.house
    entities = sorted({entity for need in needs for entity in _candidates(query, need.term)})
    entities = [t for t in entities if t in house.sliceable and t not in search.state.sliced]
    start, carried = search.start(), search.state.hand
    for free in dict.fromkeys([start, *search.empty_hand(start, 2)]):
        lying = set(search.state.lying)
        if free is not start:  # the object that was in hand may be one to slice
            lying.add((carried, free.place))
        for knife in sorted(house.knives):
            if free.hand in (NOBODY, knife):
                for _, ready in search.fetch(free, knife, 1):
                    yield from _slices(search, ready, entities, len(needs), lying)


def _slices(
    search: PlanSearch,
    partial: PartialPlan,
    entities: Sequence[int],
    limit: int,
    lying: Set[tuple[int, int]],
) -> Iterator[PartialPlan]:
    """Yield ways to slice up to ``limit`` objects with the knife in hand."""
    for entity in entities if limit else ():
        for place in sorted(place for lying_entity, place in lying if lying_entity == entity):
            arrival: PartialPlan | None = partial
            if partial.place != place:
                doors = search.house.receptacles_at.get(place)
                arrival = search.go_to(partial, doors[0], False) if doors else None
            if arrival is not None and arrival.place == place:
                sliced = arrival.then("slice", entity, partial.hand, partial.hand)
                yield sliced
                unsliced = [lying_entity for lying_entity in entities if lying_entity != entity]
                yield from _slices(search, sliced, unsliced, limit - 1, lying)


def _state_after(house: Household, state: HouseholdState, partial: PartialPlan) -> HouseholdState:
    """Return the state to which a plan leads."""
    for action in partial.actions():
        state, _ = perform(house, state, action)
    return state


def _wins(house: Household, state: HouseholdState, partial: PartialPlan | None) -> bool:
    """Return whether a plan fulfils the goal."""
    return partial is not None and house.goal.satisfied(_state_after(house, state, partial))


# -- what the goal asks of each object -------------------------------------------------------------


def _read_needs(query: Query) -> tuple[list[ObjectNeed], bool]:
    """Collect a query's requirements for each object, and whether it has no others."""
    needs: dict[int, ObjectNeed] = {}
    exact = True
    for literal in query.fluents:
        name = literal.predicate
        if not literal.positive or name in ("holdsany", "opened"):
            exact = False
        elif name == "holds":
            needs.setdefault(literal.args[1], ObjectNeed(literal.args[1])).in_hand = True
        elif name != "atlocation":
            need = needs.setdefault(literal.args[0], ObjectNeed(literal.args[0]))
            if name == "inreceptacle":
                exact = exact and need.where is None
                need.where = literal.args[1]
            elif name == "istoggled":
                need.toggled = True
            elif name in TREATMENTS:
                need.treatments.append(TREATMENTS[name])
    static_predicates = {"=", "receptacleatlocation"}
    return list(needs.values()), exact and all(
        part.predicate in static_predicates for part in query.statics
    )


def _candidates(query: Query, term: int) -> tuple[int, ...]:
    """Return the entities that a term of a query may stand for, judging by constant facts."""
    if term >= 0:
        return (term,)
    values = query.domains[-1 - term]
    fluent = {arg for literal in query.fluents for arg in literal.args}
    for literal in query.statics:
        other_terms = [arg for arg in literal.args if arg < 0 and arg != term]
        if term not in literal.args or literal.predicate == "=" or fluent & set(other_terms):
            continue
        values = tuple(value for value in values if _may_hold(query, literal, term, value))
    return values


def _may_hold(query: Query, literal: Literal, term: int, value: int) -> bool:
    """Return whether a constant literal can hold when a term has a value."""
    options = [
        (value,) if arg == term else (arg,) if arg >= 0 else query.domains[-1 - arg]
        for arg in literal.args
    ]
    table = query.tables[literal.predicate]
    return any((row in table) == literal.positive for row in product(*options))
