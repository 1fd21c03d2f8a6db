"""Lists of persons."""

from __future__ import annotations

from collections.abc import Sequence

from citepress.model.names import Name

OTHERS = "others"
"""The name that stands for all who are not named."""


def listed(names: Sequence[Name], most: int = 6, shown: int = 3) -> str:
    """Return persons as a bibliography lists them.

    Args:
        names: The persons.
        most: If there are more, only the first ones are shown.
        shown: How many are shown then.
    """
    persons, more = without_others(names)
    if len(persons) > most:
        persons, more = persons[:shown], True
    texts = [name.inverted() for name in persons]
    if more:
        return ", ".join([*texts, "et al."])
    return enumeration(texts)


def cited(names: Sequence[Name]) -> str:
    """Return persons as a citation names them: both of two, the first one of more."""
    persons, more = without_others(names)
    if len(persons) > 2 or more:
        return f"{persons[0].family} et al." if persons else "et al."
    return " and ".join(name.family for name in persons)


def without_others(names: Sequence[Name]) -> tuple[list[Name], bool]:
    """Return the persons that are named, and whether ``others`` stands behind them."""
    more = bool(names) and names[-1] == Name(last=OTHERS)
    return list(names[:-1] if more else names), more


def enumeration(texts: Sequence[str]) -> str:
    """Return texts with commas between them, and ``and`` before the last one."""
    if len(texts) < 3:
        return " and ".join(texts)
    return f"{', '.join(texts[:-1])}, and {texts[-1]}"
