"""Many text environments at once: :class:`TextVectorEnv`.

`backends` names where members run: in this process, in threads, in processes or as actors of Ray.
`isolated` is one environment in a process.

To add one of these, touch these files:

- a kind of environment worker: a ``WorkerHandle`` in ``agentgym/vector/``, its name and its branch
  in ``backends.py`` there, its name in ``trainers/config/sections.py`` and
  ``agentgym/evaluation/suites/settings.py``
"""

from __future__ import annotations

from agentgym.vector.env import TextVectorEnv
from agentgym.vector.episode import SlotSnapshot

__all__ = ["SlotSnapshot", "TextVectorEnv"]
