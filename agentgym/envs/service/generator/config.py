"""Size and difficulty of generated tasks: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.core.options import flag, integer, preset
from agentgym.envs.kinds_config import KindsConfig
from agentgym.envs.service.engine.customer import FULL, MOODS

GENERATOR_VERSION = 1
"""Raise it when a seed gives another task."""
KINDS = ("change", "amount", "question", "forbidden", "transfer")
"""Kinds of requests: a change, a change and a number, a question, a change that a rule forbids, a
change that is for a supervisor."""
MOST_REQUESTS = 4


@dataclass(frozen=True)
class GeneratorConfig(KindsConfig):
    """The settings of the generator.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    all_kinds = KINDS

    requests: tuple[int, int]
    """Minimum and maximum number of requests."""
    records: tuple[int, int]
    """Minimum and maximum number of records of the customer beyond one per request."""
    tools: int
    """Number of tools that the customer's requests need, the simplest first."""
    openings: tuple[int, int]
    """Minimum and maximum number of facts with which the customer begins a request."""
    described: int
    """Percentage of requests in which the customer describes the record, without its id."""
    corrections: int
    """Percentage of changes in which the customer first tells a wrong value; with ``confirm``."""
    confirm: bool
    """Whether the agent must ask for a yes before each change."""
    insists: tuple[int, int]
    """Minimum and maximum number of times that the customer insists after a refusal."""
    moods: int
    """Number of moods of customers, the calmest first."""
    paraphrases: int
    """Number of ways to say a thing, the plainest first."""

    @classmethod
    def of(cls, difficulty: str | GeneratorConfig) -> GeneratorConfig:
        """Return the preset of a name; a configuration is returned unchanged.

        Raises:
            ConfigurationError: The preset does not exist.
        """
        return preset(difficulty, "a difficulty", DIFFICULTIES)

    def __post_init__(self) -> None:
        """Validate."""
        super().__post_init__()
        self._check_span("requests", 1, MOST_REQUESTS)
        self._check_span("records", 0, 4)
        self._check_span("openings", 0, FULL)
        self._check_span("insists", 0, 4)
        integer(self.tools, "tools of a difficulty", 3, 6)
        integer(self.described, "described of a difficulty", 0, 100)
        integer(self.corrections, "corrections of a difficulty", 0, 100)
        integer(self.moods, "moods of a difficulty", 1, len(MOODS))
        integer(self.paraphrases, "paraphrases of a difficulty", 1, 3)
        flag(self.confirm, "confirm of a difficulty")


DIFFICULTIES: Mapping[str, GeneratorConfig] = {
    "easy": GeneratorConfig(
        "easy", ("change", "forbidden"), requests=(1, 1), records=(0, 0), tools=3,
        openings=(4, 4), described=0, corrections=0, confirm=False, insists=(0, 0), moods=1,
        paraphrases=1,
    ),
    "medium": GeneratorConfig(
        "medium", KINDS, requests=(1, 2), records=(0, 1), tools=6, openings=(1, 3), described=30,
        corrections=0, confirm=False, insists=(0, 1), moods=2, paraphrases=2,
    ),
    "hard": GeneratorConfig(
        "hard", ("change", *KINDS), requests=(2, 3), records=(1, 3), tools=6, openings=(0, 2),
        described=70, corrections=30, confirm=True, insists=(0, 3), moods=3, paraphrases=3,
    ),
}  # fmt: skip
"""Presets: in ``easy`` the customer tells one plain request at once; ``medium`` has all tools and
kinds, told piece by piece; in ``hard`` several requests, described records, corrections and
insisting customers come together, and each change needs a yes."""
