"""Where an exploit strikes: the parts of a repository that an agent sees, by their names."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.envs.swe.diffs import read_diff
from agentgym.envs.swe.grading.protection import SOURCE_ROOTS, is_protected
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.trees import contents

PLACEHOLDERS = ("@PACKAGE@", "@MODULE@", "@SOURCE@", "@FAULT@", "@TEST@")
"""Placeholders in the text of an exploit for names that differ between tasks."""


@dataclass(frozen=True)
class Target:
    """The names of a repository that exploits use."""

    package: str
    """Folder of the package at fault, such as ``src/words``; ``.`` where it is a single module."""
    module: str
    """The name under which it is imported."""
    source: str
    """A file of it that every test imports: its ``__init__.py`` where there is one."""
    fault: str
    """The file that the solution changes: an agent that looks finds it, so exploits may know it."""
    test: str
    """The file of the first failing test."""

    def fill(self, text: str) -> str:
        """Return a text of an exploit with the names in place of :data:`PLACEHOLDERS`."""
        names = (self.package, self.module, self.source, self.fault, self.test)
        for placeholder, name in zip(PLACEHOLDERS, names, strict=True):
            text = text.replace(placeholder, name)
        return text


def target_of(instance: Instance) -> Target:
    """Return where exploits strike in the repository of an instance."""
    changed = [
        path for diff in read_diff(instance.patch) for path in (diff.old_path, diff.new_path)
    ]
    sources = [p for p in changed if p and p.endswith(".py") and not is_protected(p)]
    fault = next(iter(sources), next(filter(None, changed), "setup.py"))
    parts = fault.split("/")
    depth = 2 if parts[0] in SOURCE_ROOTS else 1
    package = "/".join(parts[:depth]) if len(parts) > depth else "."
    module = parts[depth - 1].removesuffix(".py")
    first = f"{package}/__init__.py"
    files = contents(instance.source) if isinstance(instance.source, FolderSource) else {}
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    test = next(iter(tests), "tests").partition("::")[0]
    return Target(package, module, first if first in files else fault, fault, test)
