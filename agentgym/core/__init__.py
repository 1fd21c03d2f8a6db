"""The contract of an environment: `TextEnv`, its tasks, and what a turn did.

`env` has `TextEnv`, `family_contract` what a family implements of it. `outcome` is what a turn did,
`info` what ``step`` reports of it; `guard` makes a failure cost one episode. `tasks` has tasks,
splits and panels, `hooks` turn-level rewards, `language` actions in one grammar, `options` the
arguments that callers may give; `oracle`, `spaces` and `fingerprint` say it in their names.
`extension` is what every environment can be played with: `notes`, `tries`, and `delegation` to
workers; `extensions` joins them.

To add one of these, touch these files:

- an extension of every environment: a file with an ``Extension`` in ``agentgym/core/``, its
  argument in ``Extensions.of`` and in ``TextEnv``
"""

from __future__ import annotations

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task, TaskList, TaskSet

__all__ = ["Outcome", "StopReason", "Task", "TaskList", "TaskSet", "TextEnv"]
