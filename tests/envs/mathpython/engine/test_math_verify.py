"""Our check of answers beside that of math-verify, over the same table."""

from __future__ import annotations

import pytest

from tests.envs.mathpython.engine.test_equivalence import EQUAL, UNEQUAL

math_verify = pytest.importorskip("math_verify", reason="math-verify is in .ci/peers")
OURS_ALONE = {
    ("3 1/2", "3.5"), ("$18", "18 dollars"), ("3 feet", "3 foot"), (r"\pi", "3.14159"),
    (r"\frac{\pi}{2}", "pi/2"), ("3ab - ab", "2ab"),
}  # fmt: skip
"""Equal here, and not there: plain text that it does not read, and a decimal for pi."""
THEIRS_ALONE = {
    ("5 cm", "5 m"), ("(1,2)", r"\{1,2\}"), ("42", "the answer is 42 or 43"),
    (r"5\text{ m}", "5 s"), ("2", r"\sqrt{2}^2"), ("1", "x/x"),
}  # fmt: skip
"""Equal there, and not here: units, brackets and whatever surrounds a number are dropped, and
letters and irrational roots may come out."""


def verify(gold: str, answer: str) -> bool:
    parses = [
        math_verify.parse(text if "boxed" in text else f"${text.strip('$')}$")
        for text in (gold, answer)
    ]
    return bool(math_verify.verify(*parses))


def test_both_agree_but_for_what_is_named() -> None:
    differing = {pair for pair in (*EQUAL, *UNEQUAL) if verify(*pair) != (pair in EQUAL)}
    assert differing == OURS_ALONE | THEIRS_ALONE
