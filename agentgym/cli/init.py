"""``agentgym init``: write a small working example with its test, from the how-to pages."""

from __future__ import annotations

import importlib.util
import json
import keyword
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.registration import find_family
from agentgym.registration.imports import IMPORTS
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Init

TEMPLATES = "templates.d"
"""Folder of the templates, which the how-to pages also show."""
STEMS = {
    "env": "my_env",
    "package": "my_env",
    "policy": "my_policy",
    "reward": "my_reward",
    "algorithm": "my_algorithm",
}
"""Kind -> name in its templates, which is replaced by the new name."""
PACKAGE = "my_package"
"""Folder of the templates that a package adds to those of an environment."""
NEXT: dict[str, list[str]] = json.loads(
    Path(__file__).with_name(TEMPLATES).joinpath("next.json").read_text("utf-8")
)
"""Commands that use the new file, by kind."""


def init(command: Init, console: Console) -> int:
    """Write the files, and print the next commands."""
    files = {command.out / file: text for file, text in render(command.kind, command.name).items()}
    for file in files:
        if file.exists():
            raise ConfigurationError(
                f"expected an unused name, but {file} exists: choose another, or remove it"
            )
    _check_name(command.name)
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    say(console, f"{_listed(list(files))} are written. Next:")
    for line in _next_lines(command):
        say(console, f"  {line}")
    return 0


def render(kind: str, name: str) -> dict[str, str]:
    """Return the texts of the files of a kind by their paths, with another name filled in."""
    stem = STEMS[kind]
    files = {f"{name}.py": _template(f"{stem}.py"), f"test_{name}.py": _template(f"test_{stem}.py")}
    if kind == "package":
        files = _package_files(name, *files.values())
    return {
        file: text.replace(stem, name).replace(title(stem), title(name))
        for file, text in files.items()
    }


def _package_files(name: str, module: str, test: str) -> dict[str, str]:
    """Return the templates of a package: the environment's, registered by an entry point."""
    module = module.replace("import gymnasium\n\n", "").partition("\n\ngymnasium.register")[0]
    return {
        f"{name}/pyproject.toml": _template(f"{PACKAGE}/pyproject.toml"),
        f"{name}/README.md": _template(f"{PACKAGE}/README.md"),
        f"{name}/{name}/__init__.py": _template(f"{PACKAGE}/__init__.py"),
        f"{name}/{name}/env.py": module.replace("my_env:my_env/MyEnv-v0", "my_env"),
        f"{name}/tests/test_{name}.py": test.replace("from my_env", "from my_env.env"),
    }


def _template(file: str) -> str:
    return resources.files("agentgym.cli").joinpath(f"{TEMPLATES}/{file}").read_text("utf-8")


def _listed(files: list[Path]) -> str:
    return ", ".join(f"{file}" for file in files[:-1]) + f" and {files[-1]}"


def _next_lines(command: Init) -> Iterator[str]:
    """Yield the commands that test and use what was written."""
    location = f"cd {command.out} && " if command.out != Path() else ""
    # README's first command installs no pytest, and a bare pytest may be another Python's.
    if not importlib.util.find_spec("pytest"):
        yield f"{location}python -m pip install pytest"
    tests = f"test_{command.name}.py"
    if command.kind == "package":
        yield f"{location}python -m pip install -e ./{command.name}"
        tests = command.name
    yield f"{location}python -m pytest {tests}"
    for line in NEXT[command.kind]:
        yield location + line.format(name=command.name, title=title(command.name))


def title(name: str) -> str:
    """Return the name of the class in a module: ``my_env`` holds ``MyEnv``."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")) or name


def _check_name(name: str) -> None:
    """Refuse a name that cannot be imported, or that would hide another module.

    Raises:
        ConfigurationError: It is such a name.
    """
    is_plain = name.isascii() and name.isidentifier() and name == name.lower()
    if not is_plain or keyword.iskeyword(name) or not name.strip("_") or name.startswith("_"):
        raise ConfigurationError(
            f"expected a name of small letters, digits and _ that Python can import, such as "
            f"my_env, got {name!r:.80}"
        )
    if name.startswith("test_"):
        raise ConfigurationError(
            f"expected a name without test_ in front, which pytest would collect as tests, got "
            f"{name!r:.80}"
        )
    if find_family(name) is not None or name in IMPORTS:
        raise ConfigurationError(
            f"expected a name that no environment has, got {name!r:.80}; choose another, such as "
            f"my_{name}"
        )
    if importlib.util.find_spec(name) is not None:
        raise ConfigurationError(
            f"expected a name that is not a module's, got {name!r:.80}, which would hide the "
            f"installed one; choose another, such as my_{name}"
        )
