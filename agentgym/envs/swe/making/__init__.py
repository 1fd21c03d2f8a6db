"""Making SWE tasks, testing their graders and exporting them; playing and grading do not need it.

:func:`build_tasks` and :func:`build_versions` make tasks from any Python library, in boxes, for
`agentgym.envs.swe.stored_instances` to read; `bundled_sets` makes those that come with the package.
``held_out/`` makes their held-out questions. ``red_team/`` plays exploits against graders,
``harbor/`` writes tasks as folders of Harbor. ``subcommands/`` is the door: ``agentgym swe``.

To add one of these, touch these files:

- a bundled SWE library: a folder in ``agentgym/envs/swe/bundled.d/repositories/``, with ``.txt``
  behind the name of each file, where every test states the behaviour in a user's words (these
  become issues); its split in ``agentgym/envs/swe/making/bundled_sets.py``; then run ``agentgym swe
  build bundled``. Store its ``mutations.jsonl`` as ``instances.jsonl`` of ``bundled.d/``, and its
  ``held_out/`` as ``held_out/tasks/`` there (``bundled-tokens``: ``tokens.jsonl``, ``held_out/``).
  ``benchmarks/held_out_pythons.py PYTHON... --drop`` takes out what other Pythons answer otherwise
- a regression of a bundled SWE library: the sound later release, ``repositories/LIBRARY-VERSION``
  of ``bundled.d/``, with its row in ``LATER`` of ``making/bundled_sets.py``; a patch for each
  regression, in ``regressions/LIBRARY-VERSION``
- a kind of SWE fault: a function in ``agentgym/envs/swe/making/faults.py`` and its name in
  ``FAULTS`` there
- a kind of SWE task: a function in a file of ``agentgym/envs/swe/making/kinds/`` and its name in
  ``KINDS`` there; in ``Kind`` of ``subcommands/task_commands.py``, and in ``TASKS`` of
  ``making/bundled_sets.py`` to make bundled tasks of it
"""

from __future__ import annotations

from agentgym.envs.swe.making.task_builder import (
    GENERATOR_VERSION,
    BuildProgress,
    build_tasks,
)
from agentgym.envs.swe.making.versions import build_versions

__all__ = [
    "GENERATOR_VERSION",
    "BuildProgress",
    "build_tasks",
    "build_versions",
]
