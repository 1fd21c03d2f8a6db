"""What there is and what is true: the things of a universe, their names and their relations.

Time is kept: teachers are older than their pupils, nobody founds a company as a child, a book is
published by a company that exists, and whoever holds an office today is alive. To that end the
things of a kind are numbered by age, so that those of a span of years are a range of numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property

from agentgym.envs.search.generator.config import GeneratorConfig
from agentgym.envs.search.generator.kinds import KINDS
from agentgym.envs.search.generator.names import SPACES, UniverseNames
from agentgym.envs.search.generator.relations import MOST, RELATIONS, WORD, YEAR, Relation
from agentgym.envs.search.generator.vocabulary import WORDS
from agentgym.support.random_stream import Stream

GENERATOR_VERSION = 1
"""Raised when a seed would give another universe or other questions."""
TODAY = 1990
"""The year in which the encyclopaedia is written."""
_OFFICE = (30, 75)
"""Least and greatest age of people who hold an office today."""
_GROWN_UP = (16, 75)
"""Least and greatest age of people that others meet."""
_AGAIN = 60
"""Share of values that are taken once more, in percent, of relations that can be counted."""
_TRIES = 8


class UniverseFacts:
    """The things of one universe, numbered from 0; those of a kind have numbers in a row.

    Args:
        config: What there is, and how it is named.
        size: Number of things.
        seed: Any non-negative integer. Seeds that differ modulo
            :data:`~agentgym.envs.search.generator.names.SPACES` share no name.
    """

    def __init__(self, config: GeneratorConfig, size: int, seed: int) -> None:
        self._key = (GENERATOR_VERSION, config.name, size, seed)
        self.entities: dict[str, range] = _ranges(config, size)
        """The numbers of each kind's things."""
        self.names: list[str] = self._draw_names(config, seed)
        """Name of each thing, which is the title of its article."""
        self.years: list[int] = self._draw_years()
        """Year in which each thing began, smaller numbers of a kind first; 0 if it has none."""
        draw = self.stream("women")
        self.women: list[bool] = [draw.below(2) == 1 for _ in self.entities.get("person", ())]
        """Whether each person is a woman."""
        self.values: dict[str, list[int]] = {}
        """By relation, the value of each thing that has it, in order: the number of a thing, a
        year, or a place in :data:`~agentgym.envs.search.generator.vocabulary.WORDS`."""
        for name in config.relations:
            if RELATIONS[name].subject in self.entities:
                self.values[name] = self._column(RELATIONS[name])
        self._agree()
        if config.local:
            self._settle(config.local)

    def stream(self, *key: str | int) -> Stream:
        """Return the stream of a part of the universe."""
        return Stream(*self._key, *key)

    def kind(self, entity: int) -> str:
        """Return the kind of a thing."""
        return self._kinds[bisect_right(self._starts, entity) - 1]

    def value(self, relation: str, entity: int) -> int:
        """Return what a thing has by a relation; see :attr:`values`."""
        return self.values[relation][entity - self.entities[RELATIONS[relation].subject].start]

    def text(self, relation: str, value: int) -> str:
        """Return a value of a relation as it stands in texts."""
        texts = self.texts(relation)
        return str(value) if texts is None else texts[value]

    def texts(self, relation: str) -> Sequence[str] | None:
        """Return the texts of which a value of a relation is the place; None: it is a year."""
        kind = RELATIONS[relation].object
        if kind == YEAR:
            return None
        return WORDS[relation] if kind == WORD else self.names

    def mention(self, entity: int) -> str:
        """Return the name of a thing as it stands within a sentence."""
        name = self.names[entity]
        return f"the {name}" if KINDS[self.kind(entity)].definite else name

    def having(self, relation: str, value: int) -> list[int]:
        """Return the things that have a value by a relation, in order."""
        return self.inverse(relation).get(value, [])

    def alive(self, year: int) -> range:
        """Return the people who were grown up in a year, or everybody if nobody was."""
        adults = self._alive.get(year)
        if adults is None:
            people = self.entities["person"]
            youngest, oldest = _GROWN_UP
            first = bisect_left(self.years, year - oldest, people.start, people.stop)
            stop = bisect_right(self.years, year - youngest, people.start, people.stop)
            adults = self._alive[year] = range(first, stop) if stop - first > 1 else people
        return adults

    @cached_property
    def _alive(self) -> dict[int, range]:
        return {}

    def inverse(self, relation: str) -> dict[int, list[int]]:
        """Return the things that have a value by a relation, by the value."""
        inverse = self._inverses.get(relation)
        if inverse is None:
            inverse = {}
            start = self.entities[RELATIONS[relation].subject].start
            for number, value in enumerate(self.values[relation], start):
                inverse.setdefault(value, []).append(number)
            self._inverses[relation] = inverse
        return inverse

    @cached_property
    def _inverses(self) -> dict[str, dict[int, list[int]]]:
        return {}

    @cached_property
    def _kinds(self) -> list[str]:
        return list(self.entities)

    @cached_property
    def _starts(self) -> list[int]:
        return [numbers.start for numbers in self.entities.values()]

    # -- making them -----------------------------------------------------------------------------

    def _draw_names(self, config: GeneratorConfig, seed: int) -> list[str]:
        """Name all things: towns first, since others are called after them."""
        counts = {kind: len(numbers) for kind, numbers in self.entities.items()}
        names = UniverseNames(
            space=seed % SPACES,
            is_plain=config.is_plain,
            counts=counts,
            namesakes=config.namesakes,
            stream=self.stream("names"),
        )
        names_by_kind = {
            kind: [names.next(kind) for _ in self.entities[kind]]
            for kind in sorted(self.entities, key=lambda kind: kind != "town")
        }
        return [name for kind in self.entities for name in names_by_kind[kind]]

    def _draw_years(self) -> list[int]:
        """Draw the year of each thing."""
        years: list[int] = []
        for kind, numbers in self.entities.items():
            span = KINDS[kind].begins
            if span is None:
                years += [0] * len(numbers)
                continue
            first, last = span
            stream = self.stream("years", kind)
            years += sorted(stream.between(first, last) for _ in numbers)
        return years

    def _column(self, relation: Relation) -> list[int]:
        """Draw the values of a relation."""
        subjects = self.entities[relation.subject]
        if relation.object == YEAR:
            return self.years[subjects.start : subjects.stop]
        stream = self.stream("values", relation.name)
        if relation.object == WORD:
            number = len(WORDS[relation.name])
            return [stream.below(number) for _ in subjects]
        values: list[int] = []
        uses: dict[int, int] = {}
        year, choices = -1, range(0)
        for entity in subjects:
            if self.years[entity] != year or relation.object == relation.subject:
                year, choices = self.years[entity], self._choices(relation, entity)
            value = choices[stream.below(len(choices))]
            if relation.count:
                if values and values[-1] in choices and stream.percent(_AGAIN):
                    value = values[-1]
                for _ in range(_TRIES):
                    if value != entity and uses.get(value, 0) < MOST:
                        break
                    value = choices[stream.below(len(choices))]
                while value == entity or uses.get(value, 0) >= MOST:
                    value = _next(value, self.entities[relation.object])
                uses[value] = uses.get(value, 0) + 1
            values.append(value)
        return values

    def _choices(self, relation: Relation, entity: int) -> range:
        """Return the things that are of the right age to be a value."""
        objects = self.entities[relation.object]
        ages = _OFFICE if relation.is_office else relation.ages
        if ages is None:
            return objects
        year = TODAY if relation.is_office else self.years[entity]
        first = bisect_left(self.years, year - ages[1], objects.start, objects.stop)
        stop = bisect_right(self.years, year - ages[0], objects.start, objects.stop)
        if first < stop:
            return range(first, stop)
        # Nobody is: whoever is older will do, or for the very oldest whoever there is.
        older = range(objects.start, min(entity, objects.stop))
        return older if relation.object == relation.subject and older else objects

    def _agree(self) -> None:
        """Make relations agree: twins of each other, capitals in their regions, rivers likewise."""
        if "twin" in self.values:
            self.values["twin"] = self._paired("town")
        regions = self.values.get("town_region")
        if regions is None:
            return
        towns = self.entities["town"]
        if "capital" in self.values:
            capitals = self.stream("capitals").sample(towns, len(self.entities["region"]))
            self.values["capital"] = capitals
            for region, capital in zip(self.entities["region"], capitals, strict=True):
                regions[capital - towns.start] = region
        if "river_region" in self.values and "mouth" in self.values:
            mouths = self.values["mouth"]
            self.values["river_region"] = [regions[mouth - towns.start] for mouth in mouths]

    def _settle(self, share: int) -> None:
        """Let a share of the people be born where their mentor was, who is older: oldest first."""
        draw = self.stream("local")
        people, born = self.entities["person"], self.values["birthplace"]
        for place, mentor in enumerate(self.values["mentor"]):
            if draw.percent(share):
                born[place] = born[mentor - people.start]

    def _paired(self, kind: str) -> list[int]:
        """Pair the things of a kind, of which there is an even number."""
        numbers = self.entities[kind]
        order = self.stream("pairs", kind).shuffled(numbers)
        partners = [0] * len(numbers)
        for first, second in zip(order[::2], order[1::2], strict=True):
            partners[first - numbers.start] = second
            partners[second - numbers.start] = first
        return partners


def _next(value: int, numbers: range) -> int:
    """Return the thing after another one; after the last comes the first."""
    return value + 1 if value + 1 < numbers.stop else numbers.start


def _ranges(config: GeneratorConfig, size: int) -> dict[str, range]:
    """Divide ``size`` numbers among the kinds."""
    other_kinds = [kind for kind in config.kinds if kind not in ("person", "event")]
    events = size * config.noise // 100
    total = sum(KINDS[kind].share for kind in (*other_kinds, "person"))
    counts = {kind: max((size - events) * KINDS[kind].share // total, 4) for kind in other_kinds}
    if "town" in counts:
        counts["town"] += counts["town"] % 2  # so that each has a twin
    if "event" in config.kinds:
        counts["event"] = events
    counts["person"] = size - sum(counts.values())
    ranges: dict[str, range] = {}
    start = 0
    for kind in config.kinds:
        ranges[kind] = range(start, start + counts[kind])
        start += counts[kind]
    return ranges
