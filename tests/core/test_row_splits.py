"""The one rule by which rows of data come into splits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.core.row_splits import SplitRow, by_split, deal, file_split, named_split


def dealt(count: int, *named: str) -> Counter[str]:
    return Counter(
        deal([*(SplitRow(f"q{n}", None) for n in range(count)), *(SplitRow(s, s) for s in named)])
    )


@pytest.mark.parametrize(
    ("count", "train", "valid", "test"),
    [(1, 0, 0, 1), (2, 1, 0, 1), (3, 1, 1, 1), (4, 2, 1, 1), (16, 12, 2, 2), (400, 300, 50, 50)],
)
def test_small_files_have_every_split_that_they_can(
    count: int, train: int, valid: int, test: int
) -> None:
    sizes = {"train": train, "valid": valid, "test": test}
    assert dealt(count) == {split: size for split, size in sizes.items() if size}


def test_a_split_that_rows_name_gets_no_others() -> None:
    assert dealt(9, "test") == {"train": 8, "valid": 1, "test": 1}
    assert dealt(9, "test", "valid") == {"train": 9, "valid": 1, "test": 1}
    assert dealt(1, "test") == {"train": 1, "test": 1}
    assert dealt(0, "train") == {"train": 1}


def test_rows_are_dealt_alike_everywhere() -> None:
    rows = [SplitRow(f"q{n}", None) for n in range(8)]
    # By sha256sum, q1 (c75d...) comes last and q2 (bee9...) before it.
    assert deal(rows) == ["train", "test", "valid", *["train"] * 5]
    assert deal(rows[::-1]) == deal(rows)[::-1]


@given(st.lists(st.tuples(st.text(max_size=2), st.sampled_from([None, "train", "test"]))))
def test_rows_of_one_content_never_part_unless_they_say_so(
    rows: list[tuple[str, str | None]],
) -> None:
    splits = deal([SplitRow(*row) for row in rows])
    assert all(split == named for (_, named), split in zip(rows, splits, strict=True) if named)
    homes: dict[str, set[str]] = {}
    for (content, _), split in zip(rows, splits, strict=True):
        homes.setdefault(content, set()).add(split)
    named = {content: {split for other, split in rows if other == content} for content in homes}
    assert all(len(homes[c]) == 1 or len(named[c] - {None}) > 1 for c in homes)
    grouped = by_split(range(len(rows)), [SplitRow(*row) for row in rows])
    assert sorted(n for group in grouped.values() for n in group) == list(range(len(rows)))
    assert all(grouped.values())


def test_names_of_splits() -> None:
    assert [named_split(name) for name in (None, "", "Dev", "test")] == [
        None,
        None,
        "valid",
        "test",
    ]
    for bad_input in ("dawn", 3, ["test"], True):
        with pytest.raises(ValueError, match="expected a split among train, valid, test, dev"):
            named_split(bad_input)
    files = ("train.jsonl", "x/dev.json", "standard.jsonl.gz", "mine.jsonl", "train")
    assert [file_split(Path(file)) for file in files] == ["train", "valid", "test", None, "train"]
