"""BabyAI in text: walk through rooms, find things, open doors, carry things, as a sentence asks.

The levels are BabyAI's (Chevalier-Boisvert et al., 2019, arXiv:1810.08272); the package
``minigrid`` runs them, and its bot is the expert.

Files:

- ``env.py``, ``tasks.py``: the environment; levels with seeds as tasks
- ``engine/``: ``levels`` (the list of levels), ``session`` (actions in, text out), ``view`` (the
  agent's view in words)
- ``experts/``: ``bot`` (minigrid's bot: plan and advice)
"""

from __future__ import annotations
