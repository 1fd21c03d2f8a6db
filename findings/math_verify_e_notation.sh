#!/usr/bin/env bash
# Package: math-verify 0.9.0
# Behaviour: it does not read the number formats of programs, in which the golds of Minerva MATH with
#   a power of ten are written ("4.5e33"): in dollars the letter is Euler's number, without them the
#   text ends before it. A right answer in digits or as a product with 10^n is then marked wrong.
# Seen: $4.5e33$ is 4.5*E*33; $3e8$ and 3e8 differ from 300000000; 3e8 without dollars equals 3.
# What to do: rewrite such golds as a product with 10^n before they are parsed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "math-verify==0.9.0" "latex2sympy2_extended[antlr4_13_2]==1.11.0"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import sympy
from math_verify import parse, verify

print("math-verify", version("math-verify"), "sympy", sympy.__version__)
answers = {"$4.5e33$": r"$4.5 \times 10^{33}$", "$7.4e-12$": "$0.0000000000074$", "3e8": "300000000"}
equal = {gold: verify(parse(gold), parse(answer)) for gold, answer in answers.items()}
print("equal to the same number in other digits:", equal)
assert not any(equal.values()), "these are equal now"

[value, *_] = parse("$4.5e33$")
print("$4.5e33$ is read as", value)
assert value.has(sympy.E), "it is a decimal now"
assert verify(parse("3e8"), parse("3")), "3e8 is not 3 any more"
print("3e8 is equal to 3")
PYTHON
