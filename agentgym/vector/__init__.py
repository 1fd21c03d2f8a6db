"""Many text environments at once: :class:`TextVectorEnv`."""

from __future__ import annotations

from agentgym.vector.env import TextVectorEnv
from agentgym.vector.episode import SlotSnapshot

__all__ = ["SlotSnapshot", "TextVectorEnv"]
