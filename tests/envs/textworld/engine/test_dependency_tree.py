from __future__ import annotations

import gc

from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.dependency_tree import Node, Plan, TreeCache, tails
from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.logic import Logic
from agentgym.envs.textworld.engine.steps import PlanStep, StepTable

LOGIC = Logic({}, (), {}, {})
MASKS = st.integers(0, 63)


def _steps(pairs: list[tuple[int, int]]) -> Plan:
    steps = StepTable(FactTable(LOGIC, {}), {})
    return tuple(
        steps.make(f"s{place}", before, after) for place, (before, after) in enumerate(pairs)
    )


def _possible(plan: Plan, facts: int) -> bool:
    for step in plan:
        if facts & step.preconditions != step.preconditions:
            return False
        facts = facts & ~step.preconditions | step.postconditions
    return True


@given(st.lists(st.tuples(MASKS, MASKS), min_size=1, max_size=5), MASKS)
def test_tails_say_from_where_a_plan_can_be_carried_out(
    pairs: list[tuple[int, int]], facts: int
) -> None:
    plan = _steps(pairs)
    for start, need in enumerate(tails(plan)):
        assert _possible(plan[start:], facts) == (need is not None and facts & need == need)


def test_repeated_conditions_make_a_sequence_impossible() -> None:
    step = StepTable(FactTable(LOGIC, {}), {}).make("s", 1, 2, proper=(False, True))
    assert tails((step,)) == (None,)


# Facts of a walk: 1 at home, 2 at the well, 4 the bucket in the hand, 8 water in the bucket.
GO, BACK, TAKE, FILL, END = (1, 2), (2, 1), (1, 1 | 4), (2 | 4, 2 | 4 | 8), (8 | 1, 8 | 1 | 16)


def _walk() -> tuple[StepTable, dict[str, PlanStep]]:
    steps = StepTable(
        FactTable(LOGIC, {}), {"go": "back", "back": "go", "take": "drop", "drop": "take"}
    )
    pairs = {"go": GO, "back": BACK, "take": TAKE, "fill": FILL, "trigger": END}
    return steps, {
        name: steps.make(name, before, after)
        for place, (name, (before, after)) in enumerate(pairs.items())
    }


def test_trees_are_freed_without_the_garbage_collector() -> None:
    def nodes() -> int:
        return sum(type(node) is Node for node in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        nodes_before = nodes()
        steps, by_name = _walk()
        trees = TreeCache(steps)
        tree = trees.of(tuple(by_name[name] for name in ("take", "go", "fill", "back", "trigger")))
        tree, _ = trees.advance(tree, by_name["take"])
        assert nodes() > nodes_before
        del trees, tree
        assert nodes() == nodes_before
    finally:
        gc.enable()


def test_a_plan_survives_its_tree() -> None:
    steps, by_name = _walk()
    plan = tuple(by_name[name] for name in ("take", "go", "fill", "back", "trigger"))
    trees = TreeCache(steps)
    tree = trees.of(plan)
    assert [step.name for step in tree.plan] == ["take", "go", "fill", "back", "trigger"]
    assert trees.of(plan) is tree


def test_what_was_spoilt_is_put_right() -> None:
    steps, by_name = _walk()
    trees = TreeCache(steps)
    plan = tuple(by_name[name] for name in ("take", "go", "fill", "back", "trigger"))
    tree, changed = trees.advance(trees.of(plan), by_name["go"])
    assert changed
    assert tree.plan[0].name == "back"
    assert trees.advance(trees.of(plan), by_name["go"])[0] is tree
    same_tree, changed = trees.advance(tree, steps.make("look", 2, 2))
    assert same_tree is tree and not changed


def test_what_is_done_leaves_the_tree() -> None:
    steps, by_name = _walk()
    trees = TreeCache(steps)
    tree, _ = trees.advance(trees.of((by_name["fill"], by_name["trigger"])), by_name["fill"])
    assert "fill" not in [step.name for step in tree.plan]


def test_a_step_and_its_reverse_undo_each_other() -> None:
    steps, by_name = _walk()
    back = steps.reverse(by_name["go"])
    assert (back.name, back.preconditions, back.postconditions) == ("back", 2, 1)
    assert back is by_name["back"] and steps.reverse(back) is by_name["go"]
    nameless = steps.reverse(by_name["fill"])
    assert nameless.name == "r_fill" and not steps.undoable(by_name["fill"])
    assert steps.reverse(nameless).key != by_name["fill"].key


def test_trees_side_by_side_are_one_plan() -> None:
    steps, by_name = _walk()
    trees = TreeCache(steps)
    tree = trees.of((by_name["take"], by_name["go"], by_name["fill"], by_name["trigger"]))
    arrive = steps.make("trigger", 2, 2 | 32)
    other_tree = trees.of((by_name["go"], arrive))
    plan = trees.plan((tree, other_tree))
    assert [step.name for step in plan if step.name != "trigger"].count("go") == 1
    assert trees.plan((tree,)) == tree.plan


def test_a_step_is_packed_with_its_facts() -> None:
    steps = StepTable(table := FactTable(LOGIC, {"x": "a"}), {})
    step = steps.make("s", table.bit(("p", "x")), table.bit(("q", "x")), ("do", None), "u")
    packed = steps.pack(step)
    assert packed == ("s", (("p", "x"),), (("q", "x"),), ("do", None), "u", (True, True))
    assert steps.unpack(packed) is step
    other_table = StepTable(table := FactTable(LOGIC, {"x": "a"}), {})
    table.bit(("r", "x"))
    assert other_table.pack(other_table.unpack(packed)) == packed


def test_a_plan_in_circles_is_no_plan() -> None:
    steps = StepTable(FactTable(LOGIC, {}), {"s0": "s1", "s1": "s0", "s2": "s3", "s3": "s2"})
    pairs = {"s0": (19, 28), "s1": (26, 25), "s2": (3, 9)}
    plan = tuple(steps.make(name, before, after) for name, (before, after) in pairs.items())
    assert TreeCache(steps).of(plan).plan == ()
