"""The contract of an environment: `TextEnv`, tasks, and the outcome of a turn.

`env` defines `TextEnv`, and `family_contract` the methods that a family implements. `outcome`
defines the result of a turn, and `info` the info dict of ``step``; `guard` limits a failure to one
episode. `later` makes what few callers read of a state, and `snapshots` forks an episode. `tasks`
contains tasks, splits and panels, `hooks` turn-level rewards, `language` actions in one grammar,
`options` the validation of arguments; `oracle`, `spaces` and `fingerprint` are what their names
say. `extension` adds features to every environment: `notes`, `tries`, and `delegation`
to workers; `extensions` combines them.

To add one of these, touch these files:

- an extension of every environment: a file with an ``Extension`` in ``agentgym/core/``, its
  argument in ``Extensions.of`` and in ``TextEnv``
"""

from __future__ import annotations

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task, TaskList, TaskSet

__all__ = ["Outcome", "StopReason", "Task", "TaskList", "TaskSet", "TextEnv"]
