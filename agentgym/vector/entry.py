"""Vector entry points of the registered families: ``agentgym.vector.entry:<short name>``.

Gymnasium calls a vector entry point without telling it the id, and stores it as a string.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentgym.registration import family
from agentgym.vector.env import TextVectorEnv


def __getattr__(name: str) -> Callable[..., TextVectorEnv]:
    """Return the maker of vector environments of the family called ``name``."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(TextVectorEnv.make, family(name).id)
