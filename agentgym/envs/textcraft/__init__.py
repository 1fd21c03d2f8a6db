"""TextCraft: craft a thing by recipes that the task shows, from parts that have recipes too.

The game is that of TextCraft (ADaPT, Prasad et al., 2024, arXiv:2311.05772), as AgentGym plays it.
The recipes are generated anew for each task, so that no model knows one by heart; recipes of
Minecraft take their place by an argument.

What the folder holds:

- ``env.py``, ``tasks.py``: the environment; the task sets, generated and official
- ``engine/``: ``recipes`` (recipes, the book of them, a world), ``session`` (commands in, text out)
- ``experts/``: ``oracle`` (the shortest plan, and how it is followed), ``guessing`` (takes some
  recipe for that of the goal)
- ``generator/``: ``config``, ``worlds`` (one world from a seed), ``words`` (of which names are
  made)
- ``official/``: ``recipe_files`` (Minecraft's files)
"""

from __future__ import annotations
