"""Many text environments at once: :class:`TextVectorEnv`."""

from __future__ import annotations

from agentgym.vector.env import TextVectorEnv
from agentgym.vector.slot_api import SlotSnapshot

__all__ = ["SlotSnapshot", "TextVectorEnv"]
