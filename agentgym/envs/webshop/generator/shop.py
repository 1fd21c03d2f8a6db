"""A generated shop: products, instructions and goals, computed on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

from agentgym.envs.webshop.generator.asins import AsinCodec
from agentgym.envs.webshop.generator.config import Difficulty
from agentgym.envs.webshop.generator.families import VERSION, Draft, family
from agentgym.envs.webshop.generator.instructions import Request, request, summary
from agentgym.envs.webshop.generator.products import item

LICENCE = "Apache-2.0 (generated text, no third-party content)"


class Catalogue:
    """A shop of ``size`` products that seed and difficulty decide.

    Nothing is stored but the parameters: product ``i`` is computed when it is asked for and does
    not depend on ``size``, so a shop of 100,000 products costs no memory until it is indexed.

    Args:
        size: Number of products.
        difficulty: The knobs.
        seed: Seed of the catalogue.
    """

    def __init__(self, size: int, difficulty: Difficulty, seed: int) -> None:
        self.size = size
        self.difficulty = difficulty
        self.seed = seed
        self.key = f"{difficulty.name}-{size}-{seed}"
        self.items: Sequence[dict[str, Any]] = _Items(self)
        self.ins: Mapping[str, dict[str, Any]] = _Instructions(self)
        self._codec = AsinCodec(f"{VERSION}/{difficulty.name}/{seed}")
        self._family = lru_cache(maxsize=1024)(self._make_family)

    def __reduce__(self) -> tuple[type[Catalogue], tuple[int, Difficulty, int]]:
        """Pickle the parameters only."""
        return Catalogue, (self.size, self.difficulty, self.seed)

    @property
    def meta(self) -> dict[str, Any]:
        """Facts for the side file ``meta.json``, its checksums excepted."""
        return {
            "generator": "agentgym.envs.webshop.generator",
            "version": VERSION,
            "size": self.size,
            "difficulty": self.difficulty.name,
            "seed": self.seed,
            "family_size": self.difficulty.family_size,
            "licence": LICENCE,
        }

    @property
    def families(self) -> int:
        """Number of families; the last one may be cut short."""
        return -(-self.size // self.difficulty.family_size)

    def draft(self, index: int) -> Draft:
        """Return the facts of product ``index``."""
        number, place = divmod(index, self.difficulty.family_size)
        return self._family(number)[place]

    def asin(self, index: int) -> str:
        """Return the product number of product ``index``."""
        return self._codec.encode(index)

    def index(self, asin: str) -> int:
        """Return the index of a product number.

        Raises:
            KeyError: The catalogue has no such product.
        """
        index = self._codec.decode(asin)
        if not 0 <= index < self.size:
            raise KeyError(asin)
        return index

    def family_of(self, index: int) -> int:
        """Return the number of the family of product ``index``."""
        return index // self.difficulty.family_size

    def members(self, number: int) -> range:
        """Return the indices of the products of a family."""
        start = number * self.difficulty.family_size
        return range(start, min(start + self.difficulty.family_size, self.size))

    def nouns(self, index: int) -> tuple[str, ...]:
        """Return the nouns of a product's name: the words of its type, as the generator knows."""
        return tuple(self.draft(index).type.name.split())

    def request(self, index: int, k: int) -> Request:
        """Return goal ``k`` of product ``index``; any ``k`` from 0 gives one."""
        draft = self.draft(index)
        return request(draft, self.items[index], k, self.difficulty, self.seed)

    def requests(self, index: int, count: int) -> list[Request]:
        """Return the first ``count`` goals of product ``index``."""
        draft, product = self.draft(index), self.items[index]
        return [request(draft, product, k, self.difficulty, self.seed) for k in range(count)]

    def _make_family(self, number: int) -> tuple[Draft, ...]:
        return family(self.difficulty, self.seed, number)


class _Items(Sequence[dict[str, Any]]):
    """The products of a catalogue in the official schema, written on demand."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def __len__(self) -> int:
        return self._catalogue.size

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        catalogue, index = self._catalogue, index % len(self)
        draft = catalogue.draft(index)
        return item(draft, catalogue.asin(index), catalogue.difficulty, catalogue.seed)


class _Instructions(Mapping[str, dict[str, Any]]):
    """The ``items_ins`` table of a catalogue, written on demand."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def __len__(self) -> int:
        return self._catalogue.size

    def __iter__(self) -> Iterator[str]:
        return map(self._catalogue.asin, range(self._catalogue.size))

    def __getitem__(self, asin: str) -> dict[str, Any]:
        draft = self._catalogue.draft(self._catalogue.index(asin))
        names = [a.name for a in draft.attributes]
        return {
            "attributes": names,
            "instruction": summary(draft),
            "instruction_attributes": list(names),
        }
