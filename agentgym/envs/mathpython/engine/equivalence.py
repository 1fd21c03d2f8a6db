r"""Compare an answer with the right one, regardless of notation.

Rational numbers are compared exactly, without a package; everything else by
`agentgym.envs.mathpython.engine.symbolic`. Unparsable answers are compared as text, without fonts
and spacing. The rules:

- ``1/2``, ``0.5``, ``\frac{1}{2}`` and ``50%`` are equivalent, and so are ``50%`` and ``50``:
  whether a percent sign is part of an answer depends on the question.
- If the right answer is rational, the answer must reduce to it by rational steps: ``\sqrt{4}`` is
  2, ``\sqrt{2}^2`` is not. So answers to generated problems need no package.
- A decimal approximates a number without a finite expansion (a third, a root, pi) if it has at
  least `FIGURES` significant digits and is off by less than one in its last place.
- Sets, and lists without brackets, are unordered; pairs and intervals are ordered, and the brackets
  of intervals count.
- A unit in only one of two answers is ignored; different units are an error.
- ``x = 5`` is reduced to its right side.

Generated problems ask for a calculated value in addition, see
`agentgym.envs.mathpython.engine.lowest`.
"""

from __future__ import annotations

from fractions import Fraction

from agentgym.envs.mathpython.engine import symbolic
from agentgym.envs.mathpython.engine.exact import NotRational, rational
from agentgym.envs.mathpython.engine.lowest import in_lowest_form
from agentgym.envs.mathpython.engine.parser import parse
from agentgym.envs.mathpython.engine.spelling import compared
from agentgym.envs.mathpython.engine.tokens import LONGEST, answer_text
from agentgym.envs.mathpython.engine.tree import (
    Call,
    Group,
    Measured,
    Name,
    Node,
    Number,
    Operation,
    Unreadable,
    Words,
    without_minus,
)

FIGURES = 6
"""Number of significant digits that an approximation needs."""
MOST_ITEMS = 50
"""Most items of a set."""
_UNORDERED = ("set", "union")
_UNITS = {
    "feet": "ft", "foot": "ft", "inches": "in", "inch": "in", "yard": "yd", "mile": "mi",
    "millimeter": "mm", "centimeter": "cm", "meter": "m", "kilometer": "km", "millimetre": "mm",
    "centimetre": "cm", "metre": "m", "kilometre": "km", "milligram": "mg", "gram": "g",
    "kilogram": "kg", "pound": "lb", "lbs": "lb", "ounce": "oz", "milliliter": "ml",
    "millilitre": "ml", "liter": "l", "litre": "l", "second": "s", "sec": "s", "minute": "min",
    "hour": "h", "hr": "h", "degree": "deg",
}  # fmt: skip
"""Names of units -> how they are compared."""


def equivalent(gold: str, answer: str, *, lowest_form: bool = False) -> bool:
    r"""Return whether an answer is the right one.

    Args:
        gold: The right answer, LaTeX or plain, or a solution with its answer in ``\boxed``.
        answer: The policy's answer; it may be hostile.
        lowest_form: Whether the answer must be a calculated value, not an expression for it.

    Raises:
        DependencyNotInstalled: The comparison needs sympy.
    """
    gold = answer_text(gold)
    # A solution may go before the answer, so this is cut first and measured then.
    answer = answer_text(answer[-20 * LONGEST :])
    is_same_text = bool(answer) and (gold == answer or compared(gold) == compared(answer) != "")
    # The same text is read, too: a right answer takes as long as a wrong one.
    try:
        tree = parse(answer)
        is_calculated = not lowest_form or in_lowest_form(tree)
        return (is_calculated and _is_same(parse(gold), tree)) or is_same_text
    except Unreadable:
        return is_same_text


def _is_same(gold: Node, answer: Node) -> bool:
    gold, answer = _alone(gold), _alone(answer)
    if isinstance(gold, Measured) or isinstance(answer, Measured):
        return _same_quantity(gold, answer)
    if isinstance(gold, Words) or isinstance(answer, Words):
        return gold == answer
    if isinstance(gold, Group) and isinstance(answer, Group):
        return _same_groups(gold, answer)
    if isinstance(gold, Group) or isinstance(answer, Group):
        return False
    if _infinite(gold) or _infinite(answer):
        return gold == answer
    return _same_numbers(gold, answer)


def _alone(node: Node) -> Node:
    """Return the only item of a set."""
    alone = isinstance(node, Group) and node.kind in _UNORDERED and len(node.items) == 1
    return node.items[0] if isinstance(node, Group) and alone else node


def _same_quantity(gold: Node, answer: Node) -> bool:
    """Compare quantities of which one has a unit at least."""
    parts = []
    for node in (gold, answer):
        bare = (node.quantity, node.unit) if isinstance(node, Measured) else (node, "")
        parts.append((bare[0], _compared(bare[1])))
    (gold_value, unit), (answer_value, answer_unit) = parts
    gold_value, answer_value = _without(gold_value, answer_unit), _without(answer_value, unit)
    return (not unit or not answer_unit or unit == answer_unit) and _is_same(
        gold_value, answer_value
    )


