"""Sizes as people write them."""

from __future__ import annotations

from contextlib import suppress

from agentgym.errors import ConfigurationError

UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_size(text: str | int) -> int:
    """Return a size in bytes: a number, or text such as ``"50GB"``.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    if isinstance(text, str):
        number, unit = text.strip()[:-2], text.strip()[-2:]
        with suppress(ValueError):
            if unit in UNITS and 0 <= float(number) < 1e6:
                return int(float(number) * UNITS[unit])
            return parse_size(int(text))
    raise ConfigurationError(
        f"expected a size in bytes, or such as 50GB (units {', '.join(UNITS)}), got {text!r:.60}"
    )
