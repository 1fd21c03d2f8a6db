from __future__ import annotations

from agentgym.envs.textworld.engine.logic import ranks
from agentgym.envs.textworld.engine.rule_parser import parse
from tests.envs.textworld.engine.games import LOGIC


def test_the_hierarchy_of_types() -> None:
    logic = parse(LOGIC)
    assert logic.constants == {"P", "I"}
    assert logic.children["t"] == ("c", "o")
    assert logic.subtypes["t"] == {"t", "c", "o", "f"}


def test_signatures_are_tried_from_the_wide_to_the_narrow() -> None:
    children = {"t": ("c", "o"), "o": ("f", "k"), "s": ("stove",)}
    order = list(ranks(("o", "s"), children))
    assert order == [
        ("o", "s"),
        ("f", "s"),
        ("k", "s"),
        ("o", "stove"),
        ("f", "stove"),
        ("k", "stove"),
    ]
    assert list(ranks(("t",), children)) == [("t",), ("c",), ("o",), ("f",), ("k",)]


def test_joins_begin_with_what_is_bound() -> None:
    joins = parse(LOGIC).joins["insert"]
    assert joins[0].atom.name in ("at", "in")
    bound_names = {"P", "I"}
    for join in joins:
        bound = {join.atom.args[place] for place, _ in join.bound}
        assert bound == bound_names & set(join.atom.args)
        bound_names |= set(join.atom.args)
        assert len(join.new) + len(join.bound) + len(join.same_slots) == len(join.atom.args)


def test_a_placeholder_twice_in_one_condition_is_one_entity() -> None:
    (rule,) = parse("type a { rules { r :: near(a, a) -> far(a); } }").rules
    (join,) = parse("type a { rules { r :: near(a, a) -> far(a); } }").joins[rule.name]
    assert join.same_slots == ((0, 1),) and len(join.new) == 1
