"""Many texts in two arrays."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import DataError
from agentgym.retrieval import texts
from agentgym.retrieval.texts import PackedTexts

ANY_TEXTS = st.lists(st.text(st.characters(codec=None), max_size=8), max_size=12)


@settings(deadline=None)
@given(given_texts=ANY_TEXTS, chunk=st.integers(1, 5))
def test_texts_are_what_they_were(
    given_texts: list[str], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    packed = PackedTexts.pack(given_texts)
    packed.save(folder, "name")
    opened = PackedTexts.open(folder, "name")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_CHUNK", chunk)
        for stored in (packed, opened, pickle.loads(pickle.dumps(opened))):
            assert len(stored) == len(given_texts)
            assert (
                list(stored) == given_texts == [stored[i] for i in range(len(stored))] == stored[:]
            )
            assert stored[::-2] == given_texts[::-2]
            assert stored.nbytes == packed.nbytes


@given(stored=ANY_TEXTS, probes=ANY_TEXTS)
def test_sorted_texts_are_found(stored: list[str], probes: list[str]) -> None:
    order = sorted(set(stored))
    packed = PackedTexts.pack(order)
    for text in stored + probes:
        assert packed.find(text) == (order.index(text) if text in order else -1)


def test_positions_count_from_both_ends() -> None:
    packed = PackedTexts.pack(["a", "b"])
    assert packed[-1] == "b"
    for index in (2, -3):
        with pytest.raises(IndexError):
            packed[index]


@pytest.mark.parametrize("blob", [[1, 2], [[1], [2], [3]]])
@pytest.mark.parametrize("offsets", [[0, 2, 4], [1, 3], [], [[0, 3]]])
def test_files_that_do_not_fit_are_refused(
    blob: list[object], offsets: list[object], tmp_path: Path
) -> None:
    np.save(tmp_path / "name.npy", np.array(blob, np.uint8))
    np.save(tmp_path / "name_offsets.npy", np.array(offsets, np.int64))
    with pytest.raises(DataError, match=r"name_offsets\.npy.*make the folder again"):
        PackedTexts.open(tmp_path, "name")


def test_a_damaged_shape_is_named(tmp_path: Path) -> None:
    path = tmp_path / "name.npy"
    np.save(path, np.zeros(3))
    path.write_bytes(path.read_bytes().replace(b"(3,), }" + b" " * 30, b"(%d,), }" % 10**30))
    for mmap in (True, False):
        with pytest.raises(DataError, match="expected an array in"):
            texts.read_array(path, mmap=mmap)
