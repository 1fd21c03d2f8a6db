"""Goals: PDDL formulas, compiled to unions of conjunctive queries over the state of a household.

A goal is true when one of its queries is; a query is true when some choice of its variables makes
all its literals true. (The form is that of Chandra and Merlin, Optimal implementation of
conjunctive queries, STOC 1977; an answer is found by backtracking over the variables, ordered once
so that each has few candidates.)

A formula over ``and``, ``or``, ``not``, ``imply``, ``exists``, ``forall``, ``=`` and the predicates
of the domain is brought to negation normal form and distributed into conjunctions; each becomes a
query. Literals that no action can change are decided when the goal is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.envs.alfworld.engine.pddl import Tree, malformed, typed_list
from agentgym.envs.alfworld.engine.state import HouseholdState

FLUENTS: Mapping[str, Callable[[HouseholdState, Sequence[int]], bool]] = {
    "inreceptacle": lambda s, a: a[1] < len(s.contents) and a[0] in s.contents[a[1]],
    "holds": lambda s, a: s.hand == a[1],
    "holdsany": lambda s, a: s.hand >= 0,
    "atlocation": lambda s, a: s.place == a[1],
    "objectatlocation": lambda s, a: (a[0], a[1]) in s.lying,
    "opened": lambda s, a: a[0] in s.opened,
    "isclean": lambda s, a: a[0] in s.clean,
    "ishot": lambda s, a: a[0] in s.hot,
    "iscool": lambda s, a: a[0] in s.cool,
    "istoggled": lambda s, a: a[0] in s.toggled,
    "issliced": lambda s, a: a[0] in s.sliced,
}
"""Predicates that actions change, and how to read them from a state."""
ARITY = {
    **dict.fromkeys(("inreceptacle", "holds", "atlocation", "objectatlocation"), 2),
    **dict.fromkeys(("holdsany", "opened", "isclean", "ishot", "iscool", "istoggled"), 1),
    **dict.fromkeys(("issliced", "openable", "isreceptacleobject", "cleanable", "heatable"), 1),
    **dict.fromkeys(("coolable", "pickupable", "moveable", "toggleable", "sliceable"), 1),
    **dict.fromkeys(("receptacleatlocation", "receptacletype", "objecttype", "cancontain"), 2),
    **dict.fromkeys(("inreceptacleobject", "="), 2),
}
"""Predicates that a goal may use, with their numbers of arguments."""
LIMIT = 512
"""Most queries of one goal."""
Conjunction = tuple["Literal", ...]


class Literal(NamedTuple):
    """A fact, or its denial; an argument below zero is variable number ``-1 - argument``."""

    predicate: str
    args: tuple[int, ...]
    positive: bool


@dataclass(frozen=True, slots=True)
class GoalStep:
    """One variable of a query, in the order of the search."""

    variable: int
    domain: tuple[int, ...]
    members: frozenset[int]
    source: Literal | None
    """A literal that lists the few candidates, given the variables bound before."""
    checks: Conjunction
    """Literals all of whose variables are bound at this step."""


@dataclass(frozen=True, slots=True)
class Query:
    """Literals that must hold together for some choice of the variables."""

    domains: tuple[tuple[int, ...], ...]
    """The entities that each variable may stand for."""
    fluents: Conjunction
    """Literals that depend on the state."""
    statics: Conjunction
    """Literals over several variables that do not."""
    tables: Mapping[str, frozenset[tuple[int, ...]]]
    """Facts for :attr:`statics`."""
    ground: Conjunction
    """Those without variables."""
    steps: tuple[GoalStep, ...]
    """The search."""

    def satisfied(self, state: HouseholdState) -> bool:
        """Return whether some choice of the variables makes every literal true."""
        binding = [0] * len(self.domains)
        return self._all_hold(state, self.ground, binding) and self._search(state, 0, binding)

    def true(self, state: HouseholdState, literal: Literal, binding: Sequence[int]) -> bool:
        """Return whether a literal holds."""
        args = [value if value >= 0 else binding[-1 - value] for value in literal.args]
        fluent = FLUENTS.get(literal.predicate)
        if fluent is not None:
            return fluent(state, args) == literal.positive
        if literal.predicate == "=":
            return (args[0] == args[1]) == literal.positive
        return (tuple(args) in self.tables[literal.predicate]) == literal.positive

    def _all_hold(
        self, state: HouseholdState, literals: Conjunction, binding: Sequence[int]
    ) -> bool:
        return all(self.true(state, literal, binding) for literal in literals)

    def _search(self, state: HouseholdState, depth: int, binding: list[int]) -> bool:
        if depth == len(self.steps):
            return True
        step = self.steps[depth]
        for value in _candidates(step, state, binding):
            binding[step.variable] = value
            if self._all_hold(state, step.checks, binding) and self._search(
                state, depth + 1, binding
            ):
                return True
        return False


@dataclass(frozen=True, slots=True)
class GoalFormula:
    """A compiled goal formula: true when one of its queries is."""

    queries: tuple[Query, ...]

    def satisfied(self, state: HouseholdState) -> bool:
        """Return whether a state fulfils the goal."""
        return any(query.satisfied(state) for query in self.queries)


def _candidates(step: GoalStep, state: HouseholdState, binding: Sequence[int]) -> Iterable[int]:
    """Return the values of a step's variable that are worth a try."""
    source = step.source
    if source is None:
        return step.domain
    if source.predicate == "inreceptacle":
        receptacle = source.args[1]
        receptacle = receptacle if receptacle >= 0 else binding[-1 - receptacle]
        contents = state.contents[receptacle] if receptacle < len(state.contents) else ()
        return [value for value in contents if value in step.members]
    value = state.hand if source.predicate == "holds" else state.place
    return (value,) if value in step.members else ()


