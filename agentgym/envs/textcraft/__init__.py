"""TextCraft: craft a thing by recipes that the task shows, from parts that have recipes too.

The game is that of TextCraft (ADaPT, Prasad et al., 2024, arXiv:2311.05772), as AgentGym plays it.
The recipes are generated anew for each task, so that no model knows one by heart; recipes of
Minecraft take their place by an argument.
"""

from __future__ import annotations
