"""The search for the shortest plan that reaches some subgoals in a household.

A subgoal is: get an object into the hand, treat it (clean, heat, cool), and put it down somewhere,
or just keep it. Branch and bound (Land and Doig, An automatic method of solving discrete
programming problems, Econometrica 1960) over the few choices that subgoals leave (which object,
taken from where, with which appliance, put where, what to do with a thing that is in the way)
finds the fewest commands; going, opening and putting aside are inserted where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from agentgym.envs.alfworld.engine.actions import HouseholdAction
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState


@dataclass(frozen=True, slots=True)
class Subgoal:
    """The requirement for one of several candidate objects."""

    objects: tuple[int, ...]
    """Objects that will do."""
    treatments: tuple[str, ...] = ()
    """Required treatments: ``clean``, ``heat``, ``cool``, ``slice``."""
    group: int = NOBODY
    """Subgoals of one group end in one receptacle; those of group -1 keep the object in hand."""
    destinations: tuple[int, ...] = ()
    """Receptacles to choose from, the same for all subgoals of a group."""


class EndPosition(NamedTuple):
    """Where to be when all subgoals are done."""

    receptacle: int
    """The agent goes to this receptacle ..."""
    place: int
    """... which is at this location ..."""
    switch: int
    """... and uses this object, unless it is below 0."""


class PartialPlan(NamedTuple):
    """How far a plan has come."""

    place: int
    hand: int
    opened: frozenset[int]
    """Receptacles that the plan has opened."""
    cost: int
    """Commands so far."""
    trail: Any
    """The last action and, nested, those before it: ``(trail, action)`` or None. Thousands of plans
    are begun alike, so they share their beginnings instead of copying them."""

    def then(self, verb: str, first: int, second: int, hand: int) -> PartialPlan:
        """Add a command that leaves ``hand`` in hand."""
        trail = (self.trail, HouseholdAction(verb, first, second))
        return PartialPlan(self.place, hand, self.opened, self.cost + 1, trail)

    def actions(self) -> list[HouseholdAction]:
        """Return the actions in order."""
        actions: list[HouseholdAction] = []
        trail = self.trail
        while trail is not None:
            trail, action = trail
            actions.append(action)
        return actions[::-1]


class Remaining(NamedTuple):
    """The remaining work."""

    subgoals: tuple[int, ...]
    """Numbers of subgoals."""
    used: tuple[int, ...]
    """Objects of the subgoals that are done."""
    receptacle_of: Mapping[int, int]
    """Group -> receptacle, where it is chosen."""


class PlanSearch:
    """Search the shortest plan from one state that is shorter than ``best``, if there is one."""

    def __init__(
        self, house: Household, state: HouseholdState, best: PartialPlan | None = None
    ) -> None:
        self.house = house
        self.state = state
        self.best = best
        """The end of the shortest plan so far."""
        self.sources: dict[int, list[int]] = {}
        """Object -> receptacles that hold it."""
        for receptacle, contents in enumerate(state.contents):
            for entity in contents:
                self.sources.setdefault(entity, []).append(receptacle)
        self._drops: dict[int, list[int]] = {}

    def start(self) -> PartialPlan:
        """Return the beginning of every plan."""
        return PartialPlan(self.state.place, self.state.hand, frozenset(), 0, None)

    def run(
        self,
        subgoals: Sequence[Subgoal],
        end_positions: Sequence[EndPosition] | None,
        start: PartialPlan,
    ) -> None:
        """Look for a plan that begins with ``start`` and is shorter than the best so far.

        Args:
            subgoals: Reached in any order, except that the object to keep in hand comes last.
            end_positions: The plan must end at one of these; None: anywhere.
            start: The state and commands so far.
        """
        self._subgoals, self._end_positions = subgoals, end_positions
        self._bounds = [self._lower_bounds(subgoal) for subgoal in subgoals]
        if all(self._bounds):
            self._starts = self._ending_places(subgoals) if len(subgoals) > 1 else None
            self._floors = [self._floor(*pair) for pair in zip(subgoals, self._bounds, strict=True)]
            self._continue(start, Remaining(tuple(range(len(subgoals))), (), {}))

    # -- the search -----------------------------------------------------------------------------

    def _continue(self, partial: PartialPlan, remaining: Remaining) -> None:
        """Reach the subgoals that are left, then an end position."""
        if not remaining.subgoals:
            self._finish(partial)
            return
        final = [number for number in remaining.subgoals if self._subgoals[number].group == NOBODY]
        previous: list[Subgoal] = []
        for number in remaining.subgoals:
            subgoal = self._subgoals[number]
            if subgoal in previous or (number in final and len(final) < len(remaining.subgoals)):
                continue  # equal subgoals: any may be first; the object to keep is last
            previous.append(subgoal)
            bounds = self._bounds[number]
            for entity in sorted(bounds, key=bounds.__getitem__):
                if entity not in remaining.used:
                    self._achieve(partial, number, entity, remaining)

    def _achieve(
        self, partial: PartialPlan, number: int, entity: int, remaining: Remaining
    ) -> None:
        """Reach one subgoal with one object, then the others."""
        subgoal = self._subgoals[number]
        missing = self._missing_treatments(subgoal, entity)
        assert missing is not None
        unplaced = tuple(candidate for candidate in remaining.subgoals if candidate != number)
        used = (*remaining.used, entity)
        floor = sum([self._floors[candidate] for candidate in unplaced])
        for source, fetched in self.fetch(partial, entity, floor + self._bounds[number][entity]):
            for ready in self._treat(fetched, entity, missing, floor):
                if subgoal.group == NOBODY:
                    self._continue(ready, Remaining(unplaced, used, remaining.receptacle_of))
                    continue
                bound = remaining.receptacle_of.get(subgoal.group)
                for end in subgoal.destinations if bound is None else (bound,):
                    for arrival_state in self._put_down(ready, entity, source, end):
                        if self._promising(arrival_state, floor):
                            receptacle_of = {**remaining.receptacle_of, subgoal.group: end}
                            self._continue(arrival_state, Remaining(unplaced, used, receptacle_of))

    def _put_down(
        self, partial: PartialPlan, entity: int, source: int, end: int
    ) -> Iterator[PartialPlan]:
        """Yield ways to have the thing in hand in a receptacle."""
        if end != source and entity in self.state.contents[end]:
            yield partial  # it was in several receptacles, and taken from one only
        elif entity in self.house.accepts[end]:
            yield self.go_to(partial, end, True).then("move", entity, end, NOBODY)

    def fetch(
        self, partial: PartialPlan, entity: int, floor: int
    ) -> Iterator[tuple[int, PartialPlan]]:
        """Yield ways to get an object into the hand, each with the receptacle it is taken from.

        From an empty hand on, ``floor`` commands are needed, that which takes it included.
        """
        if partial.hand == entity:
            yield NOBODY, partial
            return
        if entity not in self.house.portable:
            return
        for free in self.empty_hand(partial, floor):
            for source in self.sources.get(entity, ()):
                if self.house.places[source]:
                    arrival = self.go_to(free, source, True)
                    if self._promising(arrival, floor):
                        yield source, arrival.then("take", entity, source, entity)

    def empty_hand(self, partial: PartialPlan, floor: int) -> Iterator[PartialPlan]:
        """Yield ways to have an empty hand, ``floor`` commands being needed afterwards."""
        if partial.hand == NOBODY:
            yield partial
            return
        for receptacle in self._drop_points(partial.hand):
            arrival = self.go_to(partial, receptacle, True)
            if self._promising(arrival, floor + 1):
                yield arrival.then("move", partial.hand, receptacle, NOBODY)

    def _treat(
        self, partial: PartialPlan, entity: int, verbs: Sequence[str], floor: int
    ) -> Iterator[PartialPlan]:
        """Yield ways to treat the object in hand."""
        if not verbs:
            yield partial
        for number, verb in enumerate(verbs):
            other_verbs = (*verbs[:number], *verbs[number + 1 :])
            for appliance in sorted(self.house.appliances[verb]):
                if self.house.places[appliance]:
                    arrival = self.go_to(partial, appliance, False)
                    if self._promising(arrival, floor + len(verbs)):
                        treated = arrival.then(verb, entity, appliance, entity)
                        yield from self._treat(treated, entity, other_verbs, floor)

    def _finish(self, partial: PartialPlan) -> None:
        """End a plan, and keep it if it is the best."""
        if self._end_positions is None:
            self._record(partial)
            return
        for receptacle, place, switch in self._end_positions:
            arrival = partial
            if partial.place != place:
                arrival = self.go_to(partial, receptacle, False)
                if arrival.place != place:  # "go to" leads to another of its locations
                    continue
            if switch != NOBODY:
                arrival = arrival.then("use", switch, receptacle, arrival.hand)
            self._record(arrival)

    def _record(self, partial: PartialPlan) -> None:
        if self.best is None or partial.cost < self.best.cost:
            self.best = partial

    def _promising(self, partial: PartialPlan, floor: int) -> bool:
        """Return whether a plan may still become shorter than the best."""
        return self.best is None or partial.cost + floor < self.best.cost

    def go_to(self, partial: PartialPlan, receptacle: int, access: bool) -> PartialPlan:
        """Go to a receptacle if needed; with ``access``, open it if needed."""
        place, hand, opened, cost, trail = partial
        places = self.house.places[receptacle]
        if place not in places:
            place = places[0]
            cost += 1
            trail = (trail, HouseholdAction("go", receptacle, place))
        if access and self._closed(receptacle) and receptacle not in opened:
            opened = opened | {receptacle}
            cost += 1
            trail = (trail, HouseholdAction("open", receptacle))
        return PartialPlan(place, hand, opened, cost, trail)

    # -- what is known of the state -------------------------------------------------------------

    def _closed(self, receptacle: int) -> bool:
        return receptacle in self.house.openable and receptacle not in self.state.opened

    def _missing_treatments(self, subgoal: Subgoal, entity: int) -> tuple[str, ...] | None:
        """Return the treatments that an object lacks, or None where it cannot have them."""
        state, house = self.state, self.house
        treated = {
            "clean": state.clean,
            "heat": state.hot,
            "cool": state.cool,
            "slice": state.sliced,
        }
        missing = tuple(verb for verb in subgoal.treatments if entity not in treated[verb])
        if "slice" in missing or {"heat", "cool"} <= set(subgoal.treatments):
            return None
        able = all(entity in house.treatable[verb] and house.appliances[verb] for verb in missing)
        return missing if able else None

    def _lower_bounds(self, subgoal: Subgoal) -> dict[int, int]:
        """Return, for each object that will do, the fewest commands from an empty hand on."""
        bounds = {}
        for entity in subgoal.objects:
            missing = self._missing_treatments(subgoal, entity)
            if missing is None:
                continue
            sources = self.sources.get(entity, [])
            fitting = [end for end in subgoal.destinations if entity in self.house.accepts[end]]
            needs_no_drop = subgoal.group == NOBODY
            if not needs_no_drop and not fitting and not set(sources) & set(subgoal.destinations):
                continue
            if len(sources) > 1 or entity == self.state.hand:
                needs_no_drop = True  # it may already be where it belongs, and still be in hand
            stops = [self._places(sources)]
            if len(missing) == 1:  # more may be done in any order: take no road for certain
                stops.append(self._places(self.house.appliances[missing[0]]))
            stops += [] if needs_no_drop else [self._places(fitting)]
            roads = 0
            if len(missing) < 2:
                roads = len([1 for first, second in pairwise(stops) if not first & second])
            bounds[entity] = 1 + len(missing) + (not needs_no_drop) + roads
        return bounds

    def _floor(self, subgoal: Subgoal, bounds: Mapping[int, int]) -> int:
        """Return the fewest commands that a subgoal takes after another one."""
        fewest = []
        for entity, bound in bounds.items():
            if entity == self.state.hand:
                bound -= 1
            elif self._starts is not None:
                bound += not self._places(self.sources.get(entity, ())) & self._starts
            fewest.append(bound)
        return min(fewest)

    def _ending_places(self, subgoals: Sequence[Subgoal]) -> set[int] | None:
        """Return the locations where subgoals can end; None for anywhere.

        Anywhere, because a thing that is in several receptacles, or in hand and in one, may turn
        out to be where it belongs without being put there.
        """
        carried = self.state.hand
        entities = {entity for bounds in self._bounds for entity in bounds}
        if any(len(self.sources.get(entity, ())) > (entity != carried) for entity in entities):
            return None
        return self._places([end for subgoal in subgoals for end in subgoal.destinations])

    def _places(self, receptacles: Sequence[int] | frozenset[int]) -> set[int]:
        places = self.house.places
        return {place for receptacle in receptacles for place in places[receptacle]}

    def _drop_points(self, entity: int) -> list[int]:
        """Return receptacles that a thing can be put into, those at hand first."""
        drops = self._drops.get(entity)
        if drops is None:
            house, place = self.house, self.state.place
            fitting = [r for r, locations in enumerate(house.places) if locations]
            fitting = [r for r in fitting if entity in house.accepts[r]]

            def effort(receptacle: int) -> int:
                return 2 * (place not in house.places[receptacle]) + self._closed(receptacle)

            drops = self._drops[entity] = sorted(fitting, key=effort)
        return drops
