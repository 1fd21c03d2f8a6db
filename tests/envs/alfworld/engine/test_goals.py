"""Goal formulas."""

from __future__ import annotations

import itertools

import pytest

from agentgym.envs.alfworld.engine.goals import Entities, GoalFormula, compile_goal
from agentgym.envs.alfworld.engine.pddl import read_tree
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState
from agentgym.errors import DataError

NAMES = ("desk", "shelf", "mug", "pen", "here", "there", "me")
NUMBERS = {name: number for number, name in enumerate(NAMES)}
DESK, SHELF, MUG, PEN, HERE, THERE, ME = range(7)
TYPES = dict(zip(NAMES, ["receptacle"] * 2 + ["object"] * 2 + ["location"] * 2 + ["agent"],
                 strict=True))  # fmt: skip
FACTS = {
    "objecttype": [("mug", "me"), ("pen", "here")],
    "receptacleatlocation": [("desk", "here"), ("shelf", "there")],
    "cleanable": [("mug",)],
    "inreceptacleobject": [("pen", "mug")],
}
NOTHING = frozenset[int]()
START = HouseholdState(HERE, NOBODY, NOTHING, ((MUG,), ()), frozenset({(MUG, HERE)}), frozenset(),
              NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)  # fmt: skip


def goal(text: str) -> GoalFormula:
    return compile_goal(read_tree(text), Entities(NUMBERS, TYPES, FACTS))


def true(text: str, **changes: object) -> bool:
    return goal(text).satisfied(START._replace(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("formula", "changes"),
    [
        ("(inReceptacle mug desk)", {"contents": ((), ())}),
        ("(atLocation me here)", {"place": THERE}),
        ("(not (holds me mug))", {"hand": MUG}),
        ("(not (holdsAny me))", {"hand": PEN}),
        ("(not (opened desk))", {"opened": frozenset({DESK})}),
        ("(objectAtLocation mug here)", {"lying": frozenset()}),
        *(
            (f"(not (is{name.title()} pen))", {name: frozenset({PEN})})
            for name in ("clean", "hot", "cool", "toggled", "sliced")
        ),
        ("(exists (?o - object) (and (inReceptacle ?o desk) (cleanable ?o)))",
         {"contents": ((PEN,), (MUG,))}),
        ("(exists (?r - receptacle ?l - location ?a - agent) (and (receptacleAtLocation ?r ?l) "
         "(atLocation ?a ?l) (inReceptacle mug ?r)))", {"place": THERE}),
        ("(forall (?o - object) (imply (cleanable ?o) (inReceptacle ?o desk)))",
         {"contents": ((), (MUG,))}),
        ("(exists (?o) (and (inReceptacleObject pen ?o) (inReceptacle ?o desk)))",
         {"contents": ((PEN,), ())}),
        ("(not (exists (?o) (and (not (= ?o mug)) (inReceptacle ?o desk))))",
         {"contents": ((MUG, PEN), ())}),
        ("(or (holds me pen) (and (not (isHot mug)) (atLocation me here)))",
         {"hot": frozenset({MUG})}),
        ("(not (forall (?r - receptacle) (exists (?o) (inReceptacle ?o ?r))))",
         {"contents": ((MUG,), (PEN,))}),
    ],
)  # fmt: skip
def test_fluents_decide(formula: str, changes: dict[str, object]) -> None:
    lowered = formula.lower()
    assert true(lowered)
    assert not true(lowered, **changes)
    assert true(f"(and (or {lowered} (isHot pen)) (and))".lower())
    assert not true(f"(not {lowered})")
    assert true(f"(not {lowered})", **changes)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("(and)", True), ("(or)", False), ("(cleanable mug)", True), ("(cleanable pen)", False),
        ("(= mug mug)", True), ("(= mug pen)", False), ("(exists (?o - toy) (= ?o ?o))", False),
        ("(forall (?o - toy) (or))", True), ("(exists (?o) (= ?o ?o))", True),
        ("(objecttype mug nosuchtype)", False), ("(exists (?o) (objecttype ?o nosuchtype))", False),
        ("(exists (?o) (and (cleanable ?o) (not (cleanable ?o))))", False),
        ("(exists (?r) (inreceptacle mug ?r))", True), ("(inreceptacle mug pen)", False),
        ("(exists (?x) (exists (?x) (cleanable ?x)))", True),
    ],
)  # fmt: skip
def test_constant_formulas(formula: str, expected: bool) -> None:
    assert true(formula) is expected
    assert true(f"(not {formula})") is not expected


@pytest.mark.parametrize(
    "formula",
    [
        "(checked mug)", "(ison mug)", "(nosuch mug)", "(holds me)", "(holds me ?x)", "(not)",
        "(not (and) (and))", "(exists mug (and))", "(exists (?x) (and) (and))", "((and))", "()",
        "(and mug)", "(imply (and))", "(exists (?x -) (and))", "(ishot (mug))",
        "(and" + " (or (ishot mug) (iscool mug))" * 12 + ")",  # too many alternatives
    ],
)  # fmt: skip
def test_what_the_domain_lacks_is_refused(formula: str) -> None:
    with pytest.raises(DataError, match=r"expected .* got"):
        goal(formula)


def test_queries_agree_with_all_assignments() -> None:
    """Compare the ordered search with trying every pair of values."""
    formula = (
        "(exists (?a - object ?b - receptacle) (and (inreceptacle ?a ?b) (not (ishot ?a)) "
        "(not (opened ?b))))"
    )
    compiled = goal(formula)
    spots = ((), (MUG,), (PEN,), (MUG, PEN))
    object_sets = [frozenset(x) for x in ((), (MUG,), (PEN,), (MUG, PEN))]
    doors = [frozenset(x) for x in ((), (DESK,), (SHELF,))]
    for first, second, hot, opened in itertools.product(spots, spots, object_sets, doors):
        state = START._replace(contents=(first, second), hot=hot, opened=opened)
        expected = any(
            entity not in hot and receptacle not in opened
            for receptacle, content in enumerate((first, second))
            for entity in content
        )
        assert compiled.satisfied(state) is expected
