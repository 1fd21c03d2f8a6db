"""How hard a generated encyclopaedia is: four presets of the same settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgym.core.options import choice, integer, preset
from agentgym.envs.search.generator.kinds import KINDS
from agentgym.envs.search.generator.relations import RELATIONS, WORD, YEAR
from agentgym.envs.search.generator.templates import QuestionTemplate
from agentgym.errors import ConfigurationError

STYLES = ("plain", "full")
QUESTION_KINDS = ("chain", "comparison", "intersection", "count")
HOPS = {"chain": (1, 5), "comparison": (2, 5), "intersection": (1, 3), "count": (1, 5)}
"""Least and most hops of each kind of question."""
LONGEST_CYCLE = 1000
_SHARES = ("mentions", "former", "noise", "namesakes", "inverse", "local")


@dataclass(frozen=True)
class GeneratorConfig:
    """The settings of the generator. Shares are percentages, drawn as integers.

    A variant of a preset should get a name of its own: the name is part of every draw.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    name: str
    """Name of the preset; part of every draw."""
    style: str
    """``full``: varied sentences and names out of syllables. ``plain``: every fact in one short
    sentence of the same form, queries that are parts of questions, and names that are pairs of
    words out of lists which all universes share."""
    relations: tuple[str, ...]
    """What articles state. They are about the kinds that these relations belong to."""
    paraphrases: int
    """Most ways in which a sentence or a question can be worded."""
    mentions: int
    """Share of the sentences without facts, most of which name other things, that are written."""
    former: int
    """Share of articles with a sentence that contradicts a fact but says that it is outdated."""
    noise: int
    """Share of articles about events, in which many names and hardly a fact stand."""
    namesakes: int
    """Share of the other things that are called after a family or a town."""
    inverse: int
    """Share of hops that go from a value to the only thing that has it, where there is one."""
    mix: tuple[tuple[str, int, int], ...]
    """Questions in a cycle: kind, hops, and how many of each cycle are such."""
    asked: tuple[str, ...] = ()
    """Relations that the last step of a question may ask for; none: all."""
    local: int = 0
    """Share of people who were born where their mentor was. What searching for a question shows may
    then hold its answer by chance, which nothing betrays."""

    @classmethod
    def of(cls, difficulty: str | GeneratorConfig) -> GeneratorConfig:
        """Return the preset of a name; a configuration is returned as it is.

        Raises:
            ConfigurationError: There is no such preset.
        """
        return preset(difficulty, "a difficulty", DIFFICULTIES)

    def __post_init__(self) -> None:
        """Validate, and turn lists into tuples: configurations are keys of what is kept."""
        if not isinstance(self.name, str) or not self.name:
            raise ConfigurationError(
                f"expected the name of a difficulty to be a text, got {self.name!r:.80}"
            )
        object.__setattr__(self, "relations", _listed(self.relations))
        object.__setattr__(self, "mix", _triples(self.mix))
        object.__setattr__(self, "asked", _listed(self.asked) if self.asked else ())
        choice(self.style, "style of a difficulty", STYLES)
        integer(self.paraphrases, "paraphrases of a difficulty", 1, 4)
        for name in _SHARES:
            integer(getattr(self, name), f"{name} of a difficulty", 0, 100)
        _check_relations(self)
        _check_mix(self.mix)
        _check_askable(self)

    @property
    def is_plain(self) -> bool:
        """Whether the style is ``plain``."""
        return self.style == "plain"

    @property
    def passages_a_question(self) -> int:
        """Passages for each question; more where only mentors can be asked about."""
        return 4 if self.local else 2

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of things that there are; events only if there is noise."""
        subjects = {RELATIONS[name].subject for name in self.relations}
        return tuple(kind for kind in KINDS if kind in subjects and (kind != "event" or self.noise))

    @property
    def cycle(self) -> tuple[tuple[str, int], ...]:
        """Kind and hops of the questions of one cycle, alike ones far from each other."""
        places = [
            ((2 * copy + 1) * 1_000_000 // (2 * count), number, (kind, hops))
            for number, (kind, hops, count) in enumerate(self.mix)
            for copy in range(count)
        ]
        return tuple(question for _, _, question in sorted(places))


def _listed(relations: Sequence[str]) -> tuple[str, ...]:
    """Return relations as a tuple."""
    if isinstance(relations, str) or not isinstance(relations, Sequence) or not relations:
        raise ConfigurationError(
            f"expected relations of a difficulty to be a list of names, got {relations!r:.80}"
        )
    return tuple(relations)


def _triples(mix: Sequence[Sequence[Any]]) -> tuple[tuple[str, int, int], ...]:
    """Return the cycle of questions as a tuple of tuples."""
    try:
        return tuple((kind, hops, count) for kind, hops, count in mix)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"expected mix of a difficulty to be a list of (kind, hops, count), got {mix!r:.80}"
        ) from None


def _check_askable(config: GeneratorConfig) -> None:
    """Check that there are relations for each kind of question."""
    relations = [RELATIONS[name] for name in config.relations]
    subjects = Counter(relation.subject for relation in relations if relation.predicate)
    askable = {
        "chain": True,
        "comparison": any(relation.earlier for relation in relations),
        "intersection": max(subjects.values(), default=0) > 1,
        "count": any(relation.count for relation in relations),
    }
    for kind, _, _ in config.mix:
        if not askable[kind]:
            raise ConfigurationError(
                f"expected relations that {kind} questions can be about, got {config.relations}; "
                "add some, or leave such questions out of mix"
            )


def _check_relations(config: GeneratorConfig) -> None:
    """Check that what articles state can be stated, and leads to things that exist."""
    for name in config.relations:
        choice(name, "relations of a difficulty", RELATIONS)
    for name in config.asked:
        choice(name, "asked of a difficulty", config.relations)
    if config.local and not {"birthplace", "mentor"} <= set(config.relations):
        raise ConfigurationError(
            "expected birthplace and mentor among relations of a difficulty whose people are "
            f"local, got {config.relations}; add them, or use local=0"
        )
    for relation in map(RELATIONS.__getitem__, config.relations):
        name = relation.name
        if relation.object not in (*config.kinds, YEAR, WORD):
            raise ConfigurationError(
                f"expected relations of kind {relation.object!r} beside {name!r}, which leads to "
                f"such things; got {config.relations}; add one, or leave {name!r} out"
            )
        if config.is_plain and not relation.phrases:
            raise ConfigurationError(
                f"expected relations between things in style 'plain', got {name!r}; leave it out"
            )
    for kind in config.kinds if not config.is_plain else ():
        for group in KINDS[kind].sentences:
            stated = QuestionTemplate(group[0]).relations
            left_out = [name for name in stated if name not in config.relations]
            if left_out and len(left_out) < len(stated):
                raise ConfigurationError(
                    f"expected all or none of the relations {', '.join(stated)}, which stand in "
                    f"one sentence; got {config.relations}; add {', '.join(left_out)}"
                )


def _check_mix(mix: Sequence[tuple[str, int, int]]) -> None:
    """Check the cycle of questions."""
    for kind, hops, count in mix:
        choice(kind, "kind of question in mix", QUESTION_KINDS)
        integer(hops, f"hops of {kind} questions in mix", *HOPS[kind])
        integer(count, f"number of {kind} questions in mix", 1, LONGEST_CYCLE)
    if not 0 < sum(count for _, _, count in mix) <= LONGEST_CYCLE:
        raise ConfigurationError(
            f"expected mix to hold 1 to {LONGEST_CYCLE} questions, got {mix!r:.200}; "
            "use (('chain', 1, 1), ('chain', 2, 1))"
        )


EASY = GeneratorConfig(
    name="easy",
    style="plain",
    relations=("birthplace", "mentor", "mayor", "twin", "founder", "seat", "author", "setting"),
    paraphrases=1,
    mentions=0,
    former=0,
    noise=0,
    namesakes=0,
    inverse=0,
    mix=(("chain", 1, 8), ("chain", 2, 8), ("chain", 3, 2), ("chain", 4, 1), ("chain", 5, 1)),
)

LOCAL = replace(
    EASY,
    name="local",
    relations=("birthplace", "mentor", "twin"),
    mix=(("chain", 2, 1),),
    asked=("birthplace",),
    local=45,
)

_MIX = (
    ("chain", 1, 9),
    ("chain", 2, 10),
    ("chain", 3, 9),
    ("chain", 4, 6),
    ("chain", 5, 5),
    ("comparison", 4, 4),
    ("comparison", 5, 1),
    ("intersection", 1, 1),
    ("intersection", 2, 2),
    ("intersection", 3, 2),
    ("count", 2, 1),
)

MEDIUM = GeneratorConfig(
    name="medium",
    style="full",
    relations=tuple(RELATIONS),
    paraphrases=3,
    mentions=90,
    former=15,
    noise=2,
    namesakes=70,
    inverse=20,
    mix=_MIX,
)

HARD = GeneratorConfig(
    name="hard",
    style="full",
    relations=tuple(RELATIONS),
    paraphrases=4,
    mentions=100,
    former=60,
    noise=12,
    namesakes=95,
    inverse=35,
    mix=_MIX,
)

DIFFICULTIES = {config.name: config for config in (EASY, MEDIUM, HARD, LOCAL)}