def _without(node: Node, unit: str) -> Node:
    """Return a quantity without a unit of letters, which reads as factors: the m/s of 5 m/s."""
    if not unit:
        return node
    try:
        return _quantity(node, parse(f"1 {unit}")) or node
    except Unreadable:
        return node


def _quantity(node: Node, unit: Node) -> Node | None:
    """Return what stands in a tree where 1 stands in that of a unit; None if they differ."""
    if unit == Number(Fraction(1)):
        return node
    if not isinstance(node, Operation) or not isinstance(unit, Operation):
        return None
    is_same_sign = node.sign == unit.sign and node.right == unit.right
    return _quantity(node.left, unit.left) if is_same_sign else None


def _compared(unit: str) -> str:
    """Write a unit in one way, each of its words in the singular."""
    words = []
    for word in unit.replace(" per ", " / ").replace("/", " / ").replace("^", " ^").split():
        single = word[:-1] if word.endswith("s") and len(word) > 2 else word
        words.append(_UNITS.get(word) or _UNITS.get(single, single))
    if words[:1] == ["square"] or words[:1] == ["sq"]:
        words = [*words[1:], "^2"]
    if words[:1] == ["cubic"]:
        words = [*words[1:], "^3"]
    return "".join(words)


def _same_groups(gold: Group, answer: Group) -> bool:
    if gold.kind != answer.kind or len(gold.items) != len(answer.items):
        distinct = _distinct(gold)
        are_sets = gold.kind == answer.kind == "set" and distinct is not None
        return are_sets and distinct == _distinct(answer)
    if len(gold.items) > MOST_ITEMS:
        return False
    if gold.kind not in _UNORDERED:
        return all(map(_is_same, gold.items, answer.items))
    unmatched = [*answer.items]
    for item in gold.items:
        match = next(
            (place for place, candidate in enumerate(unmatched) if _is_same(item, candidate)), None
        )
        if match is None:
            return False
        del unmatched[match]
    return True


def _distinct(group: Group) -> set[Fraction] | None:
    """Return the numbers of a set, in which one may stand twice; None if some are irrational."""
    try:
        return {rational(item) for item in group.items}
    except NotRational:
        return None


def _infinite(node: Node) -> bool:
    """Return whether a node is plus or minus infinity."""
    if isinstance(node, Operation) and node.sign == "*":
        node = node.right
    return node == Name("oo")


def _same_numbers(gold: Node, answer: Node) -> bool:
    """Compare two expressions, forgiving a percent sign."""
    bare = _bare(gold), _bare(answer)
    forgiven = bare[0] is not gold or bare[1] is not answer
    return _same_values(gold, answer) or (forgiven and _same_values(*bare))


def _bare(node: Node) -> Node:
    """Return a percentage without its sign."""
    return node.arguments[0] if isinstance(node, Call) and node.function == "%" else node


def _same_values(gold: Node, answer: Node) -> bool:
    gold_value, answer_value = _value(gold), _value(answer)
    if gold_value is not None and answer_value is not None:
        return (
            gold_value == answer_value
            or _stands_for(answer, answer_value, gold_value)
            or _stands_for(gold, gold_value, answer_value)
        )
    if gold_value is not None and _places(gold) is None:
        return False  # Without sympy, so that a generated task is judged alike everywhere.
    for value, node, unknown in ((gold_value, gold, answer), (answer_value, answer, gold)):
        if value is not None and _places(node) is not None:
            reached = symbolic.decimal(unknown)
            return reached is not None and _stands_for(node, value, reached)
    return symbolic.equal(gold, answer)


def _value(node: Node) -> Fraction | None:
    try:
        return rational(node)
    except NotRational:
        return None


def _places(node: Node) -> int | None:
    """Return the decimals of a number that is written out, whatever its sign.

    They are negative where its last digit is worth more than one, as in ``1.5e3``.
    """
    node = without_minus(node)
    if isinstance(node, Operation) and node.sign == "*" and isinstance(node.left, Number):
        exponent = _exponent_of_ten(node.right)
        return None if exponent is None else (node.left.places or 0) - exponent
    return node.places if isinstance(node, Number) else None


def _exponent_of_ten(node: Node) -> int | None:
    """Return the exponent of a power of ten."""
    if not isinstance(node, Operation) or node.sign != "^" or node.left != Number(Fraction(10)):
        return None
    exponent = _value(node.right)
    return exponent.numerator if exponent is not None and exponent.denominator == 1 else None


def _stands_for(node: Node, value: Fraction, exact: Fraction) -> bool:
    """Return whether a decimal is near enough to a number that decimals do not reach."""
    places = _places(node)
    if places is None or _terminates(exact):
        return False
    place = Fraction(10) ** -places
    figures = len(str(int(abs(value) / place)).lstrip("0"))
    # A float has 17 digits, of which the last is not right.
    return figures >= FIGURES and abs(value - exact) < max(place, abs(exact) / 2**52)


def _terminates(value: Fraction) -> bool:
    """Return whether a fraction has a decimal that ends within forty digits, as roots have not."""
    return 10**40 % value.denominator == 0
