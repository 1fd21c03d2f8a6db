"""A generated encyclopaedia of things that do not exist, and questions about it.

Everything is computed from a configuration, a size and a seed, without data and without a model:
the same on every machine. :class:`Universe` gives the passages, :class:`QuestionGenerator` the
questions, each of which is checked by searching an index of the passages.

Example:
    >>> from agentgym.envs.search.generator import Universe
    >>> universe = Universe("easy", 200, seed=0)
    >>> len(list(universe.passages()))
    200
"""

from __future__ import annotations

from agentgym.envs.search.generator.config import DIFFICULTIES, GeneratorConfig
from agentgym.envs.search.generator.facts import GENERATOR_VERSION
from agentgym.envs.search.generator.questions import QuestionGenerator
from agentgym.envs.search.generator.universe import Universe

__all__ = [
    "DIFFICULTIES",
    "GENERATOR_VERSION",
    "GeneratorConfig",
    "QuestionGenerator",
    "Universe",
]
