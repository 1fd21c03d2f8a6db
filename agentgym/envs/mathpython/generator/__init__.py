"""Problems of graded difficulty that seeds decide, each with its exact answer."""

from agentgym.envs.mathpython.generator.config import DIFFICULTIES, GeneratorConfig

__all__ = ["DIFFICULTIES", "GeneratorConfig"]
