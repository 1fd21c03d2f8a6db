"""How a number is shown: formats such as ``#,##0.00``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

from cellmill.errors import SpreadsheetError

_CORE = re.compile(r"[#0,]*[#0][#0,]*(?:\.[0#]*)?|\.[0#]+")
_EXACT = Context(prec=400)


@dataclass(frozen=True)
class Section:
    """How numbers of one sign are shown.

    Attributes:
        before: What stands before the digits.
        after: What stands behind them.
        whole_digits: Fewest digits before the point.
        least: Fewest digits behind the point.
        most: Most digits behind the point.
        grouped: Whether commas stand between thousands.
        percent: Whether it is shown in hundredths.
        bare: Whether it has no digits at all, only what stands around them.
    """

    before: str
    after: str
    whole_digits: int = 1
    least: int = 0
    most: int = 0
    grouped: bool = False
    percent: bool = False
    bare: bool = False


def format_number(number: float, pattern: str) -> str:
    """Return a number in a format.

    Args:
        number: The number.
        pattern: Digits: ``0`` is shown always, ``#`` only if it is needed, a comma between them
            sets commas between thousands, ``%`` shows hundredths. Other characters stand for
            themselves, as does what is in double quotes. Two sections with a semicolon between
            them are for numbers that are not negative and negative ones, a third one is for
            zero.

    Raises:
        SpreadsheetError: The format is malformed.
    """
    sections = [_section(text) for text in split_sections(pattern)]
    exact = Decimal(repr(number))
    if len(sections) == 3 and exact == 0:
        return _shown(exact, sections[2])
    if exact < 0 and len(sections) > 1:
        return _shown(-exact, sections[1])
    text = _shown(abs(exact), sections[0])
    return "-" + text if exact < 0 and re.search("[1-9]", text) else text


def split_sections(pattern: str) -> list[str]:
    """Return the sections of a format: between semicolons that are not in quotes."""
    sections, quoted = [""], False
    for character in pattern:
        if character == '"':
            quoted = not quoted
        if character == ";" and not quoted:
            sections.append("")
        else:
            sections[-1] += character
    if quoted:
        raise SpreadsheetError(f"the quotes of the format {pattern!r} are not closed")
    if len(sections) > 3:
        raise SpreadsheetError(f"a format has at most three sections, got {pattern!r}")
    return sections


def _section(text: str) -> Section:
    """Read one section."""
    pieces = text.split('"')
    blanked = "".join(
        piece if number % 2 == 0 else "\0" * (len(piece) + 2) for number, piece in enumerate(pieces)
    )
    match = _CORE.search(blanked)
    percent = "%" in blanked
    if match is None:
        return Section(_unquoted(text), "", bare=True, percent=percent)
    if _CORE.search(blanked, match.end()):
        raise SpreadsheetError(f"a section has digits in one place only, got {text!r}")
    left, _, right = match.group().partition(".")
    if ("0" in left and "#" in left[left.index("0") :]) or "#0" in right:
        raise SpreadsheetError(f"# stands outside of 0 in a format, got {text!r}")
    return Section(
        before=_unquoted(text[: match.start()]),
        after=_unquoted(text[match.end() :]),
        whole_digits=left.count("0"),
        least=right.count("0"),
        most=len(right),
        grouped="," in left,
        percent=percent,
    )


def _unquoted(text: str) -> str:
    return text.replace('"', "")


def _shown(number: Decimal, section: Section) -> str:
    """Return a number without sign in a section."""
    if section.bare:
        return section.before
    if section.percent:
        number = number.scaleb(2, _EXACT)
    step = Decimal(1).scaleb(-section.most)
    digits = format(number.quantize(step, ROUND_HALF_UP, _EXACT), "f")
    whole, _, rest = digits.partition(".")
    whole = whole.lstrip("0").rjust(section.whole_digits, "0")
    if section.grouped:
        whole = _grouped(whole)
    while len(rest) > section.least and rest.endswith("0"):
        rest = rest[:-1]
    return f"{section.before}{whole}{'.' * bool(rest)}{rest}{section.after}"


def _grouped(digits: str) -> str:
    """Return digits with commas between thousands."""
    groups = []
    while len(digits) > 3:
        groups.append(digits[-3:])
        digits = digits[:-3]
    return ",".join([digits, *reversed(groups)])
