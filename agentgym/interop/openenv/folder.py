"""Write a folder that OpenEnv can validate, build and push: a family of environments as a server.

It contains a copy of this package, so that the build does not depend on a released version.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

import agentgym.registration as registration
from agentgym.core.env import TextEnv
from agentgym.errors import DISTRIBUTION, ConfigurationError
from agentgym.registration.making import make_asked
from agentgym.support.caching import publish
from agentgym.support.folder_lock import holds_other_files

SERVER = "openenv"
"""The extra with OpenEnv."""
PANEL = 16
"""Maximum number of tasks hashed for the version of the task set."""
SECONDS = 600.0
"""Declared maximum duration of an episode, in seconds."""

APP = '''"""Serves {name} as OpenEnv does; written by agentgym {version}."""

from functools import partial

from agentgym.interop.openenv.server import make_app
from agentgym.registration.making import make_asked

app = make_app(partial(make_asked, {name!r}, {pairs!r}, "--env-kwargs", {grammar!r}), {name!r})


def main() -> None:
    """Serve on port 8000."""
    import uvicorn

    uvicorn.run(app, host="0.0.0.0", port=8000)


if __name__ == "__main__":
    main()
'''
DOCKERFILE = """FROM python:3.12-slim
WORKDIR /app
COPY . /app
RUN pip install --no-cache-dir .
EXPOSE 8000
CMD ["uvicorn", "server.app:app", "--host", "0.0.0.0", "--port", "8000"]
"""
PROJECT = """[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "openenv-{name}"
version = "{version}"
description = "{summary}"
requires-python = ">=3.10"
dependencies = [
{dependencies}
]

[project.scripts]
server = "server.app:main"

[tool.hatch.build.targets.wheel]
packages = ["agentgym", "server"]
"""
README = """---
title: {name}
sdk: docker
app_port: 8000
tags: [openenv]
---
# {name}
{summary}

{prompt}

An action is `{{"text": ACTION}}`, an observation `{{"text": TEXT}}`. `reset` takes `seed`, `split`
({splits}) with `index`, or `task_id`; `horizon`; and `list_actions` to list the admissible actions.
"""


def write_folder(
    folder: Path, name: str, pairs: Sequence[str] = (), grammar: str | None = None
) -> None:
    """Write the folder of a family.

    Args:
        folder: The folder, which is created.
        name: Short name or id of the family.
        pairs: Arguments of the environment, each as name=value.
        grammar: Grammar of actions; None: the environment's default.

    Raises:
        ConfigurationError: The folder is not empty, this package is not installed, or the name is
            not a family of this package.
        AgentGymError: The environment cannot be made.
    """
    if holds_other_files(folder):
        raise ConfigurationError(f"expected a new folder or an empty one, got {folder}")
    family = next(
        (entry for entry in registration.FAMILIES if name in (entry.name, entry.id)), None
    )
    if family is None:
        names = ", ".join(entry.name for entry in registration.FAMILIES)
        raise ConfigurationError(
            f"expected a family of this package ({names}), as the folder contains its code; got "
            f"{name}"
        )
    env = make_asked(name, pairs, "--env-kwargs", grammar)
    try:
        texts = _texts(env, family, tuple(pairs), grammar)
    finally:
        env.close()
    scratch = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    for path, text in texts.items():
        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).write_text(text, encoding="utf-8")
    package = Path(registration.__file__).parent
    unwanted = shutil.ignore_patterns("__pycache__", "*.py[co]")
    shutil.copytree(package, scratch / package.name, ignore=unwanted)
    publish(scratch, folder)


def _texts(
    env: TextEnv, family: registration.EnvFamily, pairs: tuple[str, ...], grammar: str | None
) -> dict[str, str]:
    """Return the texts of the folder, by their paths."""
    values = {
        "name": family.name,
        "version": _distribution().version,
        "summary": family.summary,
        "prompt": env.action_prompt(),
        "splits": ", ".join(env.tasks.splits),
        "pairs": pairs,
        "grammar": grammar,
        "dependencies": "\n".join(
            f"    {json.dumps(requirement)}," for requirement in _dependencies(family)
        ),
    }
    return {
        "openenv.yaml": yaml.safe_dump(_manifest(env, family), sort_keys=False),
        "validation/runtime.json": json.dumps(_probe(env), indent=2),
        "pyproject.toml": PROJECT.format_map(values),
        "Dockerfile": DOCKERFILE,
        ".dockerignore": "**/__pycache__\n",
        "README.md": README.format_map(values),
        "server/__init__.py": f'"""The server of {family.name}."""\n',
        "server/app.py": APP.format_map(values),
    }


def _manifest(env: TextEnv, family: registration.EnvFamily) -> dict[str, Any]:
    """Declare what OpenEnv's validation compares with what it measures."""
    split = env.tasks.splits[-1]
    panel = env.tasks.panel(split, min(PANEL, env.tasks.len(split)))
    return {
        "spec_version": 1,
        "name": family.name,
        "version": _distribution().version,
        "type": "space",
        "runtime": "fastapi",
        "app": "server.app:app",
        "port": 8000,
        "validation": {
            "reward": {"range": [0.0, 1.0], "oracle_tolerance": 0.0, "floor_margin": 0.1},
            "resources": {
                "cpu": 1.0,
                "memory_mb": 2048,
                "disk_mb": 2048,
                "episode_timeout_s": SECONDS,
            },
            "capabilities": {
                "verifier": {"kind": "reward_channel"},
                "task_api": True,
                "declared_task_count": {
                    split_name: env.tasks.len(split_name) for split_name in env.tasks.splits
                },
            },
            "task_distribution": {"dataset_version": f"panel {panel.sha256}"},
            "execution": {"kind": "openenv_ws", "dockerfile": "Dockerfile"},
            "types": {"tags": ["text", family.name]},
        },
    }


def _probe(env: TextEnv) -> dict[str, Any]:
    """Plan a turn that shows that the server plays, and no solution."""
    split = env.tasks.splits[0]
    _, info = env.reset(seed=0, options={"split": split, "index": 0})
    offered = info["admissible_actions"]
    return {
        "plan_schema_version": "1",
        "reset": {"episode_id": "probe", "seed": 0, "options": {"split": split, "index": 0}},
        "actions": [{"text": offered[0] if offered else "look"}],
    }


def _distribution() -> metadata.Distribution:
    """Return what is known of this package as it was installed.

    Raises:
        ConfigurationError: It was not.
    """
    try:
        return metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            "expected agentgym to be installed, because the folder lists its requirements; run: "
            "pip install -e . (in a checkout of agentgym)"
        ) from error


def _dependencies(family: registration.EnvFamily) -> list[str]:
    """Return what the server of a family needs, as requirements.

    Raises:
        ConfigurationError: What was installed is older than this code, and does not know.
    """
    installed = _distribution()
    if SERVER not in (installed.metadata.get_all("Provides-Extra") or ()):
        raise ConfigurationError(
            f"expected agentgym to be installed with the extra {SERVER}, which the folder needs, "
            f"got version {installed.version} without one; run again: pip install -e . (in a "
            "checkout of agentgym)"
        )
    extras = ("", SERVER, family.extra)
    requirements: dict[str, None] = {}
    for line in installed.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        # Those of extras name the extra in their marker; others stay as they are.
        if marker is None or "extra" not in str(marker):
            requirements[line] = None
        elif any(marker.evaluate({"extra": extra}) for extra in extras if extra):
            requirements[str(Requirement(line.partition(";")[0]))] = None
    return list(requirements)
