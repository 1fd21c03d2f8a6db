"""Clusters of near-duplicates: the facts of products, before any text is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from agentgym.envs.webshop.generator.config import GeneratorConfig
from agentgym.envs.webshop.generator.vocabulary import (
    VOCABULARIES,
    Attribute,
    Department,
    OptionGroup,
    ProductType,
)
from agentgym.support.random_stream import Stream

GENERATOR_VERSION = "1"
"""Version of the generator; raise it with any change of a text or draw."""

Options = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class ProductDraft:
    """A product as facts."""

    index: int
    """Position in the shop."""
    cluster: int
    """Number of its cluster."""
    department: Department
    """Department of its type."""
    type: ProductType
    """Type of the product."""
    visible: tuple[Attribute, ...]
    """Attributes in the title, in the title's order."""
    hidden: tuple[Attribute, ...]
    """Attributes outside the title."""
    options: Options
    """Pairs of group name and offered values."""
    cents: int
    """Price in cents."""
    buried: bool
    """Whether the hidden attributes are in later bullets only."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All attributes, visible ones first."""
        return self.visible + self.hidden


def draft_cluster(config: GeneratorConfig, seed: int, number: int) -> tuple[ProductDraft, ...]:
    """Make a cluster of a shop, its products in the order of their indices.

    The first product is a lead. Each further one is a price decoy or an option decoy of the last
    lead, or a new lead: another set of hidden attributes, price and options.
    """
    # "family" is the former word for a cluster; it stays because it keys the draws.
    stream = Stream(GENERATOR_VERSION, config.name, seed, "family", number)
    department, product_type, visible = _cell(config, seed, number)
    pool = [a for a in department.hidden if a not in visible]
    picked = stream.sample(pool, len(pool))
    shared = picked[: config.shared_hidden]
    own_sets = _hidden_sets(stream, config, picked[config.shared_hidden :])
    base = _base_price(stream, config, product_type)
    drafts: list[ProductDraft] = []
    lead: ProductDraft | None = None
    for place in range(config.cluster_size):
        roll = stream.below(100)
        leads = False
        if lead is not None and roll < config.price_decoys:
            hidden, options, cents = lead.hidden, lead.options, _dearer(stream, lead.cents)
        elif lead is not None and roll < config.price_decoys + config.option_decoys:
            hidden, cents = lead.hidden, _near(stream, config, base)
            options = _other_options(stream, product_type.groups, lead.options)
        else:
            leads = True
            hidden = tuple(stream.shuffled(shared + own_sets[place]))
            if config.same_values and drafts:
                options = _reordered(stream, drafts[0].options)
            else:
                options = _options(stream, config, product_type.groups)
            cents = _near(stream, config, base)
        draft = ProductDraft(
            number * config.cluster_size + place, number, department, product_type,
            tuple(stream.shuffled(visible)), hidden, options, cents, stream.percent(config.buried),
        )  # fmt: skip
        drafts.append(draft)
        if leads:
            lead = draft
    return tuple(drafts)


def _cell(
    config: GeneratorConfig, seed: int, number: int
) -> tuple[Department, ProductType, tuple[Attribute, ...]]:
    """Choose type and visible attributes so that clusters differ until all cells are used.

    Cells (type x attribute set) are visited in the order of an affine permutation, which goes
    through the types evenly.
    """
    types, sets, step, start = _grid(config.vocabulary, config.visible, seed)
    cell = (step * number + start) % (len(types) * len(sets))
    department, product_type = types[cell % len(types)]
    indices = sets[cell // len(types)]
    return department, product_type, tuple(department.visible[i] for i in indices)


@lru_cache(maxsize=64)
def _grid(
    vocabulary: str, visible: int, seed: int
) -> tuple[tuple[tuple[Department, ProductType], ...], tuple[tuple[int, ...], ...], int, int]:
    """List types and attribute sets, and the step and start of the permutation of their cells."""
    stream = Stream(GENERATOR_VERSION, vocabulary, seed, "cells")
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
    stream: Stream, config: GeneratorConfig, pool: list[Attribute]
) -> list[list[Attribute]]:
    """Draw one set of own hidden attributes per product, all different."""
    size = config.own_hidden
    sets: list[list[Attribute]] = []
    # A pool of a few more attributes than needed: sets overlap, so one attribute alone
    # does not always tell two products apart.
    small_pool = pool[: config.cluster_size + size]
    while len(sets) < config.cluster_size:
        drawn = stream.sample(small_pool, size)
        if all(set(drawn) != set(drawn_set) for drawn_set in sets):
            sets.append(drawn)
    return sets


def _base_price(stream: Stream, config: GeneratorConfig, product_type: ProductType) -> int:
    """Draw the cluster's price level in cents; in the full shop low prices are more frequent."""
    low, high = product_type.prices
    first, second = stream.below(1000), stream.below(1000)
    if config.price_step > 1:
        cents = 100 * low + (high - low) * first // 10
        return cents // config.price_step * config.price_step
    return 100 * low + (high - low) * min(first, second) // 10


def _near(stream: Stream, config: GeneratorConfig, base: int) -> int:
    """Draw a product's price around the cluster's level."""
    if config.price_step > 1:
        step = config.price_step
        return max(step, base + step * stream.between(-2, 2))
    cents = base * stream.between(80, 120) // 100
    return max(199, cents // 100 * 100 + stream.choice((99, 50, 0, 95)))


def _dearer(stream: Stream, cents: int) -> int:
    """Draw a price a little above the least bound that a goal for ``cents`` can have."""
    return (cents // 1000 + 1) * 1000 + stream.between(1, 60) * 10


def _options(stream: Stream, config: GeneratorConfig, groups: tuple[OptionGroup, ...]) -> Options:
    """Draw the values that a product offers."""
    low, high = config.offered
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
        new_values: list[str] = []
        for place, value in enumerate(values):
            if place and stream.percent(50):
                new_values.append(value)
                continue
            alike = [v for s in group.alike if value in s for v in s]
            free = [v for v in alike or group.values if v not in values and v not in new_values]
            new_values.append(stream.choice(free) if free else value)
        changed.append((name, tuple(dict.fromkeys(new_values))))
    return tuple(changed)
