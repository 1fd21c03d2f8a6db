"""TextWorld games without TextWorld: the state machine over a game's JSON.

``Machine(World.of(game))`` plays a game that TextWorld 1.x generated, about ten times as
fast as TextWorld's own machine and equal to it at every step, but for commands that several rules
answer (``prepare meal``): there it does what the compiled game does. It has no words: ``text``
describes what its actions do.
"""

from __future__ import annotations

from agentgym.envs.textworld.engine.commands import Action
from agentgym.envs.textworld.engine.facts import Fact
from agentgym.envs.textworld.engine.game_json import Entity
from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.snapshots import Snapshot
from agentgym.envs.textworld.engine.world import World

__all__ = ["Action", "Entity", "Fact", "Machine", "Snapshot", "World"]
