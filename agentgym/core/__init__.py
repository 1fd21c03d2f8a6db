"""The contract of an environment: `TextEnv`, its tasks, and what a turn did."""

from __future__ import annotations

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task, TaskList, TaskSet

__all__ = ["Outcome", "StopReason", "Task", "TaskList", "TaskSet", "TextEnv"]
