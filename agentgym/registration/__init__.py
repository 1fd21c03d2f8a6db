"""The registry: names of environments, the families behind them, and how they are made.

`families` contains the table of families and registers them with Gymnasium, `imports` the table of
environments from other projects, such as ``gem:ID``, and `making` resolves names and makes
environments.

To add one of these, touch these files:

- a family: its row in ``agentgym/registration/families.json``, and the files that
  ``agentgym/envs/__init__.py`` lists
- another project's environments: a row in ``agentgym/registration/imports.json``, and the files
  that ``agentgym/interop/__init__.py`` lists
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
