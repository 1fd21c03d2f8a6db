"""The policy plays, and plays the same for the same seed."""

from my_policy import MyPolicy

import agentgym


def test_it_takes_no_action_twice():
    policy = MyPolicy()
    info = {"admissible_actions": ["left", "right"]}
    assert sorted(policy.act("", info) for _ in range(2)) == ["left", "right"]


def test_it_plays_and_repeats_itself():
    reports = [agentgym.evaluate(MyPolicy(), "textcraft", num_tasks=3) for _ in range(2)]
    assert reports[0].n == 3 and not reports[0].errors
    assert [row.turns for row in reports[0].rows] == [row.turns for row in reports[1].rows]
