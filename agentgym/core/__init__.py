"""The contract of an environment: `TextEnv`, tasks, and the outcome of a turn.

`env` defines `TextEnv`, and `family_contract` the methods that a family implements. `outcome`
defines the result of a turn, `info` the info dict of ``step``, and `later` values that are computed
only when they are read. `guard` limits a failure to one episode, and `attribution` decides whether
policy or environment caused it. `snapshots` forks an episode; `fingerprint` identifies the
arguments that a fork depends on. `tasks` contains tasks, splits and panels, `hooks` turn-level
rewards, `language` actions in one grammar, `options` the validation of arguments, `oracle` the
expert policies, `spaces` the space of texts. `extension` adds features to every environment:
`notes`, `summaries`, `tries`, and `delegation` to workers; `extensions` combines them.

To add an extension of every environment, write a file with an ``Extension`` in ``agentgym/core/``
and add its argument to ``Extensions.of`` and to ``TextEnv``.
"""

from __future__ import annotations

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task, TaskList, TaskSet

__all__ = ["Outcome", "StopReason", "Task", "TaskList", "TaskSet", "TextEnv"]
