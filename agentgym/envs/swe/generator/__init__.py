"""SWE tasks made from repositories: changes of their source, and pairs of releases.

:func:`build_tasks` and :func:`build_versions` make tasks from any Python library, in boxes;
:class:`StoredInstances` reads what they write. :func:`bundled_instances` are the tasks that come
with the package, made in the same way and kept in ``bundled.d``.
"""

from __future__ import annotations

from agentgym.envs.swe.generator.bundled import bundled_instances
from agentgym.envs.swe.generator.stored_instances import StoredInstances
from agentgym.envs.swe.generator.task_builder import (
    GENERATOR_VERSION,
    BuildProgress,
    build_tasks,
)
from agentgym.envs.swe.generator.versions import build_versions

__all__ = [
    "GENERATOR_VERSION",
    "BuildProgress",
    "StoredInstances",
    "build_tasks",
    "build_versions",
    "bundled_instances",
]
