"""Write a package of verifiers with one environment, as Prime's hub takes it.

``templates.d`` has its texts. It contains a copy of agentgym below its own module, where it meets
no other package's copy; an installed agentgym comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgym.interop.family_code import FamilyCode, check_new, family_code
from agentgym.registration.making import make_asked, parse_pairs
from agentgym.support.bundled_files import fill_templates

EXTRA = "verifiers"
"""The extra with verifiers."""
COPY = "code"
"""Folder in the module that holds the copy of agentgym."""


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
        path.replace("module/", f"{values['module']}/"): text
        for path, text in fill_templates(__file__, values).items()
    }
    code.write(folder, texts, agentgym_in=f"{values['module']}/{COPY}")
    return code
