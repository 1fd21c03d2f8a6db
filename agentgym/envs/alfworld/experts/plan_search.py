"""Shortest ways to run errands in a household.

An errand is: get an object into the hand, treat it (clean, heat, cool), and put it down somewhere,
or just keep it. Branch and bound (Land and Doig, An automatic method of solving discrete
programming problems, Econometrica 1960) over the few choices that errands leave (which object,
taken from where, with which appliance, put where, what to do with a thing that is in the way)
finds the fewest commands; going, opening and putting aside are inserted where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from agentgym.envs.alfworld.engine.actions import Action
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import NOBODY, State
from agentgym.envs.alfworld.experts.subgoals import Agenda, Errand, Point, Visit

_NONE: frozenset[int] = frozenset()


class Courier:
    """Searches the shortest plan from one state.

    Args:
        house: The household.
        state: Where the plans begin.
        best: A plan to be beaten.
    """

    def __init__(self, house: Household, state: State, best: Point | None = None) -> None:
        self.house = house
        self.state = state
        self.best = best
        """The end of the shortest plan so far."""
        self.sources: dict[int, list[int]] = {}
        """Object -> receptacles that hold it."""
        for receptacle, things in enumerate(state.contents):
            for thing in things:
                self.sources.setdefault(thing, []).append(receptacle)
        self._drops: dict[int, list[int]] = {}

    def start(self) -> Point:
        """Return the beginning of every plan."""
        return Point(self.state.place, self.state.held, _NONE, 0, None)

    def search(
        self, errands: Sequence[Errand], visits: Sequence[Visit] | None, start: Point
    ) -> None:
        """Look for a plan that is shorter than the best so far.

        Args:
            errands: To be done in any order, except that what is kept in hand comes last.
            visits: Where to end, one of these; None for anywhere.
            start: Where to begin.
        """
        self._errands, self._visits = errands, visits
        self._tails = [self._bounds(errand) for errand in errands]
        if all(self._tails):
            self._starts = self._finishes(errands) if len(errands) > 1 else None
            self._floors = [self._floor(*pair) for pair in zip(errands, self._tails, strict=True)]
            self._next(start, Agenda(tuple(range(len(errands))), (), {}))

    # -- the search -----------------------------------------------------------------------------

    def _next(self, point: Point, agenda: Agenda) -> None:
        """Do the errands that are left, then the visit."""
        if not agenda.left:
            self._visit(point)
            return
        kept = [number for number in agenda.left if self._errands[number].group == NOBODY]
        tried: list[Errand] = []
        for number in agenda.left:
            errand = self._errands[number]
            if errand in tried or (number in kept and len(kept) < len(agenda.left)):
                continue  # of equal errands any is the first; what is kept comes last
            tried.append(errand)
            tails = self._tails[number]
            for thing in sorted(tails, key=tails.__getitem__):
                if thing not in agenda.used:
                    self._carry(point, number, thing, agenda)

    def _carry(self, point: Point, number: int, thing: int, agenda: Agenda) -> None:
        """Do one errand with one object, then the others."""
        errand = self._errands[number]
        missing = self._missing(errand, thing)
        assert missing is not None
        left = tuple(other for other in agenda.left if other != number)
        used = (*agenda.used, thing)
        floor = 0
        for other in left:
            floor += self._floors[other]
        for source, held in self.fetched(point, thing, floor + self._tails[number][thing]):
            for ready in self._treated(held, thing, missing, floor):
                if errand.group == NOBODY:
                    self._next(ready, Agenda(left, used, agenda.ends))
                    continue
                bound = agenda.ends.get(errand.group)
                for end in errand.ends if bound is None else (bound,):
                    for done in self._put(ready, thing, source, end):
                        if self._worth(done, floor):
                            ends = {**agenda.ends, errand.group: end}
                            self._next(done, Agenda(left, used, ends))

    def _put(self, point: Point, thing: int, source: int, end: int) -> Iterator[Point]:
        """Yield ways to have the thing in hand in a receptacle."""
        if end != source and thing in self.state.contents[end]:
            yield point  # it was in several receptacles, and taken from one only
        elif thing in self.house.accepts[end]:
            yield self.at(point, end, True).did("move", thing, end, NOBODY)

    def fetched(self, point: Point, thing: int, floor: int) -> Iterator[tuple[int, Point]]:
        """Yield ways to get an object into the hand, each with the receptacle it is taken from.

        Args:
            point: Where to begin.
            thing: The object.
            floor: Fewest commands from an empty hand on, that which takes it included.
        """
        if point.hand == thing:
            yield NOBODY, point
            return
        if thing not in self.house.portable:
            return
        for free in self.emptied(point, floor):
            for source in self.sources.get(thing, ()):
                if self.house.places[source]:
                    here = self.at(free, source, True)
                    if self._worth(here, floor):
                        yield source, here.did("take", thing, source, thing)

    def emptied(self, point: Point, floor: int) -> Iterator[Point]:
        """Yield ways to have an empty hand, ``floor`` commands being needed afterwards."""
        if point.hand == NOBODY:
            yield point
            return
        for receptacle in self._drop_points(point.hand):
            here = self.at(point, receptacle, True)
            if self._worth(here, floor + 1):
                yield here.did("move", point.hand, receptacle, NOBODY)

    def _treated(
        self, point: Point, thing: int, verbs: Sequence[str], floor: int
    ) -> Iterator[Point]:
        """Yield ways to treat the object in hand."""
        if not verbs:
            yield point
        for number, verb in enumerate(verbs):
            rest = (*verbs[:number], *verbs[number + 1 :])
            for appliance in sorted(self.house.appliances[verb]):
                if self.house.places[appliance]:
                    here = self.at(point, appliance, False)
                    if self._worth(here, floor + len(verbs)):
                        done = here.did(verb, thing, appliance, thing)
                        yield from self._treated(done, thing, rest, floor)

    def _visit(self, point: Point) -> None:
        """End a plan, and keep it if it is the best."""
        if self._visits is None:
            self._keep(point)
            return
        for receptacle, place, switch in self._visits:
            here = point
            if point.place != place:
                here = self.at(point, receptacle, False)
                if here.place != place:  # "go to" leads to another of its locations
                    continue
            if switch != NOBODY:
                here = here.did("use", switch, receptacle, here.hand)
            self._keep(here)

    def _keep(self, point: Point) -> None:
        if self.best is None or point.cost < self.best.cost:
            self.best = point

    def _worth(self, point: Point, floor: int) -> bool:
        """Return whether a plan may still become shorter than the best."""
        return self.best is None or point.cost + floor < self.best.cost

    def at(self, point: Point, receptacle: int, access: bool) -> Point:
        """Go to a receptacle if needed; with ``access``, open it if needed."""
        place, hand, opened, cost, trail = point
        places = self.house.places[receptacle]
        if place not in places:
            place = places[0]
            cost += 1
            trail = (trail, Action("go", receptacle, place))
        if access and self._closed(receptacle) and receptacle not in opened:
            opened = opened | {receptacle}
            cost += 1
            trail = (trail, Action("open", receptacle))
        return Point(place, hand, opened, cost, trail)

    # -- what is known of the state -------------------------------------------------------------

    def _closed(self, receptacle: int) -> bool:
        return receptacle in self.house.openable and receptacle not in self.state.opened

    def _missing(self, errand: Errand, thing: int) -> tuple[str, ...] | None:
        """Return the treatments that an object lacks, or None where it cannot have them."""
        state, house = self.state, self.house
        done = {"clean": state.clean, "heat": state.hot, "cool": state.cool, "slice": state.sliced}
        missing = tuple(verb for verb in errand.treatments if thing not in done[verb])
        if "slice" in missing or {"heat", "cool"} <= set(errand.treatments):
            return None
        able = all(thing in house.treatable[verb] and house.appliances[verb] for verb in missing)
        return missing if able else None

    def _bounds(self, errand: Errand) -> dict[int, int]:
        """Return, for each object that will do, the fewest commands from an empty hand on."""
        bounds = {}
        for thing in errand.objects:
            missing = self._missing(errand, thing)
            if missing is None:
                continue
            sources = self.sources.get(thing, [])
            fitting = [end for end in errand.ends if thing in self.house.accepts[end]]
            kept = errand.group == NOBODY
            if not kept and not fitting and not set(sources) & set(errand.ends):
                continue
            if len(sources) > 1 or thing == self.state.held:
                kept = True  # it may already be where it belongs, and still be in hand
            stops = [self._places(sources)]
            if len(missing) == 1:  # more may be done in any order: take no road for certain
                stops.append(self._places(self.house.appliances[missing[0]]))
            stops += [] if kept else [self._places(fitting)]
            roads = 0
            if len(missing) < 2:
                roads = len([1 for here, there in pairwise(stops) if not here & there])
            bounds[thing] = 1 + len(missing) + (not kept) + roads
        return bounds

    def _floor(self, errand: Errand, bounds: Mapping[int, int]) -> int:
        """Return the fewest commands that an errand takes after another one."""
        fewest = []
        for thing, bound in bounds.items():
            if thing == self.state.held:
                bound -= 1
            elif self._starts is not None:
                bound += not self._places(self.sources.get(thing, ())) & self._starts
            fewest.append(bound)
        return min(fewest)

    def _finishes(self, errands: Sequence[Errand]) -> set[int] | None:
        """Return the locations where errands can end; None for anywhere.

        Anywhere, because a thing that is in several receptacles, or in hand and in one, may turn
        out to be where it belongs without being put there.
        """
        held = self.state.held
        things = {thing for tails in self._tails for thing in tails}
        if any(len(self.sources.get(thing, ())) > (thing != held) for thing in things):
            return None
        return self._places([end for errand in errands for end in errand.ends])

    def _places(self, receptacles: Sequence[int] | frozenset[int]) -> set[int]:
        places = self.house.places
        return {place for receptacle in receptacles for place in places[receptacle]}

    def _drop_points(self, thing: int) -> list[int]:
        """Return receptacles that a thing can be put into, those at hand first."""
        known = self._drops.get(thing)
        if known is None:
            house, place = self.house, self.state.place
            fitting = [r for r, found in enumerate(house.places) if found]
            fitting = [r for r in fitting if thing in house.accepts[r]]

            def effort(receptacle: int) -> int:
                return 2 * (place not in house.places[receptacle]) + self._closed(receptacle)

            known = self._drops[thing] = sorted(fitting, key=effort)
        return known