# -- compiling formulas ---------------------------------------------------------------------------


class Entities(NamedTuple):
    """The entities of a household, as far as a formula needs them."""

    numbers: Mapping[str, int]
    """PDDL name -> number."""
    types: Mapping[str, str]
    """PDDL name -> declared type."""
    facts: Mapping[str, Sequence[tuple[str, ...]]]
    """Initial facts by predicate."""

    def of_type(self, kind: str) -> list[int]:
        """Return the entities of a type; everything is an ``object``, as in the domain."""
        names = (name for name, own_type in self.types.items() if kind in ("object", own_type))
        return sorted(self.numbers[name] for name in names)

    def table(self, predicate: str) -> frozenset[tuple[int, ...]]:
        """Return the facts of a predicate that no action changes."""
        numbers = self.numbers
        rows = self.facts.get(predicate, ())
        return frozenset(tuple(numbers[word] for word in row) for row in rows)


def compile_goal(formula: Tree, entities: Entities) -> GoalFormula:
    """Compile a goal formula, read by :func:`~agentgym.envs.alfworld.engine.pddl.parse_problem`.

    Raises:
        DataError: The formula is malformed, uses symbols that the domain lacks, or is too large.
    """
    compiler = _Compiler(entities)
    queries = (compiler.query(part) for part in compiler.expand(formula, False, {}))
    return GoalFormula(tuple(query for query in queries if query is not None))


class _Compiler:
    """Turn a formula into queries."""

    def __init__(self, entities: Entities) -> None:
        self.entities = entities
        self.kinds: list[str] = []
        self._tables: dict[str, frozenset[tuple[int, ...]]] = {}
        self._types: dict[str, tuple[int, ...]] = {}

    def expand(self, tree: Tree, negated: bool, names: Mapping[str, int]) -> list[Conjunction]:
        """Return the disjunctive normal form of a formula, or of its negation."""
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
            raise _malformed("a formula such as (inReceptacle ?o ?r)", str(tree)[:60])
        tag, parts = tree[0], tree[1:]
        if tag == "not" and len(parts) == 1:
            return self.expand(parts[0], not negated, names)
        if tag == "imply" and len(parts) == 2:
            return self.expand(["or", ["not", parts[0]], parts[1]], negated, names)
        if tag in ("and", "or"):
            conjunctive = (tag == "and") != negated
            branches = (self.expand(part, negated, names) for part in parts)
            return _product(branches) if conjunctive else _union(branches)
        if tag in ("exists", "forall") and len(parts) == 2 and isinstance(parts[0], list):
            pairs = typed_list(parts[0])
            if (tag == "exists") != negated:
                if not all(self._of_type(kind) for _, kind in pairs):
                    return []
                fresh = {name: self._variable(kind) for name, kind in pairs}
                return self.expand(parts[1], negated, {**names, **fresh})
            return self._expand_forall(pairs, parts[1], negated, dict(names))
        return self._literal(tag, parts, not negated, names)

    def query(self, literals: Conjunction) -> Query | None:
        """Make a query of a conjunction, or None where nothing can fulfil it."""
        used = sorted({-1 - arg for literal in literals for arg in literal.args if arg < 0})
        rename = {-1 - old: -1 - new for new, old in enumerate(used)}
        literals = tuple(
            part._replace(args=tuple(rename.get(arg, arg) for arg in part.args))
            for part in dict.fromkeys(literals)
        )
        domains = [self._of_type(self.kinds[old]) for old in used]
        statics, fluents = [], []
        for literal in literals:
            if literal.predicate in FLUENTS:
                fluents.append(literal)
            elif len(set(literal.args) & set(rename.values())) == 1 and literal.predicate != "=":
                variable = -1 - min(literal.args)
                domains[variable] = self._filtered(domains[variable], literal)
            else:
                statics.append(literal)
        if not all(domains):
            return None
        tables = {part.predicate: self._table(part.predicate) for part in statics}
        ground = tuple(part for part in fluents if min(part.args) >= 0)
        unresolved = [part for part in (*fluents, *statics) if min(part.args) < 0]
        steps = tuple(_ordered_steps(domains, unresolved))
        return Query(tuple(domains), tuple(fluents), tuple(statics), tables, ground, steps)

    def _literal(
        self, tag: str, parts: list[Any], positive: bool, names: Mapping[str, int]
    ) -> list[Conjunction]:
        if ARITY.get(tag) != len(parts):
            raise _malformed(f"one of {', '.join(ARITY)} with its arguments", f"({tag} ...)")
        args = tuple(self._term(word, names) for word in parts)
        literal = Literal(tag, args, positive)
        if tag in FLUENTS or min(args) < 0:
            return [(literal,)]
        truth = args[0] == args[1] if tag == "=" else args in self._table(tag)
        return [()] if truth == positive else []

    def _expand_forall(
        self, pairs: list[tuple[str, str]], body: Tree, negated: bool, names: dict[str, int]
    ) -> list[Conjunction]:
        """Expand a formula that must hold for every value of the variables."""
        if not pairs:
            return self.expand(body, negated, names)
        (name, kind), other_pairs = pairs[0], pairs[1:]
        values = self._of_type(kind)
        return _product(
            self._expand_forall(other_pairs, body, negated, {**names, name: v}) for v in values
        )

    def _term(self, word: Any, names: Mapping[str, int]) -> int:
        value = None
        if isinstance(word, str):
            value = names.get(word) if word[0] == "?" else self.entities.numbers.get(word)
        if value is None:
            # As the original's translator, take an undeclared constant: no fact mentions it.
            if isinstance(word, str) and word[0] != "?":
                return len(self.entities.numbers)
            raise _malformed("a bound variable or the name of an entity", str(word)[:60])
        return value

    def _variable(self, kind: str) -> int:
        self.kinds.append(kind)
        return -len(self.kinds)

    def _of_type(self, kind: str) -> tuple[int, ...]:
        if kind not in self._types:
            self._types[kind] = tuple(self.entities.of_type(kind))
        return self._types[kind]

    def _table(self, predicate: str) -> frozenset[tuple[int, ...]]:
        if predicate not in self._tables:
            self._tables[predicate] = self.entities.table(predicate)
        return self._tables[predicate]

    def _filtered(self, domain: Iterable[int], literal: Literal) -> tuple[int, ...]:
        """Keep the values of a literal's only variable that make it true."""
        table = self._table(literal.predicate)

        def truth(value: int) -> bool:
            return tuple(arg if arg >= 0 else value for arg in literal.args) in table

        return tuple(value for value in domain if truth(value) == literal.positive)


