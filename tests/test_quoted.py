"""Every figure of the pages stands in the result file that its block names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.quoted import RESULTS, Block, blocks, unfounded
from tests.support.test_provenance import load
from tests.test_readme import ROOT

PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "*/README.md", "agentgym/envs/*/README.md")
    for page in ROOT.glob(pattern)
)
DRAWN = ("seeds", "n", "panel")
MADE = "Where each result comes from"
"""Heading of the table of result files in benchmarks/README.md."""


def of(page: str) -> list[Block]:
    return list(blocks((ROOT / page).read_text()))


@pytest.mark.parametrize("page", PAGES)
def test_every_quoted_figure_stands_in_its_file(page: str) -> None:
    wrong = {block.text[:60]: unfounded(block) for block in of(page)}
    assert not {start: found for start, found in wrong.items() if found}


@pytest.mark.parametrize("page", PAGES)
def test_every_table_with_decimals_names_its_file_or_says_why_not(page: str) -> None:
    bare = [block for block in of(page) if block.needs_marker and block.marker is None]
    assert not bare


@pytest.mark.parametrize("page", PAGES)
def test_a_named_file_is_also_named_for_people(page: str) -> None:
    """By its name or a link, in the same section."""
    found = of(page)
    for block in found:
        section = " ".join(other.text for other in found if other.heading == block.heading)
        for name in block.marker.files if block.marker else ():
            assert name in section, f"{page}, {block.heading}: nothing shows {name}"


def made() -> dict[str, dict[str, str]]:
    """Read the table of result files: name -> column -> text."""
    table = next(b for b in of("benchmarks/README.md") if b.heading == MADE and b.text[0] == "|")
    lines = [line.strip()[1:-1].split("|") for line in table.text.splitlines()]
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {row[0].strip("`"): dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_table_of_results_is_complete_and_says_what_the_files_say() -> None:
    table, provenance = made(), load()
    assert list(table) == sorted(path.name for path in RESULTS.glob("*.json"))
    for name, row in table.items():
        result = json.loads((RESULTS / name).read_text())
        assert re.match(r"`python (-m )?benchmarks[./]\w", row["command"]), name
        said = result.pop("measured")
        drawn = provenance.drawn(result)
        held = {key: ", ".join(str(value)[:8] for value in drawn.get(key, ())) for key in DRAWN}
        said = {"commit": "", **said}
        held["commit"] = said["commit"][:7]
        held["command"] = f"`{said['command']}`" if "command" in said else row["command"]
        assert row == held, name


def check(tmp_path: Path, page: str, result: object = None) -> list[str]:
    stored = {"a": {"share": 0.4257, "seconds": 0.33061, "gain": -0.0391}, "n": 500}
    (tmp_path / "x.json").write_text(json.dumps(result or stored))
    return [number for block in blocks(page) for number in unfounded(block, tmp_path)]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("success .426 of 500", []),
        ("success .427 of 500", [".427"]),
        ("43 %, 0.33 s, 331 ms, 95 %", []),
        ("42 %, 0.34 s, 332 ms", ["42 %", "0.34 s", "332 ms"]),
        ("[-.039] or [.039]", [".039"]),
        ("+.426 and -.426", ["-.426"]),
        ("`.9`, [see](page-0.7.md), commit a8a525a, Python 3.11.7", []),
        ("**.4**, n = 501", ["501"]),
    ],
)
def test_a_number_that_is_not_in_the_file_is_found(
    tmp_path: Path, text: str, wrong: list[str]
) -> None:
    assert check(tmp_path, f"<!-- figures: x.json -->\n{text}") == wrong
    assert check(tmp_path, text) == [], "without a marker nothing is compared"


def test_a_block_that_introduces_a_table_takes_it_along(tmp_path: Path) -> None:
    page = "# Head\n<!-- figures: x.json -->\nOf 500:\n\n| a |\n|---|\n| .9 |\n\nand .8\n"
    assert check(tmp_path, page) == [".9"]


def test_rounded_integers_given_and_computed_numbers(tmp_path: Path) -> None:
    stored = {"hf": {"seconds": 3.0, "steps": 25_683}, "vllm": {"seconds": 4.5}}
    page = "<!-- figures: x.json{}\n given: 4,096\n computed: {} -->\n{}"
    assert check(tmp_path, page.format("", "vllm.seconds / hf.seconds", "1.50"), stored) == []
    assert check(tmp_path, page.format("", "vllm.seconds - hf.seconds", "1.6"), stored) == ["1.6"]
    assert check(tmp_path, page.format("#hf", "", "25,700 of 4,096, 4.5"), stored) == ["4.5"]
    assert check(tmp_path, page.format("", "", "25,600, 30,000"), stored) == ["25,600", "30,000"]
    with pytest.raises(ValueError, match="expected two paths"):
        check(tmp_path, page.format("", "seconds twice", "1"), stored)


def test_a_table_with_decimals_needs_a_marker_and_a_reason_will_do() -> None:
    table = "| a |\n|---|\n| .5 |"
    reasoned = f"<!-- no result file: arguments -->\n{table}"
    (bare,) = blocks(table)
    (declared,) = blocks(reasoned)
    assert bare.needs_marker and bare.marker is None
    assert declared.marker is not None and declared.marker.reason == "arguments"
    (plain,) = blocks("| a |\n|---|\n| `0.5`, version 1.2.3, 3,000 |")
    assert not plain.needs_marker
