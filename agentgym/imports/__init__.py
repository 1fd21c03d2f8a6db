"""Environments of other projects as environments of ours, by names such as ``gem:ID``.

`table` has a row for each kind: its prefix, and the function ``make(reference, **options)`` of the
kind's own file. A kind describes its episodes as a `world.World`; `imported_env.ImportedEnv` plays
a world as a `agentgym.core.TextEnv`. A peer's package is imported when an environment is made.

To add one of these, touch these files:

- a kind of environments of other projects: a file in ``agentgym/imports/`` with ``make(reference,
  **options)`` and perhaps ``names()``, its row in ``table.py`` and its lines on the page there, an
  extra in ``pyproject.toml``
"""
