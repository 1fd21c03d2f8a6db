"""SWE tasks made from repositories: changes of their source, and pairs of releases.

:func:`build_tasks` and :func:`build_versions` make tasks from any Python library, in boxes;
:class:`StoredInstances` reads what they write. :func:`bundled_instances` are the tasks that come
with the package, made in the same way and kept in ``bundled.d``.

To add one of these, touch these files:

- a bundled SWE library: a folder in ``agentgym/envs/swe/bundled.d/repositories/``, with ``.txt``
  behind the name of each file, where every test states the behaviour in a user's words (these
  become issues); its split in ``agentgym/envs/swe/generator/bundled.py``; then run ``agentgym swe
  build bundled``. Store its ``mutations.jsonl`` as ``instances.jsonl`` of ``bundled.d/``, and its
  ``held_out/`` as ``held_out/tasks/`` there (``bundled-tokens``: ``tokens.jsonl``, ``held_out/``).
  ``benchmarks/held_out_pythons.py PYTHON... --drop`` takes out what other Pythons answer otherwise
- a regression of a bundled SWE library: the sound later release, ``repositories/LIBRARY-VERSION``
  of ``bundled.d/``, with its row in ``LATER`` of ``generator/bundled.py``; a patch for each
  regression, in ``regressions/LIBRARY-VERSION``
- a kind of SWE fault: a function in ``agentgym/envs/swe/generator/faults.py`` and its name in
  ``FAULTS`` there
- a kind of SWE task: a function in a file of ``agentgym/envs/swe/generator/kinds/`` and its name in
  ``KINDS`` there; in ``Kind`` of ``subcommands/task_commands.py``, and in ``TASKS`` of
  ``generator/bundled.py`` to make bundled tasks of it
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
