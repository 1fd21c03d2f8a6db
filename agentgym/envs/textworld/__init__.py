"""TextWorld: walk through rooms, open what is closed, take and bring things, cook a meal.

The games are those of TextWorld (Côté et al., 2018, arXiv:1806.11532), version 1.7: its generator,
its challenges and its rules. ``gym.make("agentgym/TextWorld-v0")`` plays a bundled set; other
settings and seeds are generated with the ``textworld`` package and kept in a cache.
"""

from __future__ import annotations
