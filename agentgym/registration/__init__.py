"""Environments by name: families, their ids, and the kinds of environments of other projects.

`families` has the table of families and registers them with Gymnasium, `imports` has the table of
names such as ``gem:ID``, and `making` resolves every name and makes its environment.

To add one of these, touch these files:

- a family: its row in ``agentgym/registration/families.py``; ``agentgym/envs/__init__.py`` has the
  rest
- a kind of environments of other projects: its row in ``agentgym/registration/imports.py``;
  ``agentgym/interop/__init__.py`` has the rest
"""

from agentgym.registration.families import (
    COMMANDS,
    FAMILIES,
    STANDARD,
    Command,
    EnvFamily,
    NamedTaskSet,
    Subcommand,
    commands,
    families,
    family,
    find_family,
    register_all,
)

__all__ = [
    "COMMANDS",
    "FAMILIES",
    "STANDARD",
    "Command",
    "EnvFamily",
    "NamedTaskSet",
    "Subcommand",
    "commands",
    "families",
    "family",
    "find_family",
    "register_all",
]
