"""Seeded households: unlimited ALFWorld games without any data or package of the original."""

from agentgym.envs.alfworld.generator.config import DIFFICULTIES, SHORT_NAMES, Knobs, full_names
from agentgym.envs.alfworld.generator.folders import trial_folder, write_game
from agentgym.envs.alfworld.generator.households import GENERATOR_VERSION, generate, set_name
from agentgym.envs.alfworld.generator.rooms import HELD_OUT, SPLIT_ROOMS

__all__ = [
    "DIFFICULTIES",
    "GENERATOR_VERSION",
    "HELD_OUT",
    "SHORT_NAMES",
    "SPLIT_ROOMS",
    "Knobs",
    "full_names",
    "generate",
    "set_name",
    "trial_folder",
    "write_game",
]
