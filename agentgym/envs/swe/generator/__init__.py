"""SWE tasks made from repositories: faults put into their source, and pairs of releases.

:func:`build_mutations` and :func:`build_versions` make tasks from any Python library, in boxes;
:class:`StoredInstances` reads what they write. :func:`bundled_instances` are the tasks that come
with the package, made in the same way and kept in ``bundled.d``.
"""

from __future__ import annotations

from agentgym.envs.swe.generator.bundled import bundled_instances
from agentgym.envs.swe.generator.stored_instances import StoredInstances
from agentgym.envs.swe.generator.task_builder import (
    GENERATOR_VERSION,
    BuildProgress,
    build_mutations,
)
from agentgym.envs.swe.generator.versions import build_versions

__all__ = [
    "GENERATOR_VERSION",
    "BuildProgress",
    "StoredInstances",
    "build_mutations",
    "build_versions",
    "bundled_instances",
]
