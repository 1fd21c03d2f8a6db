"""Tables of the package: read as the types say, and refused where they say something else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from agentgym.errors import DataError
from agentgym.support.bundled_files import read_table


@dataclass(frozen=True)
class Fruit:
    name: str
    colours: tuple[str, ...] = ()


def test_a_table_stands_beside_its_module(tmp_path: Path) -> None:
    (tmp_path / "fruits.yaml").write_text("- {name: pear}\n- {name: plum, colours: [blue, red]}\n")
    fruits = (Fruit("pear"), Fruit("plum", ("blue", "red")))
    assert read_table(tuple[Fruit, ...], str(tmp_path / "fruits.py")) == fruits
    assert read_table(tuple[Fruit, ...], str(tmp_path / "shop.py"), "fruits.yaml") == fruits


def test_a_misspelt_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fruits.yaml").write_text("- {name: pear, colors: [green]}\n")
    with pytest.raises(DataError, match=r"fruits\.yaml.*'colors'"):
        read_table(tuple[Fruit, ...], str(tmp_path / "fruits.py"))
