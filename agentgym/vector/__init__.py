"""Many text environments at once: :class:`TextVectorEnv`.

``gym.make_vec("agentgym/WebShop-v0", num_envs=8)`` arrives here: every id is registered with the
``vector_entry_point`` that :func:`entry_point` returns, a string of the form
``"agentgym.vector:agentgym/WebShop-v0"``. Gymnasium calls a vector entry point without telling it
the id, so the id is the name that it looks up in this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from agentgym.vector.env import TextVectorEnv
from agentgym.vector.rollout import SlotSnapshot

__all__ = ["SlotSnapshot", "TextVectorEnv", "entry_point"]


def entry_point(env_id: str) -> str:
    """Return the ``vector_entry_point`` to register ``env_id`` with."""
    return f"{__name__}:{env_id}"


def __getattr__(name: str) -> Callable[..., Any]:
    """Resolve an environment id to the function that makes its vector environment."""
    if "/" in name or "-v" in name:
        return partial(TextVectorEnv.make, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
