"""The table of answers that are one or are not, and texts that mean harm."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.mathpython.engine import equivalence
from agentgym.envs.mathpython.engine.equivalence import equivalent
from agentgym.envs.mathpython.engine.parser import parse
from agentgym.errors import DependencyNotInstalled

EQUAL = [
    # fractions, mixed numbers, decimals
    (r"\frac{1}{2}", "1/2"), (r"\frac12", "0.5"), (r"\dfrac{3}{4}", ".75"),
    ("-3/4", r"-\frac{3}{4}"),
    (r"\frac{-3}{4}", r"\frac{3}{-4}"), (r"3\frac{1}{2}", "7/2"), ("3 1/2", "3.5"), ("2", "2.0"),
    ("6/4", "3/2"), ("1/3", "0.333333"), ("2/3", "0.666667"), ("2/3", "0.6666666"),
    # percents and units
    ("0.5", "50%"), ("50", r"50\%"), (r"12.5\%", "1/8"), ("5 percent", "0.05"),
    (r"5\text{ cm}", "5"), (r"5\text{ cm}", "5 cm"), ("12", "12 apples"), (r"30^\circ", "30"),
    (r"90^{\circ}", "90 degrees"), ("$18", "18 dollars"), (r"\$18.00", "18"), ("3 feet", "3 foot"),
    # thousands
    ("1,234", "1234"), (r"10{,}000", "10000"), (r"10,\!000", "10,000"), 
    ("$1,234,567.50", "1234567.5"),
    # powers, roots, constants
    ("2^{10}", "1024"), ("1.5\\times 10^3", "1500"), (r"\sqrt{8}", r"2\sqrt{2}"),
    (r"2\sqrt2", "sqrt(8)"), (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"), (r"\sqrt[3]{27}", "3"),
    (r"\sqrt{3+2\sqrt{2}}", r"1+\sqrt{2}"), ("9^{1/2}", "3"), (r"\pi", "3.14159"),
    (r"\sqrt{2}", "1.414214"), (r"\frac{\pi}{2}", "pi/2"), (r"\sin(\pi/6)", "1/2"),
    (r"\binom{5}{2}", "10"), ("5!", "120"), (r"\lfloor 7/2 \rfloor", "3"), ("|-3|", "3"),
    # polynomials and quotients of them
    ("x^2+2x+1", "(x+1)^2"), ("x^2-1", "(x-1)(x+1)"), (r"\frac{2x+2}{2}", "x+1"),
    (r"\frac{x^2-1}{x-1}", "x + 1"), ("6x - 3", "3(2x-1)"), ("y=2x+3", "2x+3"), ("xy", "y*x"),
    ("2xy^2", "2*x*y^2"), ("3ab - ab", "2ab"), (r"5\text{ m}", "5 m"), ("5cm", "5 cm"),
    # sets, pairs, intervals
    ("(1,2)", "(1, 2)"), (r"(\frac12, 3)", "(0.5, 3)"),
    (r"\{1,2,3\}", "{3, 2, 1}"), ("1,2", "2, 1"),
    ("1 and 2", "2,1"), (r"\{5\}", "5"), ("-2, 3", "x = 3 or x = -2"), ("2, 2, 3", "2, 3"),
    (r"(-\infty,3]", r"\left(-\infty, 3\right]"), (r"[1,2]\cup(3,4)", r"(3,4) \cup [1,2]"),
    (r"1\pm\sqrt{2}", r"1+\sqrt 2, 1-\sqrt 2"), (r"x \in [0, 1)", "[0,1)"),
    # words and wrappings
    ("yes", "Yes"), (r"\text{Evelyn}", "evelyn"), ("x=5", "5"), ("$5$", "5"), ("5.", "5"),
    (r"\boxed{42}", "42"), ("42", r"So it is \boxed{\frac{84}{2}}."), ("(B)", r"\text{(B)}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
]  # fmt: skip
SPELLINGS = [
    # numbers as programs print them
    ("0.00007", "7e-05"), ("31000", "3.1E4"), ("-0.0025", "-2.5e-3"),
    ("6.1e27", r"6.1 \times 10^{27}"),
    ("6.1e27", "61" + "0" * 26), ("6.1e27", "6.1*10**27"), ("6.1e27", "6.1 x 10^27"),
    ("6.1e27", "6.1\u00d710\u00b2\u2077"), ("1e-9", "10^{-9}"),
    ("98765432100000000000", "9.87654321e+19"),
    ("1/30000", "3.3333333333333335e-05"), (r"\sqrt{2}", "1.4142135623730951"),
    ("7/2", "Fraction(7, 2)"), (r"(1, \infty)", "(1, oo)"), ("3.5", "3\u00bd"),
    # wrappings and fonts
    ("42", r"\[42\]"), ("42", r"\[ 42 \]."), ("42", "**42**"), ("42", "`42`"), ("42", "__42__"),
    ("42", r"\mathbf{42}"), ("42", r"\mathrm{42}"), ("42", r"**$\boldsymbol{42}$**"),
    ("42", "= 42"), ("42", r"\approx 42"), ("42", r"{\bf 42}"),
    ("42", r"\underline{\underline{42}}"),
    ("42", r"\text{42}"), ("42", "```\n42\n```"), ("42", '"42"'), ("42", r"\color{red}{42}"),
    ("1234", r"\mathbf{1,234}"), ("1234", r"\[1,234\]"), ("1234", "1\u202f234"),
    ("1/2", r"\mathbf{\frac{1}{2}}"), (r"\mathrm{e}^2", "e^2"), (r"\mathbf{x} + 1", "1 + x"),
    # units
    ("6.5 m", r"6.5 \mathrm{~m}"), (r"5\text{ cm}^2", r"5\text{ cm}^{2}"),
    ("5 cm^2", "5 square cm"),
    ("60 km/h", r"60\text{ km}/\text{h}"), ("3 m/s", "3 meters per second"), ("5 boxes", "5"),
    (r"30^\circ", "30 deg"), ("5 minutes", "5 min"), ("9 ft", "9 feet"), ("9 (rolls)", "9"),
    ("9 (times)", "9"), (r"3\text{ times}", "3"), ("9 (kg)", "9 kg"),
    ("1,200 (square meters)", "1200 m^2"), ("18", "\u20ac18"),
    ("50%", r"50\text{\%}"), ("12", r"\text{12 apples}"),
    # texts that cannot be read
    (r"\text{June 20}", "June 20"), ("1001_2", "1001_{2}"), (r"10\text{:}30", "10:30"),
    (r"\dfrac{1}{2} \text{ of } A_1", r"\frac12 \text{ of } A_{1}"), (r"p \neq_3 q", r"p\ne_{3} q"),
]  # fmt: skip
"""One answer in the spellings of LaTeX, Markdown and programs."""
NOT_SPELLINGS = [
    ("42", "**42** or **43**"), ("42", "= 42 = 43"), ("42", r"\approx 42 \approx 43"),
    ("42", r"\mathbf{42}\mathbf{43}"), ("42", r"\[42\] \[43\]"), ("42", r"\text{42 or 43}"),
    ("6", "2*3*"), ("23", "2*3"), ("12", "1\u2009 2"), ("6.1e27", "6.1e26"), ("6.1e27", "6.1"),
    ("1001_2", "1001_3"), ("1001_2", "9"), ("5 cm", "5 cm^2"), ("5 square cm", "5 cubic cm"),
    ("3 m/s", "3 s/m"), ("60 km/h", "60 m/s"), ("\u20ac18", "\u00a318"), ("1/3", "3.3e-1"),
    (r"\begin{pmatrix}a\\b\end{pmatrix}", r"\begin{pmatrix}ab\end{pmatrix}"), ("0", "1e-999999"),
    (r"\text{June 20}", "June 21"), ("5 minutes", "5 seconds"), ("12", "1,2"),
    ("9 (rolls)", "9 (loaves)"), ("9", "9 (10)"), ("9", "9 (x)"),
]  # fmt: skip
"""Answers that only look alike, or name several."""
UNEQUAL = [
    ("1/3", "0.33"), ("1/3", "0.334"), (r"\pi", "3.14"), ("2/3", "0.67"), ("0.5", "5%"),
    ("50", "0.5"), ("5 cm", "5 m"), ("5 cm", "6 cm"), ("1,234", "1.234"), ("(1,2)", "(2,1)"),
    ("[1,2)", "(1,2)"), ("(1,2)", r"\{1,2\}"), (r"\{1,2\}", r"\{1,2,3\}"), ("1,2", "1"),
    (r"(-\infty,3]", r"(-\infty,3)"), (r"[1,2]\cup(3,4)", r"[1,2]\cup(3,5)"), ("x^2-1", "x^2+1"),
    ("x+1", "y+1"), (r"\sqrt{2}", r"\sqrt{3}"), (r"\sqrt{2}", "1.41"), ("yes", "no"), ("7", "-7"),
    ("42", ""), ("42", "24"), ("42", "the answer is 42 or 43"), ("0", "1/0"), ("x", "5"),
    ("1/2", "1/2/1/2/1"), ("12", "1 2"),
    ("12", "1  2"), (r"\infty", r"-\infty"), ("2^{10}", "2*10"),
    ("xy^2", "(xy)^2"), (r"5\text{ m}", "5 s"), ("2xy", "2"), ("x", "x, y"),
    ("2", r"\sqrt{2}^2"), ("1", "x/x"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), [*EQUAL, *SPELLINGS])
def test_ways_to_write_one_answer(gold: str, answer: str) -> None:
    assert equivalent(gold, answer)
    assert equivalent(gold, gold) and equivalent(answer, answer)


@pytest.mark.parametrize(("gold", "answer"), [*UNEQUAL, *NOT_SPELLINGS])
def test_answers_that_are_others(gold: str, answer: str) -> None:
    assert not equivalent(gold, answer)


def test_a_rational_answer_is_judged_without_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text of a policy asks for a package that a generated task does without."""
    monkeypatch.setitem(sys.modules, "sympy", None)
    for gold in ("4242", "-9/11", "-3, 2, 5"):
        for answer in (
            *(pair[1] for pair in (*EQUAL, *UNEQUAL, *NOT_SPELLINGS)),
            r"\sqrt{2}",
            "x",
            "pi",
        ):
            assert not equivalent(gold, answer)
    with pytest.raises(DependencyNotInstalled, match=r"\[math\]"):
        equivalent(r"\sqrt{2}", r"\sqrt{3}")


