"""Products, parsed from the official item files into what the original derives from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agentgym.errors import DataError

LONGEST_ASIN = 10
DEFAULT_PRICE = 100.0
NO_ATTRIBUTES = ("DUMMY_ATTR",)
CATEGORY_SEPARATOR = "\u203a"
_NOT_A_NUMBER = re.compile(r"[^\d.]")

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
    """The price that counts for the reward: within the range, and never shown."""
    options: Mapping[str, tuple[str, ...]]
    """Lower-case option groups (such as ``color``) and their values, in shown order."""
    query: str
    """Search term under which the product is filed."""
    category: str
    """Department."""
    product_category: str
    """Path of category levels."""
    attributes: tuple[str, ...]
    """Attributes against which goals are scored."""
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
        """The group that clicking a value sets; of several groups with the value, the last."""
        return {value: group for group, values in self.options.items() for value in values}

    @cached_property
    def clickables(self) -> tuple[str, ...]:
        """Clickable names of the item page, in the original's order, without repetitions."""
        return tuple(dict.fromkeys((*ITEM_BUTTONS, *self.group_of)))

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
    """What the official ``items_ins`` file says about one product."""

    attributes: tuple[str, ...] = NO_ATTRIBUTES
    """Attributes of the product."""
    text: str | None = None
    """Instruction for synthetic goals, if there is one."""
    wanted: tuple[str, ...] = field(default=())
    """The attributes that the instruction asks for."""

    @classmethod
    def parse(cls, entry: Mapping[str, Any] | None) -> Instruction:
        """Read one entry of the file; None stands for a product without one."""
        if not entry or "attributes" not in entry:
            return cls()
        wanted = entry.get("instruction_attributes") or ()
        return cls(tuple(entry["attributes"]), entry.get("instruction"), tuple(wanted))


def category_levels(path: str) -> frozenset[str]:
    """Split a category path into its levels."""
    return frozenset(level.strip() for level in path.split(CATEGORY_SEPARATOR))


def unit_interval(*key: object) -> float:
    """Map a key to a number in [0, 1), the same on every machine and in every process."""
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def usable(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the items that the original keeps: a fit asin, and the first of its kind.

    Raises:
        DataError: An entry is no item of the official schema.
    """
    seen: set[str] = set()
    for number, item in enumerate(items):
        try:
            asin = item["asin"]
        except (TypeError, KeyError) as error:
            raise DataError(
                f"expected item {number} to be an object with an 'asin', got {item!r:.80}; see the "
                "official items_shuffle file"
            ) from error
        if asin != "nan" and len(asin) <= LONGEST_ASIN and asin not in seen:
            seen.add(asin)
            yield item


def parse_prices(pricing: str | None) -> tuple[float, ...]:
    """Read a price such as ``$12.9`` or ``$12.9$20``.

    Args:
        pricing: The official string; None or empty means the default price.

    Returns:
        One price, or the two ends of a range.
    """
    if not pricing:
        return (DEFAULT_PRICE,)
    return tuple(float(_NOT_A_NUMBER.sub("", part)) for part in pricing.split("$")[1:])[:2]


def parse_options(customization: Any) -> dict[str, tuple[str, ...]]:
    """Read the option groups of an item: names and values in lower case, ``/`` spaced out."""
    if not customization:
        return {}
    return {
        name.lower(): tuple(v["value"].strip().replace("/", " | ").lower() for v in values)
        for name, values in customization.items()
        if values is not None
    }


def parse_product(
    item: Mapping[str, Any],
    instruction: Instruction,
    nouns: tuple[str, ...],
    price: float | None = None,
) -> Product:
    """Derive a product from its official item.

    Args:
        item: One object of the items file.
        instruction: Its entry of the instructions file.
        nouns: Nouns of its name.
        price: Price that counts; drawn within a range by the asin if left out.

    Returns:
        The product.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    try:
        small = item["small_description"]
        bullets = tuple(small) if isinstance(small, list) else (small or "",)
        prices = parse_prices(item.get("pricing"))
        images = item.get("images") or [""]
        if price is None:
            price = prices[0]
            if len(prices) == 2:
                price += (prices[1] - prices[0]) * unit_interval("price", item["asin"])
        return Product(
            item["asin"], item["name"], item["full_description"] or "", bullets, prices, price,
            parse_options(item["customization_options"]), item["query"].lower().strip(),
            item["category"], item["product_category"], instruction.attributes, nouns, images[0],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(
            f"expected item {item.get('asin')!r} to follow the official schema, but "
            f"{type(error).__name__}: {error}; compare it with the official items_shuffle file"
        ) from error
