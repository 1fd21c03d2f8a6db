"""Environments of other projects as agentgym environments, by names such as ``gem:ID``.

`table` has a row for each kind: its prefix, and the function ``make(reference, **options)`` in the
kind's file. A kind implements a `world.World`; `imported_env.ImportedEnv` turns it into an
`agentgym.core.TextEnv`. The other project's package is imported when an environment is made.

To add one of these, touch these files:

- a kind of environments of other projects: a file in ``agentgym/imports/`` with ``make(reference,
  **options)`` and perhaps ``names()``, its row in ``table.py`` and its lines on the page there, an
  extra in ``pyproject.toml``
"""
