"""Vector environments of text: :class:`TextVectorEnv`.

`backends` runs the members in the calling thread, in threads, in worker processes or as Ray actors.
`env_slots` contains the environments and turns their exceptions into results, `exchange` the
requests and answers, `episode` the state of each slot. `history` restores the environments of a
worker that died. `isolated` runs a single environment in a process.

To add one of these, touch these files:

- a kind of environment worker: a ``WorkerHandle`` in ``agentgym/vector/``, its name and its branch
  in ``backends.py`` there, its name in ``trainers/config/sections.py`` and
  ``agentgym/evaluation/suites/settings.py``
"""

from __future__ import annotations

from agentgym.vector.env import TextVectorEnv
from agentgym.vector.episode import SlotSnapshot

__all__ = ["SlotSnapshot", "TextVectorEnv"]
