"""Goal formulas of PDDL, compiled to queries.

A formula over ``and``, ``or``, ``not``, ``imply``, ``exists``, ``forall``, ``=`` and the predicates
of the domain is brought to negation normal form and distributed into conjunctions; each becomes a
:class:`~agentgym.envs.alfworld.engine.goals.Query`. What no action can change is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agentgym.envs.alfworld.engine.goals import (
    FLUENTS,
    Conjunction,
    Goal,
    Literal,
    Query,
    ordered_steps,
)
from agentgym.envs.alfworld.engine.pddl import Tree, typed_list
from agentgym.errors import DataError

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
        known = (name for name, own in self.types.items() if kind in ("object", own))
        return sorted(self.numbers[name] for name in known)

    def table(self, predicate: str) -> frozenset[tuple[int, ...]]:
        """Return the facts of a predicate that no action changes."""
        numbers = self.numbers
        rows = self.facts.get(predicate, ())
        return frozenset(tuple(numbers[word] for word in row) for row in rows)


def compile_goal(formula: Tree, entities: Entities) -> Goal:
    """Compile a goal formula.

    Args:
        formula: The formula as :func:`agentgym.envs.alfworld.engine.pddl.parse_problem` returns it.
        entities: The household's entities.

    Returns:
        The goal.

    Raises:
        DataError: The formula is malformed, uses what the domain lacks, or is too large.
    """
    compiler = _Compiler(entities)
    queries = (compiler.query(part) for part in compiler.expand(formula, False, {}))
    return Goal(tuple(query for query in queries if query is not None))


class _Compiler:
    """Turns a formula into queries."""

    def __init__(self, entities: Entities) -> None:
        self.entities = entities
        self.kinds: list[str] = []
        self._tables: dict[str, frozenset[tuple[int, ...]]] = {}
        self._types: dict[str, tuple[int, ...]] = {}

    def expand(self, tree: Tree, negated: bool, names: Mapping[str, int]) -> list[Conjunction]:
        """Return the disjunctive normal form of a formula, or of its negation."""
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
            raise _bad("a formula such as (inReceptacle ?o ?r)", str(tree)[:60])
        tag, parts = tree[0], tree[1:]
        if tag == "not":
            return self.expand(_only(tag, parts), not negated, names)
        if tag == "imply" and len(parts) == 2:
            return self.expand(["or", ["not", parts[0]], parts[1]], negated, names)
        if tag in ("and", "or"):
            every = (tag == "and") != negated
            branches = (self.expand(part, negated, names) for part in parts)
            return _product(branches) if every else _union(branches)
        if tag in ("exists", "forall") and len(parts) == 2 and isinstance(parts[0], list):
            pairs = typed_list(parts[0])
            if (tag == "exists") != negated:
                if not all(self._of_type(kind) for _, kind in pairs):
                    return []
                fresh = {name: self._variable(kind) for name, kind in pairs}
                return self.expand(parts[1], negated, {**names, **fresh})
            return self._every(pairs, parts[1], negated, dict(names))
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
        rest = [part for part in (*fluents, *statics) if min(part.args) < 0]
        steps = tuple(ordered_steps(domains, rest))
        return Query(tuple(domains), tuple(fluents), tuple(statics), tables, ground, steps)

    def _literal(
        self, tag: str, parts: list[Any], positive: bool, names: Mapping[str, int]
    ) -> list[Conjunction]:
        if ARITY.get(tag) != len(parts):
            raise _bad(f"one of {', '.join(ARITY)} with its arguments", f"({tag} ...)")
        args = tuple(self._term(word, names) for word in parts)
        literal = Literal(tag, args, positive)
        if tag in FLUENTS or min(args) < 0:
            return [(literal,)]
        truth = args[0] == args[1] if tag == "=" else args in self._table(tag)
        return [()] if truth == positive else []

    def _every(
        self, pairs: list[tuple[str, str]], body: Tree, negated: bool, names: dict[str, int]
    ) -> list[Conjunction]:
        """Expand a formula that must hold for every value of the variables."""
        if not pairs:
            return self.expand(body, negated, names)
        (name, kind), rest = pairs[0], pairs[1:]
        values = self._of_type(kind)
        return _product(self._every(rest, body, negated, {**names, name: v}) for v in values)

    def _term(self, word: Any, names: Mapping[str, int]) -> int:
        value = None
        if isinstance(word, str):
            value = names.get(word) if word[0] == "?" else self.entities.numbers.get(word)
        if value is None:
            # As the original's translator, take an undeclared constant: no fact mentions it.
            if isinstance(word, str) and word[0] != "?":
                return len(self.entities.numbers)
            raise _bad("a bound variable or the name of an entity", str(word)[:60])
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
        result = _limited([left + right for left in result for right in branch])
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
        raise _bad(f"a goal of at most {LIMIT} alternatives", "more")
    return conjunctions


def _only(tag: str, parts: list[Any]) -> Tree:
    if len(parts) != 1:
        raise _bad(f"one formula in ({tag} ...)", f"{len(parts)}")
    tree: Tree = parts[0]
    return tree


def _bad(expected: str, got: str) -> DataError:
    return DataError(f"expected {expected} in the goal of a PDDL problem, got {got}")
