"""Seeded worlds without data."""

from __future__ import annotations

from agentgym.envs.textcraft.generator.config import DIFFICULTIES, GeneratorConfig
from agentgym.envs.textcraft.generator.worlds import GENERATOR_VERSION, generate

__all__ = ["DIFFICULTIES", "GENERATOR_VERSION", "GeneratorConfig", "generate"]
