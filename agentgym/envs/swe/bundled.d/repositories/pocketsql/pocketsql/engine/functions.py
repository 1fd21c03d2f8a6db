"""Functions of single values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from pocketsql.engine.values import compare, number
from pocketsql.errors import DataError, SchemaError
from pocketsql.storage.types import Scalar, as_text, checked, type_of

_EXACT = Context(prec=700)


def call(name: str, arguments: Sequence[Scalar]) -> Scalar:
    """Call a function.

    Raises:
        SchemaError: There is no such function, or the number of arguments is wrong.
        DataError: An argument has the wrong type.
    """
    if name not in FUNCTIONS:
        raise SchemaError(f"there is no function {name.upper()}")
    body, least, most, strict = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise SchemaError(f"{name.upper()} does not take {len(arguments)} arguments")
    if strict and any(argument is None for argument in arguments):
        return None
    return body(*arguments)


def _text(value: Scalar, name: str) -> str:
    if isinstance(value, str):
        return value
    raise DataError(f"{name} needs TEXT, got {type_of(value)}")


def _whole(value: Scalar, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise DataError(f"{name} needs INTEGER, got {type_of(value)}")


def _absolute(value: Scalar) -> Scalar:
    return checked(abs(number(value, "ABS")))


def _round(value: Scalar, digits: Scalar = 0) -> Scalar:
    """Round halves away from zero."""
    found, places = number(value, "ROUND"), _whole(digits, "ROUND")
    step = Decimal(1).scaleb(-max(-330, min(330, places)))
    exact = _EXACT.divide(Decimal(repr(found)), step).quantize(Decimal(1), ROUND_HALF_UP, _EXACT)
    rounded = _EXACT.multiply(exact, step)
    return checked(int(rounded) if isinstance(found, int) else float(rounded))


def _floor(value: Scalar) -> Scalar:
    return checked(math.floor(number(value, "FLOOR")))


def _ceiling(value: Scalar) -> Scalar:
    return checked(math.ceil(number(value, "CEIL")))


def _sign(value: Scalar) -> Scalar:
    found = number(value, "SIGN")
    return (found > 0) - (found < 0)


def _power(base: Scalar, exponent: Scalar) -> Scalar:
    one, other = number(base, "POWER"), number(exponent, "POWER")
    try:
        result = float(one) ** float(other)
    except ZeroDivisionError:
        raise DataError("division by zero") from None
    except OverflowError:
        raise DataError("number out of range") from None
    if isinstance(result, complex):
        raise DataError("POWER has no real result")
    return checked(result)


def _length(text: Scalar) -> Scalar:
    return len(_text(text, "LENGTH"))


def _upper(text: Scalar) -> Scalar:
    return _text(text, "UPPER").upper()


def _lower(text: Scalar) -> Scalar:
    return _text(text, "LOWER").lower()


def _trim(text: Scalar) -> Scalar:
    return _text(text, "TRIM").strip(" ")


def _part(text: Scalar, start: Scalar, length: Scalar | None = None) -> Scalar:
    """Return a part of a text, counted from 1; places before the first one count too."""
    whole, first = _text(text, "SUBSTR"), _whole(start, "SUBSTR")
    if length is None:
        return whole[max(first - 1, 0) :]
    count = _whole(length, "SUBSTR")
    if count < 0:
        raise DataError("SUBSTR needs a length that is not negative")
    return whole[max(first - 1, 0) : max(first - 1 + count, 0)]


def _replace(text: Scalar, old: Scalar, new: Scalar) -> Scalar:
    whole, wanted = _text(text, "REPLACE"), _text(old, "REPLACE")
    return whole.replace(wanted, _text(new, "REPLACE")) if wanted else whole


def _place(text: Scalar, wanted: Scalar) -> Scalar:
    return _text(text, "INSTR").find(_text(wanted, "INSTR")) + 1


def _first_value(*values: Scalar) -> Scalar:
    return next((value for value in values if value is not None), None)


def _null_if(value: Scalar, other: Scalar) -> Scalar:
    return None if compare(value, other) == 0 else value


def _extreme(sign: int) -> Callable[..., Scalar]:
    def body(*values: Scalar) -> Scalar:
        best: Scalar = None
        for value in values:
            if best is None or (value is not None and (compare(value, best) or 0) * sign > 0):
                best = value
        return best

    return body


def _concatenate(*values: Scalar) -> Scalar:
    """Join values as texts; NULL counts as an empty one."""
    return "".join(as_text(value) for value in values)


_MANY = 100
FUNCTIONS: dict[str, tuple[Callable[..., Scalar], int, int, bool]] = {
    "abs": (_absolute, 1, 1, True),
    "ceil": (_ceiling, 1, 1, True),
    "coalesce": (_first_value, 1, _MANY, False),
    "concat": (_concatenate, 1, _MANY, False),
    "floor": (_floor, 1, 1, True),
    "greatest": (_extreme(1), 1, _MANY, False),
    "instr": (_place, 2, 2, True),
    "least": (_extreme(-1), 1, _MANY, False),
    "length": (_length, 1, 1, True),
    "lower": (_lower, 1, 1, True),
    "nullif": (_null_if, 2, 2, False),
    "power": (_power, 2, 2, True),
    "replace": (_replace, 3, 3, True),
    "round": (_round, 1, 2, True),
    "sign": (_sign, 1, 1, True),
    "substr": (_part, 2, 3, True),
    "trim": (_trim, 1, 1, True),
    "upper": (_upper, 1, 1, True),
}
"""By name: the function, fewest and most arguments, and whether NULL gives NULL."""
