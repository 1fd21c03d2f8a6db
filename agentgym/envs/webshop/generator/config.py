"""The difficulty of a generated shop: three presets of the same settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from agentgym.core.options import choice, integer, preset
from agentgym.envs.webshop.generator.vocabulary import VOCABULARIES
from agentgym.errors import ConfigurationError

_SHARES = (
    "buried",
    "visible_asked",
    "hidden_asked",
    "option_asked",
    "paraphrased",
    "type_paraphrased",
    "price_decoys",
    "option_decoys",
)


def _in_range(name: str, value: int, low: int, high: int) -> None:
    integer(value, f"{name} of a difficulty", low, high)


@dataclass(frozen=True)
class GeneratorConfig:
    """The settings of the generator. Shares are percentages, drawn as integers.

    Products come in clusters of near-duplicates, so that a shopper has to compare them. The first
    product of a cluster is a lead; a decoy equals a lead except for what makes it wrong. Give a
    variant of a preset another name: the name is part of task ids.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    name: str
    """Name of the preset; part of the shop's key."""
    vocabulary: str
    """``tiny`` (single words, closed) or ``full``."""
    cluster_size: int
    """Number of products of a cluster; they share type and visible attributes."""
    visible: int
    """Number of attributes in the title, shared by the cluster."""
    shared_hidden: int
    """Number of attributes outside the title that the whole cluster has."""
    own_hidden: int
    """Number of attributes outside the title that differ between the leads of a cluster."""
    buried: int
    """Share of products with hidden attributes in later bullets only, which are not indexed."""
    visible_asked: int
    """Share of visible attributes that a goal requests (at least one)."""
    hidden_asked: int
    """Share of hidden attributes that a goal requests."""
    option_asked: int
    """Share of option groups for which a goal requests a value."""
    offered: tuple[int, int]
    """Minimum and maximum number of values that a product offers per option group."""
    same_values: bool
    """Whether all products of a cluster offer the same values, each in its own order."""
    paraphrased: int
    """Share of attributes that an instruction paraphrases."""
    type_paraphrased: int
    """Share of instructions that paraphrase the product's type."""
    price_decoys: int
    """Share of products that equal a lead but cost slightly more than its bound."""
    option_decoys: int
    """Share of products that equal a lead but lack some values, with look-alikes instead."""
    noise: tuple[int, int]
    """Minimum and maximum number of meaningless words in a title."""
    price_step: int
    """Prices are multiples of this many cents."""
    slack: tuple[int, ...]
    """Tens of dollars added to the lowest bound above the price, drawn uniformly."""

    @classmethod
    def of(cls, difficulty: str | GeneratorConfig) -> GeneratorConfig:
        """Return the preset of a name; a configuration is returned unchanged.

        Raises:
            ConfigurationError: The preset does not exist.
        """
        return preset(difficulty, "a difficulty", DIFFICULTIES)

    def __post_init__(self) -> None:
        """Validate."""
        choice(self.vocabulary, "vocabulary of a difficulty", VOCABULARIES)
        for name in _SHARES:
            _in_range(name, getattr(self, name), 0, 100)
        departments = VOCABULARIES[self.vocabulary].departments
        _in_range("visible", self.visible, 1, min(len(d.visible) for d in departments) // 2)
        _in_range("shared_hidden", self.shared_hidden, 0, 4)
        _in_range("own_hidden", self.own_hidden, 1, 3)
        free_words = min(len(d.hidden) for d in departments) - self.shared_hidden
        if departments[0].hidden is departments[0].visible:
            free_words -= self.visible
        _in_range("cluster_size", self.cluster_size, 1, math.comb(free_words, self.own_hidden))
        _in_range("price_step", self.price_step, 1, 500)
        for name in ("offered", "noise"):
            low, high = getattr(self, name)
            _in_range(name, low, 0 if name == "noise" else 1, high)
        _in_range("noise", self.noise[1], 0, len(VOCABULARIES[self.vocabulary].noise))
        if not self.slack or min(self.slack) < 0:
            raise ConfigurationError(
                f"expected slack to hold numbers from 0 up, got {self.slack}; use (0, 0, 1)"
            )


EASY = GeneratorConfig(
    name="easy",
    vocabulary="tiny",
    cluster_size=3,
    visible=2,
    shared_hidden=0,
    own_hidden=1,
    buried=100,
    visible_asked=100,
    hidden_asked=100,
    option_asked=60,
    offered=(3, 3),
    same_values=True,
    paraphrased=0,
    type_paraphrased=0,
    price_decoys=0,
    option_decoys=0,
    noise=(0, 0),
    price_step=500,
    slack=(0, 0, 1, 2),
)

MEDIUM = GeneratorConfig(
    name="medium",
    vocabulary="full",
    cluster_size=4,
    visible=2,
    shared_hidden=1,
    own_hidden=2,
    buried=70,
    visible_asked=80,
    hidden_asked=75,
    option_asked=90,
    offered=(2, 5),
    same_values=False,
    paraphrased=40,
    type_paraphrased=20,
    price_decoys=30,
    option_decoys=30,
    noise=(0, 3),
    price_step=1,
    slack=(0, 0, 0, 1),
)

HARD = replace(
    MEDIUM,
    name="hard",
    cluster_size=6,
    shared_hidden=2,
    buried=90,
    visible_asked=70,
    hidden_asked=80,
    option_asked=95,
    offered=(3, 6),
    paraphrased=70,
    type_paraphrased=75,
    option_decoys=35,
    noise=(2, 5),
)

DIFFICULTIES = {config.name: config for config in (EASY, MEDIUM, HARD)}
