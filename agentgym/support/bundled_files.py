"""Files of the package that are data: tables in YAML, and templates of files.

The first ``gym.make`` of WebShop, ALFWorld, TextWorld and Database, and ``import agentgym``, read
JSON by the standard library instead: YAML and the validator take .05 s of CPU time to import.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from agentgym.support.structured_files import read_structured
from agentgym.support.typed_json import read_json

Kind = TypeVar("Kind")


def read_table(kind: type[Kind], module: str, name: str = "") -> Kind:
    """Read a YAML file that stands beside a module, with every key known and every type checked.

    Args:
        kind: Type of the table: of dataclasses, tuples, lists and dicts.
        module: ``__file__`` of the module.
        name: Name of the file; empty: the module's own, with the ending ``.yaml``.

    Raises:
        DataError: The file does not hold such a table.
    """
    path = Path(module)
    file = path.with_name(name) if name else path.with_suffix(".yaml")
    return read_json(kind, read_structured(file, "a table"), file.name, closed=True)


def fill_templates(module: str, values: Mapping[str, object]) -> dict[str, str]:
    """Fill the templates in the folder ``templates.d`` beside a module.

    Args:
        module: ``__file__`` of the module.
        values: What stands for the names in braces.

    Returns:
        The texts by their paths, without the ending ``.in`` of the templates.
    """
    folder = Path(module).with_name("templates.d")
    return {
        file.relative_to(folder).as_posix().removesuffix(".in"): file.read_text("utf-8").format_map(
            values
        )
        for file in sorted(folder.rglob("*.in"))
    }
