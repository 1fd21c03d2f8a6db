"""Write a folder that OpenEnv can validate, build and push: a family of environments as a server.

``templates.d`` has its texts. It contains a copy of agentgym, so that the build does not depend on
a released version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from agentgym.core.env import TextEnv
from agentgym.interop.family_code import FamilyCode, check_new, family_code
from agentgym.registration.making import make_asked
from agentgym.support.bundled_files import fill_templates

SERVER = "openenv"
"""The extra with OpenEnv."""
PANEL = 16
"""Maximum number of tasks hashed for the version of the task set."""
SECONDS = 600.0
"""Declared maximum duration of an episode, in seconds."""


def write_folder(
    folder: Path, name: str, pairs: Sequence[str] = (), grammar: str | None = None
) -> FamilyCode:
    """Write the folder of a family.

    Args:
        folder: The folder, which is created.
        name: Short name, task set or id of the family.
        pairs: Arguments of the environment, each as name=value.
        grammar: Grammar of actions; None: the environment's default.

    Returns:
        The code that the folder contains.

    Raises:
        ConfigurationError: The folder is not empty, or an error of `family_code`.
        AgentGymError: The environment cannot be made.
    """
    check_new(folder)
    code = family_code(name, SERVER)
    env = make_asked(name, pairs, "--env-kwargs", grammar)
    try:
        texts = _texts(env, code, name, tuple(pairs), grammar)
    finally:
        env.close()
    code.write(folder, texts, agentgym_in="")
    return code


def _texts(
    env: TextEnv, code: FamilyCode, question: str, pairs: tuple[str, ...], grammar: str | None
) -> dict[str, str]:
    """Return the texts of the folder, by their paths."""
    values = {
        "name": code.short,
        "asked": question,
        "version": code.version,
        "summary": code.family.summary,
        "prompt": env.action_prompt(),
        "splits": ", ".join(env.tasks.splits),
        "pairs": pairs,
        "grammar": grammar,
        "description": code.description,
        "dependencies": code.dependencies,
        "entry_points": code.entry_points,
        "own_names": code.own_names,
    }
    return {
        "openenv.yaml": yaml.safe_dump(_manifest(env, code), sort_keys=False),
        "validation/runtime.json": json.dumps(_probe(env), indent=2),
        ".dockerignore": "**/__pycache__\n",
        **fill_templates(__file__, values),
    }


def _manifest(env: TextEnv, code: FamilyCode) -> dict[str, Any]:
    """Declare what OpenEnv's validation compares with what it measures."""
    split = env.tasks.splits[-1]
    panel = env.tasks.panel(split, min(PANEL, env.tasks.len(split)))
    return {
        "spec_version": 1,
        "name": code.short,
        "version": code.version,
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
            "types": {"tags": ["text", code.short]},
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
