"""A generated shop: products, instructions and goals, computed on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

from agentgym.core.options import integer
from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.generator.asins import AsinCodec
from agentgym.envs.webshop.generator.config import GeneratorConfig
from agentgym.envs.webshop.generator.drafts import GENERATOR_VERSION, ProductDraft, draft_cluster
from agentgym.envs.webshop.generator.instructions import make_goal, summary
from agentgym.envs.webshop.generator.listings import listing

MIN_SIZE, MAX_SIZE = 20, 100_000
LICENCE = "Apache-2.0 (generated text, no third-party content)"


def generate(
    size: int, difficulty: str | GeneratorConfig = "medium", seed: int = 0
) -> GeneratedShop:
    """Make a shop.

    Args:
        size: Number of products, from 20 to 100,000; each costs time and memory.
        difficulty: ``easy``, ``medium``, ``hard``, or a :class:`GeneratorConfig`.
        seed: Any non-negative integer; another seed is another shop.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """
    size = integer(size, "size (in products)", MIN_SIZE, MAX_SIZE)
    return GeneratedShop(size, GeneratorConfig.of(difficulty), integer(seed, "seed", 0, None))


class GeneratedShop:
    """A shop of ``size`` products, determined by seed and configuration.

    Only the parameters are stored: product ``i`` is computed on demand and does not depend on
    ``size``, so a shop of 100,000 products takes no memory until it is indexed.
    """

    def __init__(self, size: int, config: GeneratorConfig, seed: int) -> None:
        self.size = size
        self.config = config
        self.seed = seed
        self.key = f"{config.name}-{size}-{seed}"
        self.items: Sequence[dict[str, Any]] = _Items(self)
        self.instructions: Mapping[str, dict[str, Any]] = _Instructions(self)
        self._codec = AsinCodec(f"{GENERATOR_VERSION}/{config.name}/{seed}")
        self._cluster = lru_cache(maxsize=1024)(self._draft_cluster)

    def __reduce__(self) -> tuple[type[GeneratedShop], tuple[int, GeneratorConfig, int]]:
        """Pickle the parameters only."""
        return GeneratedShop, (self.size, self.config, self.seed)

    @property
    def meta(self) -> dict[str, Any]:
        """Content of the side file ``meta.json``, except for checksums."""
        return {
            "generator": "agentgym.envs.webshop.generator",
            "version": GENERATOR_VERSION,
            "size": self.size,
            "difficulty": self.config.name,
            "seed": self.seed,
            "cluster_size": self.config.cluster_size,
            "licence": LICENCE,
        }

    @property
    def clusters(self) -> int:
        """Number of clusters of near-duplicates; the last one may be cut short."""
        return -(-self.size // self.config.cluster_size)

    def draft(self, index: int) -> ProductDraft:
        """Return the facts of product ``index``."""
        number, place = divmod(index, self.config.cluster_size)
        return self._cluster(number)[place]

    def asin(self, index: int) -> str:
        """Return the product number of product ``index``."""
        return self._codec.encode(index)

    def index(self, asin: str) -> int:
        """Return the index of a product number.

        Raises:
            KeyError: The shop has no such product.
        """
        index = self._codec.decode(asin)
        if not 0 <= index < self.size:
            raise KeyError(asin)
        return index

    def cluster_of(self, index: int) -> int:
        """Return the number of the cluster of product ``index``."""
        return index // self.config.cluster_size

    def members(self, number: int) -> range:
        """Return the indices of the products of a cluster."""
        start = number * self.config.cluster_size
        return range(start, min(start + self.config.cluster_size, self.size))

    def nouns(self, index: int) -> tuple[str, ...]:
        """Return the nouns of a product's name: the words of its type, known to the generator."""
        return tuple(self.draft(index).type.name.split())

    def goal(self, index: int, k: int) -> ShopGoal:
        """Return goal ``k`` of product ``index``; ``k`` is any number from 0."""
        return make_goal(self.draft(index), self.items[index], k, self.config, self.seed)

    def _draft_cluster(self, number: int) -> tuple[ProductDraft, ...]:
        return draft_cluster(self.config, self.seed, number)


class _Items(Sequence[dict[str, Any]]):
    """The products of a shop in the official schema, written on demand."""

    def __init__(self, shop: GeneratedShop) -> None:
        self._shop = shop

    def __len__(self) -> int:
        return self._shop.size

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        shop, index = self._shop, range(len(self))[index]
        return listing(shop.draft(index), shop.asin(index), shop.config, shop.seed)


class _Instructions(Mapping[str, dict[str, Any]]):
    """The ``items_ins`` table of a shop, written on demand."""

    def __init__(self, shop: GeneratedShop) -> None:
        self._shop = shop

    def __len__(self) -> int:
        return self._shop.size

    def __iter__(self) -> Iterator[str]:
        return map(self._shop.asin, range(self._shop.size))

    def __getitem__(self, asin: str) -> dict[str, Any]:
        draft = self._shop.draft(self._shop.index(asin))
        names = [a.name for a in draft.attributes]
        return {
            "attributes": names,
            "instruction": summary(draft),
            "instruction_attributes": list(names),
        }
