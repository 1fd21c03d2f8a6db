from __future__ import annotations

import itertools

from agentgym.evaluation.reports.verdicts import direction, relation, signed


def test_a_clause_says_what_holds_of_both_measures() -> None:
    for score, success in itertools.product((-1, 0, 1), repeat=2):
        clause = relation(score, success, "bc")
        assert " bc" in clause
        assert ("better" in clause) == (score == success == 1)
        assert ("worse" in clause) == (score == success == -1)
        assert ("more tasks" in clause) == (success > 0 and not score > 0)
        assert ("fewer tasks" in clause) == (success < 0 and not score < 0)
        assert ("level scores" in clause) == (score == 0 != success)
        assert ("no measurable difference in success" in clause) == (success == 0 != score)


def test_a_difference_without_an_interval_has_no_direction() -> None:
    assert [direction(ends) for ends in ((0.1, 0.2), (-0.1, 0.2), (-0.2, -0.1), None)] == [
        1, 0, -1, 0
    ]  # fmt: skip
    assert signed(-1e-9, (-0.1, 1e-9)) == "+0.000 (-0.100 to +0.000)"
    assert signed(0.1, None) == "+0.100" and signed(0.1, (0, 0.2)) == "+0.100 (+0.000 to +0.200)"
