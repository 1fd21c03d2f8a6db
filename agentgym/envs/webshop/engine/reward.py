"""The reward of a purchase: the original's, to the bit, and a strict variant.

With A the requested attributes and O the requested options::

    reward = r_type * (attributes met + options met + [price <= bound]) / (|A| + |O| + 1)

Quirks of the original that :func:`score` keeps in mode ``"official"``: the first colour word inside
an option value replaces the whole value ("rectangular" becomes "tan"); a synthetic goal's option is
a (group, value) pair, whose colour is replaced only on equality and whose group name takes part in
the fuzzy match. Mode ``"strict"`` requires each requested value, in its group if the goal names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rapidfuzz.fuzz import token_set_ratio

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.products import Product, category_levels

_COLOURS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown
burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee
cognac copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold
granite grape graphite grass gray green grey heather indigo ivory ivy khaki lavender lemon
leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom
mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust
sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger
turquoise violet walnut wheat white wine yellow
"""
COLOURS = tuple(_COLOURS.split())
"""The colour words of the original; the first match wins: "dark navy" is ``dark``."""
REWARDS = ("official", "strict", "sparse")
MATCH = 85
"""A fuzzy match must score above this, out of 100."""
_SYMBOL = re.compile(r"\W")
_LATIN_1 = dict.fromkeys(range(128, 256))


@dataclass(frozen=True, slots=True)
class GoalMatch:
    """The parts of a reward that do not depend on the chosen options."""

    r_type: float
    """Factor for the kind of product."""
    title_score: float
    """Share of the goal's title nouns in the bought title."""
    query_match: bool
    """Whether both are filed under the same search term."""
    category_match: bool
    """Whether they share two category levels."""
    attributes: tuple[bool, ...]
    """For each requested attribute, whether it is satisfied."""


@dataclass(frozen=True, slots=True)
class RewardDetails:
    """The reward of a purchase and its parts."""

    reward: float
    """The reward, in [0, 1]."""
    match: GoalMatch
    """Comparison of product and goal, except for options."""
    options: tuple[bool, ...]
    """For each requested option, whether it is satisfied."""
    price: bool
    """Whether the price is within the bound."""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-safe values under the names of the original's log.

        ``r_att``, ``r_option`` and ``r_price`` are the satisfied shares, and the ``w_`` entries
        their weights; ``r_option`` is None if no option was requested.
        """
        attributes, options = self.match.attributes, self.options
        total = len(attributes) + len(options) + 1
        return {
            "reward": self.reward,
            "r_type": self.match.r_type,
            "r_att": sum(attributes) / max(len(attributes), 1),
            "w_att": len(attributes) / total,
            "r_option": sum(options) / len(options) if options else None,
            "w_option": len(options) / total,
            "r_price": self.price,
            "w_price": 1 / total,
            "query_match": self.match.query_match,
            "category_match": self.match.category_match,
            "title_score": self.match.title_score,
            "attributes_met": list(attributes),
            "options_met": list(options),
        }


def match(item: Product, goal: ShopGoal, nouns: tuple[str, ...]) -> GoalMatch:
    """Compare a product with a goal, except for options; nouns are those of the goal's product."""
    title = sum(noun in item.noun_set for noun in set(nouns)) / len(nouns) if nouns else 0.2
    query = item.query == goal.query
    category = len(item.levels & category_levels(goal.product_category)) >= 2
    kind = 1.0 if query or category or title > 0.2 else 0.5
    if title < 0.1:
        kind = 0.1 if title else 0.0
    matches = tuple(_has_attribute(item, attribute) for attribute in goal.attributes)
    return GoalMatch(kind, title, query, category, matches)


def score(
    parts: GoalMatch,
    item: Product,
    goal: ShopGoal,
    selection: Mapping[str, str],
    mode: str = "official",
) -> RewardDetails:
    """Compute the reward of buying ``item`` with the chosen value of each option group.

    ``parts`` is the result of :func:`match`. ``"sparse"`` compares as ``"official"`` does.
    """
    options = (_strict_options if mode == "strict" else _official_options)(goal, selection)
    price = item.price <= goal.price_upper
    satisfied = sum(parts.attributes) + sum(options) + price
    reward = satisfied / (len(goal.attributes) + len(options) + 1) * parts.r_type
    return RewardDetails(reward, parts, options, price)


@lru_cache(maxsize=16384)
def fuzzy(text: str, target: str) -> bool:
    """Return whether two texts match by the original's ``token_set_ratio(...) > 85``.

    The original drops Latin-1 characters beyond ASCII and treats other symbols as spaces.
    """
    left, right = _processed(text), _processed(target)
    if not left or not right:
        return False
    return round(token_set_ratio(left, right)) > MATCH


def plain_colour(value: str | tuple[str, str]) -> str | tuple[str, str]:
    """Replace a value by its first colour word; a pair only if one part equals a colour word."""
    return next((colour for colour in COLOURS if colour in value), value)


@lru_cache(maxsize=16384)
def _processed(text: str) -> str:
    """Prepare a text for matching as thefuzz 0.19 does; underscores stay."""
    if not text.isascii():
        text = text.translate(_LATIN_1)
    return _SYMBOL.sub(" ", text).lower().strip()


def _has_attribute(item: Product, requested: str) -> bool:
    """Tell whether a product has an attribute: fuzzily listed, or literally in its texts."""
    if any(fuzzy(attribute, requested) for attribute in item.attributes):
        return True
    return any(requested in text for text in item.haystacks)


def _official_options(goal: ShopGoal, selection: Mapping[str, str]) -> tuple[bool, ...]:
    """Tell for each asked option whether any chosen value matches it, as the original does."""
    values = [str(plain_colour(value)) for value in selection.values()]
    requested: Iterable[str | tuple[str, str]] = (
        goal.goal_options.items() if isinstance(goal.goal_options, Mapping) else goal.goal_options
    )
    texts = [str(plain_colour(option)) for option in requested]
    return tuple(any(fuzzy(value, text) for value in values) for text in texts)


def _strict_options(goal: ShopGoal, selection: Mapping[str, str]) -> tuple[bool, ...]:
    """Tell for each asked option whether exactly it was chosen."""
    if isinstance(goal.goal_options, Mapping):
        return tuple(selection.get(group) == value for group, value in goal.goal_options.items())
    values = {_canonical(value) for value in selection.values()}
    return tuple(_canonical(option) in values for option in goal.goal_options)


def _canonical(value: str) -> str:
    """Fold case and white space of a value."""
    return " ".join(value.lower().replace("/", " | ").split())
