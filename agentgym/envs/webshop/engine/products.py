"""Products, parsed from the official item files as the original does."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agentgym.core.outcome import well_formed
from agentgym.envs.webshop.official.schema import NAMES, CatalogEntry, listed

LONGEST_ASIN = 10
DEFAULT_PRICE = 100.0
NO_ATTRIBUTES = ("DUMMY_ATTR",)
CATEGORY_SEPARATOR = "\u203a"
_NOT_A_NUMBER = re.compile(r"[^\d.]")

_ASIN = re.compile(r"[^\s\[\]<>\x00-\x1f]+")
LONGEST_NAME = 1024
_UNTYPABLE = re.compile(r"[\[\]\n]|</|<think>")

ITEM_BUTTONS = ("back to search", "< prev", "description", "features", "reviews", "buy now")
"""Clickable names of an item page, before the option values."""


@dataclass(frozen=True, eq=False)
class Product:
    """One product of the shop."""

    asin: str
    """Identifier, at most ten characters."""
    title: str
    """Name, as shown."""
    description: str
    """Full description."""
    bullets: tuple[str, ...]
    """Feature lines."""
    prices: tuple[float, ...]
    """One price, or the two ends of a range, in dollars."""
    price: float
    """The price used for the reward: within the range, and never shown."""
    options: Mapping[str, tuple[str, ...]]
    """Lower-case option groups (such as ``color``) and their values, in shown order."""
    query: str
    """Search term under which the product is filed."""
    category: str
    """Department."""
    product_category: str
    """Path of category levels."""
    attributes: tuple[str, ...]
    """Attributes that goals are compared with."""
    nouns: tuple[str, ...]
    """Nouns of the title, repetitions included."""
    image: str = ""
    """Address of the first image."""

    @cached_property
    def price_tag(self) -> str:
        """The price as shown: ``$27.0`` or ``$10.5 to $20.0``."""
        return " to ".join(f"${price}" for price in self.prices)

    @cached_property
    def group_of(self) -> dict[str, str]:
        """The option group that clicking a value sets; if several groups have it, the last."""
        return {value: group for group, values in self.options.items() for value in values}

    @cached_property
    def clickables(self) -> tuple[str, ...]:
        """Clickable names of the item page, in the original's order, without repetitions."""
        return tuple(dict.fromkeys((*ITEM_BUTTONS, *self.group_of)))

    @cached_property
    def choosable(self) -> tuple[str, ...]:
        """The option values that a click can choose in every grammar."""
        return tuple(v for v in self.group_of if v not in ITEM_BUTTONS and typable(v))

    @cached_property
    def admissible(self) -> tuple[str, ...]:
        """The clickable names that an action can contain in every grammar."""
        return (*ITEM_BUTTONS, *self.choosable)

    @cached_property
    def levels(self) -> frozenset[str]:
        """The levels of the category path."""
        return category_levels(self.product_category)

    @cached_property
    def noun_set(self) -> frozenset[str]:
        """The distinct nouns of the title."""
        return frozenset(self.nouns)

    @cached_property
    def haystacks(self) -> tuple[str, str, str]:
        """Lower-case title, joined bullets and description, in which attributes are looked up."""
        return self.title.lower(), " ".join(self.bullets).lower(), self.description.lower()

    def document(self) -> str:
        """Return the text that the search engine indexes."""
        options = ", and ".join(f"{name}: {', '.join(v)}" for name, v in self.options.items())
        first = self.bullets[0] if self.bullets else ""
        return " ".join((self.title, self.description, first, options)).lower()

    def to_record(self) -> list[Any]:
        """Return the fields as JSON values, for :meth:`from_record`."""
        return [
            self.asin, self.title, self.description, self.bullets, self.prices, self.price,
            self.options, self.query, self.category, self.product_category, self.attributes,
            self.nouns, self.image,
        ]  # fmt: skip

    @classmethod
    def from_record(cls, record: list[Any]) -> Product:
        """Rebuild a product from :meth:`to_record`."""
        (asin, title, description, bullets, prices, price, options, query, category, path,
         attributes, nouns, image) = record  # fmt: skip
        return cls(
            asin, title, description, tuple(bullets), tuple(prices), price,
            {name: tuple(values) for name, values in options.items()},
            query, category, path, tuple(attributes), tuple(nouns), image,
        )  # fmt: skip


@dataclass(frozen=True)
class Instruction:
    """The entry of one product in the official ``items_ins`` file."""

    attributes: tuple[str, ...] = NO_ATTRIBUTES
    """Attributes of the product."""
    text: str | None = None
    """Instruction for synthetic goals, if there is one."""
    requested_attributes: tuple[str, ...] = field(default=())
    """The attributes that the instruction requests."""

    @classmethod
    def parse(cls, value: Any, source_name: str = "an entry of items_ins_v2.json") -> Instruction:
        """Parse an entry, called ``source_name`` in error messages; None is an empty entry.

        Raises:
            DataError: A field is of the wrong type.
        """
        entry = CatalogEntry({} if value is None else value, source_name)
        if "attributes" not in entry:
            return cls()
        named = "instruction_attributes"
        requested = () if entry.get(named) is None else entry.texts(named)
        text = None if entry.get("instruction") is None else entry.text("instruction")
        return cls(entry.texts("attributes"), text or None, requested)


