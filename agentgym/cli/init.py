"""``agentgym init``: write a small working example with its test, from the how-to pages."""

from __future__ import annotations

import importlib.util
import keyword
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Init

TEMPLATES = "templates.d"
"""Folder of the templates, which the how-to pages also show."""
STEMS = {"env": "my_env", "policy": "my_policy", "reward": "my_reward", "algorithm": "my_algorithm"}
"""Kind of file -> name in its template, which is replaced by the new name."""
NEXT = {
    "env": (
        "agentgym play {name}:{name}/{title}-v0",
        "agentgym eval {name}:{name}/{title}-v0 --policy random --policy oracle",
        "agentgym validate {name}:{name}/{title}-v0",
        "agentgym conform {name}:{name}/{title}-v0",
        "agentgym train --env {name}:{name}/{title}-v0",
    ),
    "policy": (
        "agentgym eval textcraft --policy {name}:{title}",
        "agentgym eval textcraft --policy {name}:{title} --policy-kwargs tries=2",
    ),
    "reward": (
        "agentgym eval textcraft --policy random --reward-hooks {name}:{title}",
        "agentgym train --env textcraft --reward-hooks {name}:{title}:weight=0.1",
    ),
    "algorithm": (
        "agentgym train --env textcraft --preset {name}:PRESET --dry-run",
        "agentgym train --env textcraft --preset {name}:PRESET",
    ),
}
"""Commands that use the new file, by kind."""


def init(command: Init, console: Console) -> int:
    """Write the two files, and print the next commands."""
    source, test = (command.out / file for file in _files(command.name))
    for file in (source, test):
        if file.exists():
            raise ConfigurationError(f"expected an unused name, but {file} exists")
    _check_name(command.name)
    command.out.mkdir(parents=True, exist_ok=True)
    for file, template in zip((source, test), _files(STEMS[command.kind]), strict=True):
        file.write_text(render(template, command.kind, command.name), encoding="utf-8")
    say(console, f"{source} and {test} are written. Next:")
    where = f"cd {command.out} && " if command.out != Path() else ""
    names = {"name": command.name, "title": title(command.name)}
    # README's first command installs no pytest, and a bare pytest may be another Python's.
    install = () if importlib.util.find_spec("pytest") else ("python -m pip install pytest",)
    for line in (*install, f"python -m pytest {test.name}", *NEXT[command.kind]):
        say(console, f"  {where}{line.format(**names)}")
    return 0


def render(template: str, kind: str, name: str) -> str:
    """Return the text of a template with another name filled in."""
    folder = resources.files("agentgym.cli").joinpath(TEMPLATES)
    text = folder.joinpath(template).read_text("utf-8")
    stem = STEMS[kind]
    return text.replace(stem, name).replace(title(stem), title(name))


def title(name: str) -> str:
    """Return the name of the class in a module: ``my_env`` holds ``MyEnv``."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")) or name


def _files(name: str) -> tuple[str, str]:
    return f"{name}.py", f"test_{name}.py"


def _check_name(name: str) -> None:
    """Refuse a name that cannot be imported, or that would hide another module.

    Raises:
        ConfigurationError: It is such a name.
    """
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    if not plain or keyword.iskeyword(name) or not name.strip("_") or name.startswith("_"):
        raise ConfigurationError(
            f"expected a name of small letters, digits and _ that Python can import, such as "
            f"my_env, got {name!r:.80}"
        )
    if name.startswith("test_"):
        raise ConfigurationError(
            f"expected a name without test_ in front, which pytest would collect as tests, got "
            f"{name!r:.80}"
        )
    if importlib.util.find_spec(name) is not None:
        raise ConfigurationError(
            f"expected a name that is not a module's, got {name!r:.80}, which would hide the "
            f"installed one; choose another, such as my_{name}"
        )
