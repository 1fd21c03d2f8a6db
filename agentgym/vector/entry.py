"""Vector entry points of the registered families: ``agentgym.vector.entry:<short name>``.

For environments of other projects, the prefix of their names replaces the short name.

Gymnasium calls a vector entry point without the id, and stores it as a string.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from agentgym.registration import family
from agentgym.registration.imports import IMPORTS, register
from agentgym.vector.env import TextVectorEnv


def __getattr__(name: str) -> Callable[..., TextVectorEnv]:
    """Return the function that makes vector environments of a family or of an import's prefix."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in IMPORTS:
        return partial(_imported, name)
    return partial(TextVectorEnv.make, family(name).id)


def _imported(prefix: str, *, reference: str, **kwargs: Any) -> TextVectorEnv:
    return TextVectorEnv.make(register(prefix, reference), **kwargs)