def typable(name: str) -> bool:
    """Return whether ``click[name]`` is parsed as this name in every grammar.

    The original parses brackets greedily and stops at a line break; XML ends at a closing tag.
    """
    return 0 < len(name) <= LONGEST_NAME and not _UNTYPABLE.search(name)


def category_levels(path: str) -> frozenset[str]:
    """Split a category path into its levels."""
    return frozenset(level.strip() for level in path.split(CATEGORY_SEPARATOR))


def unit_interval(*key: object) -> float:
    """Map a key to a number in [0, 1), the same on every machine and in every process."""
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def usable(
    items: Iterable[Any], origin: str = NAMES.items
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the items that the original keeps (those with a valid asin), with names for errors.

    Of duplicate asins it keeps the first.

    Raises:
        DataError: An entry is not an object, or has no asin that a page can show.
    """
    asins: set[str] = set()
    for number, item in enumerate(items):
        entry = CatalogEntry(item, f"item {number} of {origin}")
        asin = entry.text("asin")
        if asin == "nan" or len(asin) > LONGEST_ASIN or asin in asins:
            continue
        if not _ASIN.fullmatch(asin) or asin != item["asin"]:
            entry.wrong("asin", "a product number without spaces and brackets")
        asins.add(asin)
        yield f"item {number} ({asin!r}) of {origin}", item


def parse_prices(pricing: str | None) -> tuple[float, ...]:
    """Read one price such as ``$12.9``, or the two ends of a range such as ``$12.9$20``.

    None and the empty string mean the default price.

    Raises:
        ValueError: It is not a price.
    """
    if not pricing:
        return (DEFAULT_PRICE,)
    prices = tuple(float(_NOT_A_NUMBER.sub("", part)) for part in pricing.split("$")[1:])
    if not prices or not all(map(math.isfinite, prices)):
        raise ValueError(f"expected a price such as $12.9, got {pricing!r:.80}")
    return prices[:2]


def parse_product(
    item: Mapping[str, Any],
    instruction: Instruction,
    nouns: tuple[str, ...],
    price: float | None = None,
    source_name: str = "an item",
) -> Product:
    """Derive a product from its official item and its entry of the instructions file.

    Without ``price``, the asin selects one within the range. Errors call the item ``source_name``.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    entry = CatalogEntry(item, source_name)
    asin = entry.text("asin")
    prices = _prices(entry)
    if price is None:
        price = prices[0]
        if len(prices) == 2:
            price += (prices[1] - prices[0]) * unit_interval("price", asin)
    return Product(
        asin, entry.text("name"), entry.text_or_null("full_description"), _bullets(entry), prices,
        price, _options(entry, source_name), entry.text("query").lower().strip(),
        entry.text("category"), entry.text("product_category"), instruction.attributes,
        nouns, _image(entry),
    )  # fmt: skip


def _prices(entry: CatalogEntry) -> tuple[float, ...]:
    pricing = None if entry.get("pricing") is None else entry.text("pricing")
    try:
        return parse_prices(pricing)
    except ValueError:
        entry.wrong("pricing", "a price such as $12.9 or $12.9$20, or empty")


def _bullets(entry: CatalogEntry) -> tuple[str, ...]:
    """Read the feature lines: a list, or one line, which may be null."""
    if isinstance(entry.get("small_description"), list):
        return entry.texts("small_description")
    return (entry.text_or_null("small_description"),)


def _options(entry: CatalogEntry, source_name: str) -> dict[str, tuple[str, ...]]:
    """Read the option groups: names and values in lower case, ``/`` spaced out."""
    groups = entry.get("customization_options")
    if "customization_options" in entry and not groups:
        return {}
    if not isinstance(groups, Mapping):
        entry.wrong("customization_options", "an object, or empty")
    options: dict[str, tuple[str, ...]] = {}
    for group, values in groups.items():
        if values is not None:
            place = f"customization_options[{group!r:.40}] of {source_name}"
            texts = [CatalogEntry(value, place).text("value") for value in listed(values, place)]
            name = well_formed(group).lower()
            options[name] = tuple(text.strip().replace("/", " | ").lower() for text in texts)
    return options


def _image(entry: CatalogEntry) -> str:
    """Read the address of the first image; nothing but pictures depends on it."""
    images = entry.get("images")
    first = images[0] if isinstance(images, list) and images else ""
    return first if isinstance(first, str) else ""
