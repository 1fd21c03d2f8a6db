"""A language model behind any OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama, ...)."""

from __future__ import annotations

from agentgym.policies.chat.config import ChatConfig
from agentgym.policies.chat.policy import ChatPolicy

__all__ = ["ChatConfig", "ChatPolicy"]
