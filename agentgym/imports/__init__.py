"""Environments of other projects as agentgym environments, by names such as ``gem:ID``.

`agentgym.registration.imports` has a row for each kind: its prefix, and the module whose function
``make(reference, **options)`` makes one. A kind implements a `world.World`;
`imported_env.ImportedEnv` turns it into an `agentgym.core.TextEnv`. The other project's package is
imported when an environment is made.

To add one of these, touch these files:

- a kind of environments of other projects: a file in ``agentgym/imports/`` with ``make(reference,
  **options)`` and perhaps ``names()``, its row in ``agentgym/registration/imports.py``, its lines
  on the page here, an extra in ``pyproject.toml``
"""
