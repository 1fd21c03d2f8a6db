"""Seeded problems of graded difficulty, each with its exact answer."""

from agentgym.envs.mathpython.generator.config import DIFFICULTIES, GeneratorConfig

__all__ = ["DIFFICULTIES", "GeneratorConfig"]
