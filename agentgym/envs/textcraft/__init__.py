"""TextCraft: craft an item by the given recipes, from ingredients to be crafted first.

The rules are those of TextCraft (ADaPT, Prasad et al., 2024, arXiv:2311.05772), as in AgentGym.
Each task has generated recipes, so that models cannot have memorized them; ``data=`` uses
Minecraft's.

Files:

- ``env.py``, ``tasks.py``: the environment; the task sets, generated and official
- ``engine/``: ``recipes`` (recipes, recipe books, worlds), ``session`` (commands in, text out)
- ``experts/``: ``oracle`` (the shortest plan, and how it is followed), ``guessing`` (tries a random
  recipe)
- ``generator/``: ``config``, ``worlds`` (one world from a seed), ``words`` (for names)
- ``official/``: ``recipe_files`` (Minecraft's files)
"""

from __future__ import annotations
