from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from agentgym.support.flag_marks import Positional, Suppress
from agentgym.support.help_page import flag_rows, help_page


@dataclass(frozen=True)
class Optimizer:
    """How weights change. Not shown in a title."""

    beta: float = 0.5
    """Weight of ``KL``."""
    clip: bool | None = None
    """Clip the ratio. None: as the preset does. Never in the first step."""


@dataclass(frozen=True)
class Run:
    """Train a policy.

    Takes a while.
    """

    env: Positional[str]
    """Name of the environment."""
    engine: Literal["hf", "vllm"] | str | None = None
    """What generates. None: hf. It has to be installed."""
    price: tuple[float, float] | tuple[float, float, float] | None = None
    """Dollars."""
    held_out: bool = True
    """Ask questions."""
    json: bool = False
    """Print JSON."""
    out: Path | None = None
    """Folder. It is made where it is missing."""
    typed: Suppress[tuple[str, ...]] = ()
    """Not for people."""
    rl: Optimizer = field(default_factory=Optimizer)
    """Reinforcement learning."""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_rows_have_values_and_defaults_as_people_write_them():
    rows = {row.name: (row.value, row.default) for row in flag_rows(Run, {"--out": "runs/"})}
    assert rows == {
        "ENV": ("ENV", ""),
        "--engine": ("hf|vllm|TEXT", "hf"),
        "--price": ("FLOAT FLOAT [FLOAT]", ""),
        "--[no-]held-out": ("", "on"),
        "--json": ("", ""),
        "--out": ("PATH", "runs/"),
        "--rl.beta": ("FLOAT", "0.5"),
        "--rl.[no-]clip": ("", "as the preset does"),
    }


def test_a_short_page_has_the_flags_of_its_groups_and_their_first_sentences():
    page = help_page(Run, "agentgym run", groups={"size": ["--rl.beta", "--out"]})
    assert (
        page
        == """\
usage: agentgym run ENV [flags]

Train a policy.

Takes a while.

  ENV                     Name of the environment.

size:
  --rl.beta FLOAT         Weight of KL (default: 0.5)
  --out PATH              Folder.

agentgym run --help-all shows all 8 flags, each with its whole text.
"""
    )


def test_arguments_that_may_be_left_out_are_in_brackets():
    @dataclass(frozen=True)
    class List:
        """List."""

        names: Positional[tuple[str, ...]] = ()
        """Only these."""

    assert help_page(List, "agentgym list").startswith("usage: agentgym list [NAMES ...] [flags]")


def test_a_whole_page_has_every_flag_and_sentence():
    groups = {"size": ["--rl.beta", "--out"]}
    page = help_page(Run, "agentgym run", groups=groups, everything=True, ending="See also.")
    assert "Folder. It is made where it is missing." in page and page.endswith("\n\nSee also.\n")
    assert "further flags:\n  --engine hf|vllm|TEXT" in page and "--typed" not in page
    clip = "Clip the ratio. Never in the first step (default: as\n" + " " * 26 + "the preset does)"
    assert f"\nrl: How weights change:\n  --rl.[no-]clip          {clip}" in page
    assert "help-all" not in page
    assert max(map(len, page.splitlines())) <= 80


def test_a_group_of_a_flag_that_does_not_exist_is_a_mistake_of_the_program():
    with pytest.raises(KeyError, match="--size"):
        help_page(Run, "agentgym run", groups={"size": ["--size"]})
