"""Write a package of verifiers with one environment, as Prime's hub takes it.

It contains a copy of agentgym below its own module, where it meets no other package's copy; an
installed agentgym comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgym.interop.family_code import FamilyCode, check_new, family_code
from agentgym.registration.making import make_asked, parse_pairs

EXTRA = "verifiers"
"""The extra with verifiers."""
COPY = "code"
"""Folder in the module that holds the copy of agentgym."""

MODULE = '''"""{name} of agentgym as a taskset of verifiers; written by agentgym {version}."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

if importlib.util.find_spec("agentgym") is None:
    sys.path.append(str(Path(__file__).parent / {copy!r}))

import verifiers.v1 as vf

from agentgym.interop.verifiers.exported import (
    AgentGymConfig,
    AgentGymEnv,
    AgentGymTask,
    AgentGymTaskset,
)

__all__ = ["AgentGymEnv", "Tasks"]


class TasksConfig(AgentGymConfig):
    """Settings of the tasks."""

    env: str = {asked!r}
    """The environment."""
    kwargs: dict[str, Any] = {kwargs!r}
    """Arguments of the environment."""


class Tasks(AgentGymTaskset, vf.Taskset[AgentGymTask, TasksConfig]):
    """The tasks of {name}."""
'''
PROJECT = """[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "agentgym-{dash}"
version = "{version}"
description = {description}
readme = "README.md"
requires-python = ">=3.11"
dependencies = [
{dependencies}
]
{entry_points}
[tool.hatch.build.targets.wheel]
packages = ["{module}"{own_names}]
"""
README = """# agentgym-{dash}
{summary}

```bash
vf-eval agentgym-{dash} --env.player.harness.id null --env.taskset.num_tasks 20
```

{prompt}

Settings of the taskset: `kwargs` (arguments of the environment), `prompt`, `split` ({splits}),
`num_tasks` and `seed`. The reward is the sum of the turns' rewards; `score` and `success` are
metrics.
"""


def write_package(folder: Path, name: str, pairs: Sequence[str] = ()) -> FamilyCode:
    """Write the package of a family.

    Args:
        folder: The folder, which is created.
        name: Short name, task set or id of the family.
        pairs: Arguments of the environment, each as name=value.

    Returns:
        The code that the package contains.

    Raises:
        ConfigurationError: The folder is not empty, or an error of `family_code`.
        AgentGymError: The environment cannot be made.
    """
    check_new(folder)
    code = family_code(name, EXTRA)
    env = make_asked(name, pairs, "--env-kwargs")
    values = {
        "name": code.short,
        "dash": code.short.replace("_", "-"),
        "module": f"agentgym_{code.short.replace('-', '_')}",
        "asked": name,
        "kwargs": parse_pairs(pairs, "--env-kwargs"),
        "copy": COPY,
        "version": code.version,
        "summary": code.family.summary,
        "prompt": env.action_prompt(),
        "splits": ", ".join(env.tasks.splits),
        "description": code.description,
        "dependencies": code.dependencies,
        "entry_points": code.entry_points,
        "own_names": code.own_names,
    }
    env.close()
    texts = {
        "pyproject.toml": PROJECT.format_map(values),
        "README.md": README.format_map(values),
        f"{values['module']}/__init__.py": MODULE.format_map(values),
    }
    code.write(folder, texts, agentgym_in=f"{values['module']}/{COPY}")
    return code