def _product(branches: Iterable[list[Conjunction]]) -> list[Conjunction]:
    """Distribute ``and`` over ``or``."""
    result: list[Conjunction] = [()]
    for branch in branches:
        result = _limited(
            [
                product_clause + branch_clause
                for product_clause in result
                for branch_clause in branch
            ]
        )
        if not result:
            break
    return result


def _union(branches: Iterable[list[Conjunction]]) -> list[Conjunction]:
    """Join alternatives; one that always holds makes the others idle."""
    result: list[Conjunction] = []
    for branch in branches:
        if () in branch:
            return [()]
        result = _limited(result + branch)
    return result


def _limited(conjunctions: list[Conjunction]) -> list[Conjunction]:
    if len(conjunctions) > LIMIT:
        raise _malformed(f"a goal of at most {LIMIT} alternatives", "more")
    return conjunctions


def _malformed(expected: str, actual: str) -> Exception:
    return malformed(expected, actual, "the goal of a PDDL problem")


def _ordered_steps(
    domains: Sequence[tuple[int, ...]], literals: Sequence[Literal]
) -> Iterable[GoalStep]:
    """Order the variables of a query so that each has few candidates, given those before it."""
    unbound = list(range(len(domains)))
    unchecked = list(literals)
    holders = {part.args[1] for part in literals if part.predicate == "inreceptacle"}
    while unbound:
        sources = {v: _source(v, unbound, literals) for v in unbound}

        def cost(
            v: int, source_of: Mapping[int, Literal | None] = sources
        ) -> tuple[bool, bool, int]:
            return source_of[v] is None, -1 - v not in holders, len(domains[v])

        variable = min(unbound, key=cost)
        unbound.remove(variable)
        free = {-1 - v for v in unbound}
        checks = tuple(part for part in unchecked if not free.intersection(part.args))
        unchecked = [part for part in unchecked if free.intersection(part.args)]
        domain = domains[variable]
        yield GoalStep(variable, domain, frozenset(domain), sources[variable], checks)


def _source(variable: int, unbound: Sequence[int], literals: Iterable[Literal]) -> Literal | None:
    """Return a literal that lists the candidates of a variable, all else in it being bound."""
    term = -1 - variable
    unbound_terms = {-1 - v for v in unbound if v != variable}
    for part in literals:
        if not part.positive or unbound_terms.intersection(part.args):
            continue
        if part.predicate == "inreceptacle" and part.args[0] == term != part.args[1]:
            return part
        if part.predicate in ("holds", "atlocation") and part.args[1] == term:
            return part
    return None
