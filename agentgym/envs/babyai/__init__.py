"""BabyAI in text: walk through rooms, find things, open doors, carry things, as a sentence asks.

The levels are those of BabyAI (Chevalier-Boisvert et al., 2019, arXiv:1810.08272) as the package
``minigrid`` has them: it plays them here, too, and its bot is the expert.

What the folder holds:

- ``env.py``, ``tasks.py``: the environment; levels with seeds as tasks
- ``engine/``: ``levels`` (which there are), ``session`` (actions in, text out), ``view`` (what is
  seen, in words)
- ``experts/``: ``bot`` (minigrid's bot: plan and advice)
"""

from __future__ import annotations
