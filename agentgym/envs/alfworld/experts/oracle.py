"""The expert: the fewest commands that fulfil the goal, from any state, without a planner.

The goal is read as errands (:mod:`agentgym.envs.alfworld.experts.plan_search`): what must be where,
treated how, what must be in hand, and which lamp must be on next to the agent. This covers all task
types of ALFWorld and their sliced variants. Plans for goals that say more are checked by carrying
them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import product

from agentgym.envs.alfworld.engine.actions import Action, command_of, perform
from agentgym.envs.alfworld.engine.goals import FLUENTS, Query
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.engine.state import NOBODY, State
from agentgym.envs.alfworld.experts.goal_requirements import TREATMENTS, Want, domain, read_wants
from agentgym.envs.alfworld.experts.plan_search import Courier
from agentgym.envs.alfworld.experts.subgoals import Errand, Point, Visit


def plan(session: Session) -> tuple[str, ...] | None:
    """Return commands that win from the present state.

    The first command of a plan leads to a state whose plan is one shorter.

    Args:
        session: The session; it is not changed.

    Returns:
        The commands, none of them when the game is won; None if the goal cannot be fulfilled, or
        if it has a form that no task type has.
    """
    house = session.household
    actions = plan_from(house, session.state)
    commands = [command_of(house, action) for action in actions or ()]
    # A name without a number ends in a blank, and a command that ends so cannot be given.
    typable = all(command == command.strip() for command in commands)
    return None if actions is None or not typable else tuple(commands)


def plan_from(house: Household, state: State) -> tuple[Action, ...] | None:
    """Return the actions of a shortest plan from a state, as :func:`plan` does."""
    if house.goal.satisfied(state):
        return ()
    best: Point | None = None
    here = Point(state.place, state.held, frozenset(), 0, None)
    for query in house.goal.queries:
        wants, exact = read_wants(query)
        slices = [want for want in wants if "slice" in want.treatments]
        courier = Courier(house, state, best)
        for start in (here, *(_sliced(courier, query, slices) if slices else ())):
            if start is not here:
                courier = Courier(house, _reached(house, state, start), best)
            _search(courier, query, wants, start)
            found = courier.best
            if found is not best and (exact or _wins(house, state, found)):
                best = found
    return None if best is None else tuple(_actions(best))


def _search(courier: Courier, query: Query, wants: Sequence[Want], start: Point) -> None:
    """Search plans for one query that begin with what has led to ``start``."""
    lamps = [want for want in wants if want.toggled]
    kept = [want for want in wants if want.held]
    if len(lamps) > 1 or len(kept) > 1:
        return
    visits = _visits(courier, query, lamps[0] if lamps else None)
    put = [want for want in wants if want.where is not None and not want.toggled]
    loose = [w for w in wants if w.where is None and not w.held and not w.toggled]
    carried = [_errand(query, want) for want in (*loose, *kept)]
    for errands in _placements(courier, query, put):
        courier.search([*errands, *carried], visits, start)


def _errand(
    query: Query, want: Want, ends: tuple[int, ...] = (), but: Sequence[int] = ()
) -> Errand:
    objects = tuple(thing for thing in domain(query, want.term) if thing not in but)
    group = NOBODY if want.where is None else len(query.domains) + want.where
    return Errand(objects, tuple(want.treatments), group, ends)


def _placements(
    courier: Courier, query: Query, wants: Sequence[Want]
) -> Iterator[tuple[Errand, ...]]:
    """Yield the errands that are left, for receptacles in which as much is done already."""
    terms = list(dict.fromkeys(want.where for want in wants))
    choices = []
    for term in terms:
        assert term is not None
        group = [want for want in wants if want.where == term]
        choices.append(list(_choices(courier, query, term, group)))
    for chosen in product(*choices):
        yield tuple(errand for errands in chosen for errand in errands)


def _choices(
    courier: Courier, query: Query, term: int, wants: Sequence[Want]
) -> Iterator[tuple[Errand, ...]]:
    """Yield what is left to do for one receptacle term: first those where most is done."""
    state, house = courier.state, courier.house
    fresh = []
    alike = _alike(query, wants)
    for receptacle in domain(query, term):
        if receptacle >= len(house.places) or not house.places[receptacle]:
            continue
        for left, done in _settled(state, query, wants, state.contents[receptacle], alike):
            if done:
                yield tuple(_errand(query, want, (receptacle,), done) for want in left)
            else:
                closed = receptacle in house.openable and receptacle not in state.opened
                away = state.place not in house.places[receptacle]
                fresh.append((closed + away, receptacle))
    if fresh:
        ends = tuple(receptacle for _, receptacle in sorted(fresh))
        yield tuple(_errand(query, want, ends) for want in wants)


def _settled(
    state: State, query: Query, wants: Sequence[Want], things: Sequence[int], alike: bool
) -> Iterator[tuple[list[Want], list[int]]]:
    """Yield ways to say that some wants are fulfilled by things that are in place already.

    Yields:
        The wants that are left, and the things. Of wants that are alike, as many are fulfilled as
        can be; of others, it may be shorter to move a thing away and use it for another want.
    """
    if not wants:
        yield [], []
        return
    want, others = wants[0], wants[1:]
    values = domain(query, want.term)
    fit = [thing for thing in things if thing in values and _treated(state, want, thing)]
    for thing in fit[:1] if alike else fit:
        rest = [other for other in things if other != thing]
        for left, done in _settled(state, query, others, rest, alike):
            yield left, [thing, *done]
    if not (alike and fit):
        for left, done in _settled(state, query, others, things, alike):
            yield [want, *left], done


def _alike(query: Query, wants: Sequence[Want]) -> bool:
    """Return whether wants differ in nothing."""
    kinds = {(domain(query, w.term), tuple(sorted(w.treatments))) for w in wants}
    return len(kinds) == 1


def _treated(state: State, want: Want, thing: int) -> bool:
    """Return whether an object has had the treatments that are wanted."""
    return all(
        FLUENTS[name](state, (thing,))
        for name, verb in TREATMENTS.items()
        if verb in want.treatments
    )


def _visits(courier: Courier, query: Query, lamp: Want | None) -> list[Visit] | None:
    """Return where the agent may end; None if anywhere."""
    ats = [part.args[1] for part in query.fluents if part.predicate == "atlocation"]
    house, state = courier.house, courier.state
    if not ats and lamp is None:
        return None
    places = set(domain(query, ats[0])) if ats else set(house.here)
    spots = [(r, place) for place in sorted(places) for r in house.here.get(place, ())]
    if lamp is None:
        return [Visit(receptacle, place, NOBODY) for receptacle, place in spots]
    visits = []
    for thing in domain(query, lamp.term):
        switch = NOBODY if thing in state.toggled else thing
        for receptacle, place in spots:
            if thing in state.contents[receptacle] and (thing in house.switches or switch < 0):
                visits.append(Visit(receptacle, place, switch))
    return visits


def _sliced(courier: Courier, query: Query, wants: Sequence[Want]) -> Iterator[Point]:
    """Yield ways to slice some objects before anything else is done."""
    house = courier.house
    things = sorted({thing for want in wants for thing in domain(query, want.term)})
    things = [t for t in things if t in house.sliceable and t not in courier.state.sliced]
    start, held = courier.start(), courier.state.held
    for free in dict.fromkeys([start, *courier.emptied(start, 2)]):
        lying = set(courier.state.lying)
        if free is not start:  # what was in hand may be what is to be sliced
            lying.add((held, free.place))
        for knife in sorted(house.knives):
            if free.hand in (NOBODY, knife):
                for _, ready in courier.fetched(free, knife, 1):
                    yield from _slicing(courier, ready, things, len(wants), lying)


def _slicing(
    courier: Courier, point: Point, things: Sequence[int], most: int, lying: Set[tuple[int, int]]
) -> Iterator[Point]:
    """Yield ways to slice up to ``most`` objects with the knife in hand."""
    for thing in things if most else ():
        for place in sorted(place for other, place in lying if other == thing):
            here: Point | None = point
            if point.place != place:
                doors = courier.house.here.get(place)
                here = courier.at(point, doors[0], False) if doors else None
            if here is not None and here.place == place:
                done = here.did("slice", thing, point.hand, point.hand)
                yield done
                rest = [other for other in things if other != thing]
                yield from _slicing(courier, done, rest, most - 1, lying)


def _reached(house: Household, state: State, point: Point) -> State:
    """Return the state to which a plan leads."""
    for action in _actions(point):
        state, _ = perform(house, state, action)
    return state


def _actions(point: Point) -> list[Action]:
    """Return the actions of a plan in order."""
    actions = []
    trail = point.trail
    while trail is not None:
        trail, action = trail
        actions.append(action)
    return actions[::-1]


def _wins(house: Household, state: State, point: Point | None) -> bool:
    """Return whether a plan fulfils the goal."""
    return point is not None and house.goal.satisfied(_reached(house, state, point))
