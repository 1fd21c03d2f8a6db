"""No page lies: tables are what the results make of them, and figures stand where they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.tables.__main__ import main
from benchmarks.tables.formats import RESULTS, markdown
from benchmarks.tables.origins import blocks as origins
from benchmarks.tables.origins import command_of
from benchmarks.tables.pages import PAGES, TABLES, named, rewrite_page
from tests.quoted import Block, Source, find_errors, read_sources, split_blocks
from tests.support.test_provenance import load
from tests.test_readme import ROOT

SOURCES = read_sources()


def blocks_of(page: str) -> list[Block]:
    return list(split_blocks((ROOT / page).read_text(), SOURCES.get(page, ())))


# Pages are not parameters: the fast selection would leave most of them out.


def test_every_table_is_what_the_results_make_of_it() -> None:
    """After a result has changed: ``python -m benchmarks.tables``."""
    texts = {page: (ROOT / page).read_text() for page in PAGES}
    stale = [page for page, text in texts.items() if rewrite_page(text) != text]
    assert not stale


def test_every_table_stands_on_a_page() -> None:
    assert {name for page in PAGES for name in named((ROOT / page).read_text())} == set(TABLES)


def test_every_quoted_figure_stands_where_it_says() -> None:
    errors = {
        f"{page}: {block.text[:60]}": block_errors
        for page in PAGES
        for block in blocks_of(page)
        if (block_errors := find_errors(block))
    }
    assert not errors


def test_every_entry_is_of_a_page() -> None:
    assert set(SOURCES) <= set(PAGES)


def test_every_block_with_decimals_or_units_has_a_result_or_says_why_not() -> None:
    bare = [
        f"{page}: {block.text[:60]}"
        for page in PAGES
        for block in blocks_of(page)
        if block.needs_source and block.source is None
    ]
    assert not bare


def test_a_named_file_is_also_named_for_people() -> None:
    """By its name or a link, on the same page; of figures that a linked table holds, there."""
    for page in PAGES:
        text = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text(), flags=re.DOTALL)
        linked = "../benchmarks/README.md" in text or "../benchmarks/reports/" in text
        for block in blocks_of(page):
            for name in block.source.files if block.source else ():
                assert name in text or linked, f"{page}, {block.heading}: nothing shows {name}"


# -- where results come from -----------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_result_names_its_commit_and_what_was_drawn(path: Path) -> None:
    content = json.loads(path.read_text())
    assert "" in origins(content), "it has an entry 'measured'"
    for measured in origins(content).values():
        assert re.fullmatch("[0-9a-f]{40}", measured["commit"])
        assert measured["uncommitted_changes"] is False
    figures = {key: value for key, value in content.items() if not key.endswith("measured")}
    origin = content["measured"]
    drawn = load().drawn(figures)
    assert all(origin[key] == value for key, value in drawn.items() if key in origin)
    if len(content.get("commits", ())) > 1:
        runs = [run for entry in content["runs"].values() for run in entry["runs"]]
        assert {run["commit"] for run in runs} == set(content["commits"])


def test_every_result_has_a_command() -> None:
    pattern = r"(python (-m )?benchmarks[./]\w|agentgym-train --)"
    for path in RESULTS.glob("*.json"):
        assert re.match(pattern, command_of(path.name)), path.name


# -- the check itself ------------------------------------------------------------------------------


def test_a_wrong_number_in_a_table_is_found_and_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "README.md").read_text()
    row = markdown(TABLES["families"]()).splitlines()[-1]
    assert row in page
    (tmp_path / "README.md").write_text(page.replace(row, row.replace(".", ".9", 1)))
    for name, value in (("ROOT", tmp_path), ("PAGES", ("README.md",))):
        monkeypatch.setattr(f"benchmarks.tables.__main__.{name}", value)
    assert main(["--check"]) == 1 and "README.md: out of date" in capsys.readouterr().out
    assert main([]) == 0
    assert (tmp_path / "README.md").read_text() == page
    assert main(["--check"]) == 0
    (tmp_path / "README.md").write_text("<!-- table: nothing -->\n")
    assert main([]) == 2 and "got 'nothing'" in capsys.readouterr().err


STORED = {
    "a": {"share": 0.4257, "seconds": 0.33061, "gain": -0.0391, "n": 500},
    "seeds": [{"up": 0.072}, {"up": 0.194}, {"up": 0.074}],
}


def check(tmp_path: Path, page: str, **entry: object) -> list[str]:
    (tmp_path / "x.json").write_text(json.dumps(STORED))
    (tmp_path / "y.json").write_text('{"m": 20}')
    sources = [Source(block=page, **entry)] if entry else []  # type: ignore[arg-type]
    return [
        error for block in split_blocks(page, sources) for error in find_errors(block, tmp_path)
    ]


@pytest.mark.parametrize(
    ("figures", "text", "errors"),
    [
        ({".426": "a.share"}, "success .426", []),
        ({".427": "a.share"}, "success .427", [".427 is 0.4257"]),
        ({".331": "a.share"}, "success .331", [".331 is 0.4257"]),  # though it is in the file
        ({".426": "a.share"}, "success .426 and .331", [".331 is bound to nothing"]),
        ({".426": "a.share"}, "success", [".426 is not quoted"]),
        ({"43 %": "a.share", "331 ms": "a.seconds"}, "43 %, 331 ms, 95 %", []),
        ({"-.039": "a.gain"}, "[-.039]", []),
        ({".039": "a.gain"}, ".039", [".039 is -0.0391"]),
        ({".039": "0 - a.gain"}, ".039", []),
        (
            {"0.77": "a.seconds / a.share"},
            "0.78",
            ["0.78 is bound to nothing", "0.77 is not quoted"],
        ),
        ({".194": "max seeds.*.up", "3": "count seeds.*.up"}, ".194 of 3", []),
        (
            {".113": "mean seeds.*.up", "-.060": "low seeds.*.up", ".287": "high seeds.*.up"},
            ".113 [-.060, .287]",
            [],
        ),
        ({"20": "y.json#m"}, "20 of 4,096", []),
        ({"500": "a.n"}, "`.9`, [see](page-0.7.md), Python 3.11, 500", []),
    ],
)
def test_a_figure_is_compared_with_the_number_it_is_bound_to(
    tmp_path: Path, figures: dict[str, str], text: str, errors: list[str]
) -> None:
    entry = {"file": "x.json", "figures": figures, "given": "60 4,096"}
    assert check(tmp_path, text, **entry) == errors
    assert check(tmp_path, text) == [], "without an entry nothing is compared"


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a path"):
        check(tmp_path, ".426", file="x.json", figures={".426": "a + b + c"})
    with pytest.raises(KeyError):
        check(tmp_path, ".426", file="x.json", figures={".426": "a.nothing"})
    for entry in ({}, {"file": "x.json"}, {"file": "x.json", "figures": {"1": "a"}, "reason": "b"}):
        with pytest.raises(ValueError, match="expected either 'file' and 'figures' or 'reason'"):
            Source("success", **entry)  # type: ignore[arg-type]
    (tmp_path / "quoted.toml").write_text('[["README.md"]]\nblock = "a"\nreasons = "b"\n')
    with pytest.raises(TypeError, match="reasons"):
        read_sources(tmp_path / "quoted.toml")


def test_an_entry_finds_its_block_by_a_phrase() -> None:
    page = "# Title\nSuccess rises\nto .426.\n\nSuccess falls to .331.\n- It is\n  listed.\n"
    source = Source("rises to", reason="settings")
    first, second = split_blocks(page, [source])
    assert (first.heading, first.source, second.source) == ("Title", source, None)
    for phrase, count in (("Success", 2), ("remains", 0)):
        with pytest.raises(ValueError, match=f"expected one block with '{phrase}', got {count}"):
            list(split_blocks(page, [Source(phrase, reason="settings")]))
    with pytest.raises(ValueError, match="'It is listed' and 'falls' are in the same block"):
        list(split_blocks(page, [Source(s, reason="settings") for s in ("falls", "It is listed")]))


def test_what_may_be_a_result_needs_a_source() -> None:
    for text in ("| a |\n|---|\n| .5 |", "It takes 3 minutes.", "By .5 at most."):
        (block,) = split_blocks(text)
        assert block.needs_source and block.source is None
    for text in (
        "| `0.5`, version 1.2.3, 3,000 |",
        "arXiv 2509.08755, Python 3.10 to 3.13, 95 %",
        "<!-- table: gains -->\n| a |\n|---|\n| .5 |",
    ):
        (block,) = split_blocks(text)
        assert not block.needs_source
