"""One universe: its articles as passages of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from agentgym.core.options import integer
from agentgym.envs.search.generator.config import GeneratorConfig
from agentgym.envs.search.generator.facts import UniverseFacts
from agentgym.envs.search.generator.prose import Writer
from agentgym.retrieval.retriever import Passage

MIN_SIZE, MAX_SIZE = 200, 2_000_000


class Universe:
    """An encyclopaedia of ``size`` articles that configuration and seed decide.

    Nothing is made before it is asked for: the facts with the first article or question, an article
    when it is read. A pickle holds the arguments only.

    Args:
        config: ``easy``, ``medium``, ``hard``, or a :class:`GeneratorConfig`.
        size: Number of articles, from 200 to 2,000,000.
        seed: Any non-negative integer. Universes whose seeds differ modulo
            :data:`~agentgym.envs.search.generator.names.SPACES` share no title.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    def __init__(
        self, config: str | GeneratorConfig = "medium", size: int = 20_000, seed: int = 0
    ) -> None:
        self.config = GeneratorConfig.of(config)
        self.size = integer(size, "size (in passages)", MIN_SIZE, MAX_SIZE)
        self.seed = integer(seed, "seed", 0, None)

    def __reduce__(self) -> tuple[type[Universe], tuple[GeneratorConfig, int, int]]:
        """Pickle the arguments only."""
        return Universe, (self.config, self.size, self.seed)

    @cached_property
    def facts(self) -> UniverseFacts:
        """What there is and what is true."""
        return UniverseFacts(self.config, self.size, self.seed)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.config, self.facts)

    def passage(self, entity: int) -> Passage:
        """Return the article about a thing, whose id is its number."""
        return Passage(str(entity), self.facts.names[entity], self._writer.text(entity))

    def passages(self) -> Iterator[Passage]:
        """Return all articles in the order of their ids."""
        return map(self.passage, range(self.size))
