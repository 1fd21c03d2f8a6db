"""The contract of an environment: `TextEnv`, its tasks, and what a turn did.

To add one of these, touch these files:

- an extension of every environment: a file with an ``Extension`` in ``agentgym/core/``, its
  argument in ``Extensions.of`` and in ``TextEnv``
"""

from __future__ import annotations

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task, TaskList, TaskSet

__all__ = ["Outcome", "StopReason", "Task", "TaskList", "TaskSet", "TextEnv"]
