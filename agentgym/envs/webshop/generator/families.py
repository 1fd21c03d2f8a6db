"""Families of near-duplicates: what the products are, before any text is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from agentgym.envs.webshop.generator.config import Difficulty
from agentgym.envs.webshop.generator.stream import Stream
from agentgym.envs.webshop.generator.vocabulary import (
    VOCABULARIES,
    Attribute,
    Department,
    OptionGroup,
    ProductType,
)

VERSION = "1"
"""Version of the generator; a change of any text or draw must raise it."""

Options = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Draft:
    """A product as facts."""

    index: int
    """Position in the catalogue."""
    family: int
    """Number of its family."""
    department: Department
    """Department of its type."""
    type: ProductType
    """What it is."""
    visible: tuple[Attribute, ...]
    """Attributes in the title, in the title's order."""
    hidden: tuple[Attribute, ...]
    """Attributes outside the title."""
    options: Options
    """Pairs of group name and offered values."""
    cents: int
    """Price in cents."""
    buried: bool
    """Whether the hidden attributes stand only in later bullets."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All attributes, visible ones first."""
        return self.visible + self.hidden


def family(difficulty: Difficulty, seed: int, number: int) -> tuple[Draft, ...]:
    """Make family ``number`` of the shop with this difficulty and seed.

    The first sibling is a lead. Each further one is a price decoy or an option decoy of the last
    lead, or a lead of its own: another set of hidden attributes, price and options.

    Args:
        difficulty: The knobs.
        seed: Seed of the catalogue.
        number: Number of the family, from 0.

    Returns:
        The siblings, in the order of their indices.
    """
    stream = Stream(VERSION, difficulty.name, seed, "family", number)
    department, product_type, visible = _cell(difficulty, seed, number)
    pool = [a for a in department.hidden if a not in visible]
    picked = stream.sample(pool, len(pool))
    shared = picked[: difficulty.shared_hidden]
    own = _hidden_sets(stream, difficulty, picked[difficulty.shared_hidden :])
    base = _base_price(stream, difficulty, product_type)
    siblings: list[Draft] = []
    lead: Draft | None = None
    for place in range(difficulty.family_size):
        roll = stream.below(100)
        leads = False
        if lead is not None and roll < difficulty.price_decoys:
            hidden, options, cents = lead.hidden, lead.options, _dearer(stream, lead.cents)
        elif lead is not None and roll < difficulty.price_decoys + difficulty.option_decoys:
            hidden, cents = lead.hidden, _near(stream, difficulty, base)
            options = _other_options(stream, product_type.groups, lead.options)
        else:
            leads = True
            hidden = tuple(stream.shuffled(shared + own[place]))
            if difficulty.same_values and siblings:
                options = _reordered(stream, siblings[0].options)
            else:
                options = _options(stream, difficulty, product_type.groups)
            cents = _near(stream, difficulty, base)
        draft = Draft(
            number * difficulty.family_size + place,
            number,
            department,
            product_type,
            tuple(stream.shuffled(visible)),
            hidden,
            options,
            cents,
            stream.percent(difficulty.buried),
        )
        siblings.append(draft)
        if leads:
            lead = draft
    return tuple(siblings)


def _cell(
    difficulty: Difficulty, seed: int, number: int
) -> tuple[Department, ProductType, tuple[Attribute, ...]]:
    """Choose type and visible attributes so that families differ until all cells are used.

    Cells (type x attribute set) are visited in the order of an affine permutation, which goes
    through the types evenly.
    """
    types, sets, step, start = _grid(difficulty.vocabulary, difficulty.visible, seed)
    cell = (step * number + start) % (len(types) * len(sets))
    department, product_type = types[cell % len(types)]
    chosen = sets[cell // len(types)]
    return department, product_type, tuple(department.visible[i] for i in chosen)


@lru_cache(maxsize=64)
def _grid(
    vocabulary: str, visible: int, seed: int
) -> tuple[tuple[tuple[Department, ProductType], ...], tuple[tuple[int, ...], ...], int, int]:
    """List types and attribute sets, and the step and start of the permutation of their cells."""
    stream = Stream(VERSION, vocabulary, seed, "cells")
    departments = VOCABULARIES[vocabulary].departments
    types = stream.shuffled([(d, t) for d in departments for t in d.types])
    pool = min(len(d.visible) for d in departments)
    sets = stream.shuffled(list(combinations(range(pool), visible)))
    cells = len(types) * len(sets)
    # Near the golden section of the cycle, so that neighbours in number are far apart in the grid.
    step = cells * 618 // 1000 + stream.below(cells // 20)
    while math.gcd(step, cells) != 1:
        step += 1
    return tuple(types), tuple(sets), step, stream.below(cells)


def _hidden_sets(
    stream: Stream, difficulty: Difficulty, pool: list[Attribute]
) -> list[list[Attribute]]:
    """Draw one set of own hidden attributes per sibling, all different."""
    size = difficulty.own_hidden
    sets: list[list[Attribute]] = []
    # A pool of a few more attributes than needed: sets overlap, so one attribute alone
    # does not always tell two siblings apart.
    few = pool[: difficulty.family_size + size]
    while len(sets) < difficulty.family_size:
        drawn = stream.sample(few, size)
        if all(set(drawn) != set(other) for other in sets):
            sets.append(drawn)
    return sets


def _base_price(stream: Stream, difficulty: Difficulty, product_type: ProductType) -> int:
    """Draw the family's price level in cents; in the full shop low prices are more frequent."""
    low, high = product_type.prices
    first, second = stream.below(1000), stream.below(1000)
    if difficulty.price_step > 1:
        cents = 100 * low + (high - low) * first // 10
        return cents // difficulty.price_step * difficulty.price_step
    return 100 * low + (high - low) * min(first, second) // 10


def _near(stream: Stream, difficulty: Difficulty, base: int) -> int:
    """Draw a sibling's price around the family's level."""
    if difficulty.price_step > 1:
        step = difficulty.price_step
        return max(step, base + step * stream.between(-2, 2))
    cents = base * stream.between(80, 120) // 100
    return max(199, cents // 100 * 100 + stream.choice((99, 50, 0, 95)))


def _dearer(stream: Stream, cents: int) -> int:
    """Draw a price a little above the least bound that a goal for ``cents`` can have."""
    return (cents // 1000 + 1) * 1000 + stream.between(1, 60) * 10


def _options(stream: Stream, difficulty: Difficulty, groups: tuple[OptionGroup, ...]) -> Options:
    """Draw the values that a product offers."""
    low, high = difficulty.offered
    offered = []
    for group in groups:
        count = min(stream.between(low, high), len(group.values))
        offered.append((group.name, tuple(stream.sample(group.values, count))))
    return tuple(offered)


def _reordered(stream: Stream, options: Options) -> Options:
    """Offer the same values in another order."""
    return tuple((name, tuple(stream.shuffled(values))) for name, values in options)


def _other_options(stream: Stream, groups: tuple[OptionGroup, ...], options: Options) -> Options:
    """Replace about half of the values by look-alikes, or by others where there are none."""
    changed = []
    for group, (name, values) in zip(groups, options, strict=True):
        kept: list[str] = []
        for place, value in enumerate(values):
            if place and stream.percent(50):
                kept.append(value)
                continue
            alike = [v for s in group.alike if value in s for v in s]
            free = [v for v in alike or group.values if v not in values and v not in kept]
            kept.append(stream.choice(free) if free else value)
        changed.append((name, tuple(dict.fromkeys(kept))))
    return tuple(changed)