def test_the_right_text_is_read_as_a_wrong_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shortcut would tell by its time which answers are paid."""
    read: list[str] = []
    monkeypatch.setattr(equivalence, "parse", lambda text: read.append(text) or parse(text))
    assert equivalent("42", "42", lowest_form=True) and read == ["42", "42"]
    assert not equivalent("42", "43", lowest_form=True) and read[2:] == ["43", "42"]


BOMBS = [
    "9^9^9^9", "(x+1)^9999", "(((9^30)^30)^30)^30", "((9x)^30)^30", "1" * 1000, "(" * 900,
    "-" * 900, "2^" + "-" * 900 + "1", "\\frac{" * 160, "\\frac" * 190, "9!!!!!!", "1000!!",
    "sqrt(" * 120 + "2" + ")" * 120, "(x+y+z+w+a+b+c)^30", "sin " * 200 + "x", "{" * 900,
    "\\sqrt[" * 160, "1+" * 499 + "1", "x" * 999, "(x+1)*" * 150 + "1", "e^(e^(e^(e^9)))",
    "sqrt(2+" * 30 + "1" + ")" * 30, "1e999999999", "tan(pi/2)", "log(0)", "sin(10^1000)",
    "exp(exp(exp(100)))", "sqrt(123456789012345678901234567890)", "1/(sqrt(2)-sqrt(2))", "x^x^x^x",
    "x^(10^20)", "binom(1000,500)^9", "%" * 900, "\\boxed{" * 140, "a_" * 400, "1/7-" * 200 + "1",
    "(sqrt(2)+sqrt(3)+sqrt(5)+sqrt(7)+sqrt(11)+sqrt(13))^30", "(2^(1/7)+3^(1/7)+5^(1/7))^30",
    "__import__('os').system('exit 1')",
    "().__class__.__bases__", "lambda: 1", "\x00\x01",
    "\ud800", "1,2," * 240 + "1", "\\{" + "x," * 300 + "x\\}", "9" * 2_000_000,
    "root(2,0)", "root(x)", "sqrt(2, 3)", "5 mod 0", "5" + "%" * 390, "(" * 90 + "5" + "!%)" * 90,
    "2^(10^9+x)", "2^(10^300+x)", "e^(10^9 ln 2+x)", "exp(10^9 ln 2+x)", "exp(10^9 ln(x+1))",
    "(a+b+c+d+f+g)^(x+30)", "9e999999", "9e9" * 300, "1e" + "9" * 290,
    "`*" * 9000 + "42" + "*`" * 9000,
    r"\mathbf{" * 9000, "\u20ac" * 20000, "\u20ac" + "," * 19000, "1" + " " * 19000 + "x",
    r"\text{1" * 3000,
    "5 m" + "/s" * 450, "5 square " * 100, "^{ " * 6000, "= " * 9000, "\u00b2" * 19000,
]  # fmt: skip


@pytest.mark.slow
def test_no_text_breaks_the_check_or_takes_long() -> None:
    equivalent(r"\sqrt{2}", "x+1")  # sympy is imported
    for gold in ("42", r"\sqrt{2}", "x+1", "(1,2)"):
        for bomb in BOMBS:
            start = time.process_time()
            assert not equivalent(gold, bomb), bomb[:60]
            # No bar of speed: without bounds these take minutes, or for ever.
            assert time.process_time() - start < 20, bomb[:60]
    # A decimal is compared with digits, of which these have more than memory holds.
    for gold in ("2.5", "-0.333333"):
        for tower in (f"{'(' * 9}e{'^30)' * 9}", f"1/{'(' * 9}exp(999999){'^30)' * 9}"):
            assert not equivalent(gold, tower)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789.,+-*/^%!|(){}[]\\ =<>xyeipsqrtfacboxd_$", max_size=40))
def test_any_text_is_equal_to_itself_and_never_raises(text: str) -> None:
    assert equivalent(text, text) == bool(text.strip()) or "box" in text
    assert isinstance(equivalent(r"x + \sqrt{2}", text), bool)
