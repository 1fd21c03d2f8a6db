"""Choosing a TextWorld setting: by name, by challenge, by knobs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, fields, replace
from typing import Any

from agentgym.envs.textworld.generator.challenges import CHALLENGES, Cooking, Custom, by_size
from agentgym.envs.textworld.generator.config import Settings
from agentgym.errors import ConfigurationError

__all__ = ["CHALLENGES", "DEFAULT", "NAMED", "Settings", "settings"]

DEFAULT = "w2-o3-q4"
"""The setting of the bundled games."""

NAMED: dict[str, Settings] = {
    "w2-o3-q4": by_size(2, 3, 4),
    "w4-o6-q8": by_size(4, 6, 8),
    "w8-o12-q16": by_size(8, 12, 16),
    "cooking-easy": Cooking(recipe=1, take=1, open=True, cook=True),
    "cooking-medium": Cooking(recipe=2, take=2, go=6, open=True, cook=True, cut=True),
    "cooking-hard": Cooking(recipe=3, take=3, go=12, open=True, cook=True, cut=True),
}
"""Names for settings: those of the Practitioner's Guide, and three sizes of cooking."""

REFUSED = {
    "ambiguous_instructions": "TextWorld 1.7 itself stops with 'not tested' when it is on",
    "seed": "the seed of a game is its place in a split: choose it by split and index",
    "split": "the split is chosen by the environment; held_out_foods=True uses the challenge's own",
    "test": "the split is chosen by the environment; held_out_foods=True uses the challenge's own",
    "recipe_seed": "recipes follow the seed of the game",
}
"""Knobs of ``tw-make`` that have no place here, and why."""


SHORT = {
    "quest_breadth": ("quest_min_breadth", "quest_max_breadth"),
    "quest_depth": ("quest_min_depth", "quest_max_depth"),
    "quest_length": ("quest_min_length", "quest_max_length", "quest_max_depth"),
}
"""Knobs that stand for several, as in ``tw-make``."""

_SIZE = re.compile(r"w(\d{1,3})-o(\d{1,3})-q(\d{1,3})", re.ASCII)


def settings(name: str | Settings = DEFAULT, **knobs: Any) -> Settings:
    """Return a setting.

    Args:
        name: A named setting (``NAMED``), a size ``w<rooms>-o<objects>-q<quest length>``, a
            challenge, what :meth:`Settings.key` returned, or a setting.
        **knobs: Knobs to change, by the names of the challenge's class; of ``custom`` also
            ``quest_length``, ``quest_breadth`` and ``quest_depth``.

    Returns:
        The setting.

    Raises:
        ConfigurationError: The name or a knob is unknown, belongs to another challenge, is out of
            range, or contradicts another.
    """
    base = name if isinstance(name, Settings) else _parse(name)
    if not knobs:
        return base
    values = _expand(knobs) if isinstance(base, Custom) else dict(knobs)
    allowed = [knob.name for knob in fields(base)]
    for knob in values:
        if knob not in allowed:
            raise ConfigurationError(_unknown(base.challenge, knob, allowed))
    return replace(base, **values)


def _expand(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the knobs that stand for several; a given depth goes before the length's."""
    values = {knob: value for knob, value in knobs.items() if knob not in SHORT}
    for short, longs in SHORT.items():
        for long in longs if short in knobs else ():
            if long in knobs and (short, long) != ("quest_length", "quest_max_depth"):
                raise ConfigurationError(
                    f"expected either {short} or {long}, as the first stands for "
                    f"{', '.join(longs)}; got {short}={knobs[short]!r} and {long}={knobs[long]!r}"
                )
            values.setdefault(long, knobs[short])
    return values


def _parse(name: str) -> Settings:
    """Read a name: a head, and knobs behind commas."""
    head, *changes = str(name).split(",")
    size = _SIZE.fullmatch(head)
    if head in NAMED:
        base = NAMED[head]
    elif size:
        base = by_size(*map(int, size.groups()))
    elif head in CHALLENGES:
        base = CHALLENGES[head]()
    else:
        raise ConfigurationError(
            f"expected a TextWorld setting: {', '.join((*NAMED, *CHALLENGES))}, or a size such as "
            f"w3-o5-q6; got {name!r}{_close(head, (*NAMED, *CHALLENGES))}"
        )
    known = {knob.name: knob for knob in fields(base)}
    values = {}
    for change in changes:
        knob, sign, text = change.partition("=")
        if not sign or knob not in known:
            raise ConfigurationError(
                f"in the setting {name!r}: {_unknown(base.challenge, knob, list(known))}"
            )
        values[knob] = _value(known[knob], text)
    return replace(base, **values)


def _value(knob: Field[Any], text: str) -> Any:
    """Read a knob's value; what cannot be read stays text, and is refused by the check."""
    if isinstance(knob.default, bool):
        return {"true": True, "false": False}.get(text, text)
    whole = isinstance(knob.default, int) and re.fullmatch(r"\d{1,9}", text, re.ASCII)
    return int(text) if whole else text


def _unknown(challenge: str, knob: str, allowed: list[str]) -> str:
    """Say what is wrong with a knob that the challenge does not have."""
    names = allowed + list(SHORT if challenge == "custom" else ())
    owners = [other for other, kind in CHALLENGES.items() if knob in [f.name for f in fields(kind)]]
    why = _close(knob, names)
    if knob in REFUSED:
        why = f"; {REFUSED[knob]}"
    elif owners:
        why = f", which is a knob of {' and '.join(owners)}; choose that challenge, or leave it out"
    return f"expected knobs of challenge {challenge!r}: {', '.join(names)}; got {knob!r}{why}"


def _close(given: str, names: Iterable[str]) -> str:
    """Return a hint at the closest name, or nothing."""
    found = difflib.get_close_matches(given, list(names), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
