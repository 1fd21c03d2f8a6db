"""Unknown names in messages, each with the known name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def with_guesses(unknown: Iterable[object], names: Sequence[str]) -> str:
    """List unknown names, each with a suggestion from the known names.

    Args:
        unknown: Unknown names.
        names: Known names.
    """
    parts = []
    for name in unknown:
        # Guess a plural, a shortened name, and one with the same last word.
        stem, last = str(name).rstrip("s"), str(name).rpartition("_")[2]
        longer = [candidate for candidate in names if len(stem) > 2 and candidate.startswith(stem)]
        kindred = [candidate for candidate in names if last and candidate.endswith(f"_{last}")]
        near = difflib.get_close_matches(str(name), names, 1) or longer or kindred
        parts.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
    return ", ".join(parts)
