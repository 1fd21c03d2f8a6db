"""Seeded households: unlimited ALFWorld games without any data or package of the original."""

from agentgym.envs.alfworld.generator.config import DIFFICULTIES, GeneratorConfig
from agentgym.envs.alfworld.generator.households import generate
from agentgym.envs.alfworld.generator.writer import trial_folder, write_game

__all__ = ["DIFFICULTIES", "GeneratorConfig", "generate", "trial_folder", "write_game"]
