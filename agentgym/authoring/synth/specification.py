"""A specification: what a world is made of, what can be done in it, and what is to be done."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from agentgym.actions import ActionSpec, Param
from agentgym.authoring.synth.facts import (
    NO,
    RESERVED,
    YES,
    Application,
    Equation,
    Fact,
    Misread,
    Term,
    Vocabulary,
)
from agentgym.authoring.synth.reading import IDENTIFIER, Section, load
from agentgym.core.tasks import canonical_json
from agentgym.errors import ConfigurationError

MOST_NAMES = 200
"""Most entities and words of a specification; a value is a byte of a state."""
MOST_ACTIONS = 4000
"""Most actions with all entities that there may be."""
CANNOT = "You cannot do that now."
"""What answers an action whose precondition has no words of its own."""
_NAME = re.compile(r"[A-Za-z0-9](?:[ '-]?[A-Za-z0-9])*")
_HOLE = re.compile(r"\{([^{}]*)\}")

Variables: TypeAlias = Mapping[str, str]
Template: TypeAlias = "tuple[str | Term, ...]"
"""A text with terms, whose values stand in their place."""


@dataclass(frozen=True)
class Kind:
    """A type of entities."""

    names: tuple[str, ...]
    """Names that its entities may have."""
    count: tuple[int, int]
    """How many there are, at least and at most."""


@dataclass(frozen=True)
class Need:
    """A precondition."""

    fact: Equation
    """What has to hold."""
    otherwise: str
    """What is said where it does not."""


@dataclass(frozen=True)
class Result:
    """One way in which a tool may turn out."""

    percent: int
    """How likely it is."""
    then: tuple[Equation, ...]
    """What becomes of facts; all are read before any is changed."""
    answer: Template
    """What is said, of the facts as they are then."""


@dataclass(frozen=True)
class Tool:
    """What can be done."""

    spec: ActionSpec
    """How it is written."""
    takes: Variables
    """Types of its parameters."""
    needs: tuple[Need, ...]
    """Preconditions that everybody can see."""
    hidden: tuple[Need, ...]
    """Those that depend on a hidden fact."""
    results: tuple[Result, ...]
    """How it may turn out; their percentages add up to 100."""


@dataclass(frozen=True)
class Sight:
    """A sentence of an observation."""

    variables: Variables
    """It is said of each entity of these types."""
    when: tuple[Equation, ...]
    """It is said where all of these hold."""
    tell: Template
    """Its words."""


@dataclass(frozen=True)
class Goal:
    """Facts that a task may ask for."""

    variables: Variables
    """Types of its variables, which are drawn; no entity is drawn twice."""
    want: tuple[Equation, ...]
    """What has to hold in the end."""
    words: Template
    """How it is put to the policy."""
    label: str
    """Its name in reports."""


@dataclass(frozen=True, eq=False)
class Specification:
    """All that a file says."""

    name: str
    """Its name, which begins ids of tasks."""
    summary: str
    """One line for people."""
    opening: str
    """How an episode begins."""
    kinds: Mapping[str, Kind]
    """Types of entities."""
    facts: Mapping[str, Fact]
    """What can be said of them."""
    tools: tuple[Tool, ...]
    """What can be done."""
    start: tuple[Sight, ...]
    """What is told at the beginning."""
    turn: tuple[Sight, ...]
    """What is told after each action."""
    goals: tuple[Goal, ...]
    """What tasks ask for."""
    goal_count: tuple[int, int]
    """How many of these one task asks for."""
    turns: tuple[int, int]
    """Fewest and most turns of the expert."""
    horizon: int
    """Turn budget."""
    digest: str
    """Hash of what the file says, white space and comments aside."""

    @property
    def chancy(self) -> bool:
        """Whether some tool may turn out in several ways."""
        return any(len(tool.results) > 1 for tool in self.tools)


def read(file: Path) -> Specification:
    """Read a file.

    Raises:
        DataError: It is missing or no specification; the message names the key.
    """
    stat = file.stat() if file.is_file() else None
    return _read_file(file, stat and (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=32)
def _read_file(file: Path, changed: tuple[int, int] | None) -> Specification:
    top = load(file)
    name = top.text("name")
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
        raise top.wrong("name", "lower-case letters, digits and -", name)
    kinds = {key: _kind(section) for key, section in top.section("types").sections()}
    facts = {key: _fact(key, section, kinds) for key, section in top.section("facts").sections()}
    parser = _Parser(Vocabulary(facts, _names(top, kinds, facts)), kinds)
    tools = tuple(parser.tool(key, section) for key, section in top.section("tools").sections())
    observe, tasks = top.section("observe"), top.section("tasks")
    turns = tasks.span("turns", 1, 100, (1, 20))
    spec = Specification(
        name=name,
        summary=top.text("summary"),
        opening=top.text("opening", top.text("summary")),
        kinds=kinds,
        facts=facts,
        tools=tools,
        start=observe.items("start", parser.sight, "tell"),
        turn=observe.items("turn", parser.sight, "tell"),
        goals=top.items("goals", parser.goal, "want"),
        goal_count=tasks.span("goals", 1, 8, (1, 1)),
        turns=turns,
        horizon=tasks.number("horizon", turns[1], 1000, 2 * turns[1] + 4),
        digest=hashlib.sha256(canonical_json(_plain_data(top)).encode()).hexdigest()[:16],
    )
    for section in (top, observe, tasks):
        section.end()
    for key in ("types", "facts", "tools", "goals"):
        if not top.raw(key):
            raise top.wrong(key, "filled", top.raw(key))
    _check_actions(top, spec)
    return spec


def _plain_data(top: Section) -> object:
    return {key: top.raw(key) for key in sorted(top.names())}


def _kind(section: Section) -> Kind:
    names = section.texts("names")
    for name in names:
        if not _NAME.fullmatch(name) or len(name) > 40:
            raise section.wrong("names", "words of letters and digits, 40 characters at most", name)
    if not names:
        raise section.wrong("names", "at least one name", [])
    count = section.span("count", 1, len(names), (len(names), len(names)))
    section.end()
    return Kind(names, count)


def _fact(name: str, section: Section, kinds: Mapping[str, Kind]) -> Fact:
    of = section.texts("of", ())
    if len(of) > 2 or not set(of) <= set(kinds):
        raise section.wrong("of", f"at most two types of {', '.join(kinds)}", list(of))
    values = section.texts("is", (YES, NO))
    flag = values == (YES, NO)
    for value in () if flag else values:
        if value not in kinds and (not _NAME.fullmatch(value) or value in RESERVED):
            raise section.wrong("is", "types and words of letters and digits", value)
    start = section.texts("start", values)
    if not start or not set(start) <= set(values) or len(set(values)) != len(values):
        raise section.wrong("start", f"some of {', '.join(values)}, each once", list(start))
    fact = Fact(name, of, values, start, section.flag("hidden"), section.flag("distinct"))
    section.end()
    return fact


def _names(top: Section, kinds: Mapping[str, Kind], facts: Mapping[str, Fact]) -> Mapping[str, str]:
    """Return the kinds of all names that may be written, and refuse what has two meanings."""
    words = {kind for fact in facts.values() for kind in fact.kinds} - {*kinds, YES, NO}
    entities = [(name, kind) for kind, of in kinds.items() for name in of.names]
    names = [*kinds, *facts, *sorted(words), *(name for name, _ in entities)]
    folded: set[str] = set()
    for name in names:
        if name.casefold() in folded or name in RESERVED:
            raise top.wrong("", "made of types, facts, words and names that all differ", name)
        folded.add(name.casefold())
    if len(names) > MOST_NAMES:
        raise top.wrong("", f"made of at most {MOST_NAMES} names", len(names))
    always = {kind for kind, of in kinds.items() if of.count[0] == len(of.names)}
    fixed = {name: kind for name, kind in entities if kind in always}
    return {**{word: word for word in sorted(words)}, **fixed}


def _check_actions(top: Section, spec: Specification) -> None:
    """Refuse tools whose texts cannot be told apart, and too many actions."""
    tools_by_text: dict[str, str] = {}
    for tool in spec.tools:
        pools = [spec.kinds[kind].names for kind in tool.takes.values()]
        size = 1
        for pool in pools:
            size *= len(pool)
        if size + len(tools_by_text) > MOST_ACTIONS:
            raise top.wrong("tools", f"at most {MOST_ACTIONS:,} actions", size + len(tools_by_text))
        for entities in itertools.product(*pools):
            text = write_action(tool, dict(zip(tool.takes, entities, strict=True)))
            if tools_by_text.setdefault(text.casefold(), tool.spec.name) != tool.spec.name:
                raise top.wrong(f"tools.{tool.spec.name}.say", "unlike what other tools say", text)


def write_action(tool: Tool, bindings: Mapping[str, str]) -> str:
    """Return the action of a tool with some entities."""
    return _HOLE.sub(lambda hole: bindings[hole[1]], tool.spec.templates[0])


class _Parser:
    """Read what is made of facts.

    Args:
        vocabulary: What names stand for.
        kinds: The types.
    """

    def __init__(self, vocabulary: Vocabulary, kinds: Mapping[str, Kind]) -> None:
        self._vocabulary, self._kinds = vocabulary, kinds

    def tool(self, name: str, section: Section) -> Tool:
        takes = self._variables(section, "takes")
        say = section.text("say", " ".join([name, *(f"{{{variable}}}" for variable in takes)]))
        params = tuple(
            Param(variable, description=f"A {kind}.", enum=self._kinds[kind].names)
            for variable, kind in takes.items()
        )
        does = section.text("does")
        try:
            spec = ActionSpec(name, does, params, native=" ".join(say.split()))
        except ConfigurationError as error:
            raise section.wrong("say", f"the words of an action ({error})", say) from error
        needs = section.items("when", partial(self._need, takes), "fact")
        hidden = tuple(need for need in needs if self._is_hidden(need.fact))
        results = section.items("chance", partial(self._result, takes), "answer")
        if not results:
            results = (self._result(takes, section, percent=100),)
        if sum(result.percent for result in results) != 100:
            total = sum(result.percent for result in results)
            raise section.wrong("chance", "outcomes whose percents add up to 100", total)
        section.end()
        visible = tuple(need for need in needs if need not in hidden)
        return Tool(spec, takes, visible, hidden, results)

    def sight(self, section: Section) -> Sight:
        variables = self._variables(section, "each")
        sight = Sight(
            variables,
            self._facts(section, "when", variables),
            self._template(section, "tell", variables),
        )
        section.end()
        return sight

    def goal(self, section: Section) -> Goal:
        variables = self._variables(section, "each")
        goal = Goal(
            variables,
            self._facts(section, "want", variables),
            self._template(section, "words", variables),
            section.text("label", section.place),
        )
        if not goal.want:
            raise section.wrong("want", "at least one fact", [])
        section.end()
        return goal

    # -- parts ----------------------------------------------------------------------------------

    def _need(self, takes: Variables, section: Section) -> Need:
        fact = self._equation(section, "fact", section.text("fact"), takes)
        need = Need(fact, section.text("else", CANNOT))
        section.end()
        return need

    def _result(self, takes: Variables, section: Section, percent: int = 0) -> Result:
        one_of_several = not percent
        result = Result(
            percent or section.number("percent", 1, 99),
            self._facts(section, "then", takes, effect=True),
            self._template(section, "answer", takes),
        )
        if one_of_several:
            section.end()
        return result

    def _variables(self, section: Section, key: str) -> Variables:
        within = section.section(key)
        variables: dict[str, str] = {}
        for name in within.names():
            kind = within.text(name)
            used = (
                name in self._vocabulary.facts
                or name in self._vocabulary.names
                or name in self._kinds
            )
            if not IDENTIFIER.fullmatch(name) or name in RESERVED or used:
                raise within.wrong(name, "named like no type, fact, word or entity", name)
            if kind not in self._kinds:
                raise within.wrong(name, f"a type ({', '.join(self._kinds)})", kind)
            variables[name] = kind
        return variables

    def _facts(
        self, section: Section, key: str, variables: Variables, *, effect: bool = False
    ) -> tuple[Equation, ...]:
        return tuple(
            self._equation(section, f"{key}[{n}]", text, variables, effect=effect)
            for n, text in enumerate(section.texts(key, ()))
        )

    def _equation(
        self, section: Section, key: str, text: str, variables: Variables, *, effect: bool = False
    ) -> Equation:
        try:
            return self._vocabulary.equation(text, variables, effect=effect)
        except Misread as error:
            raise section.wrong(key, f"a fact ({error})", text) from error

    def _template(self, section: Section, key: str, variables: Variables) -> Template:
        text = section.text(key)
        parts: list[str | Term] = []
        for n, part in enumerate(_HOLE.split(text)):
            try:
                parts.append(self._vocabulary.term(part, variables) if n % 2 else part)
            except Misread as error:
                raise section.wrong(key, f"a text with facts in braces ({error})", text) from error
        return tuple(parts)

    def _is_hidden(self, fact: Equation) -> bool:
        return any(self._vocabulary.facts[name].hidden for name in _named([fact.left, fact.right]))


def _named(terms: Sequence[Term]) -> list[str]:
    """Return the facts that terms are made of."""
    facts = []
    for term in terms:
        if isinstance(term, Application):
            facts += [term.fact, *_named(term.of)]
    return facts
