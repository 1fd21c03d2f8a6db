"""Compact storage: JSON records behind an offset table, in memory or mapped from a file.

100,000 products as Python objects take more than a gigabyte in every process; as records in a
mapped file they share the page cache, and only those in use are parsed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.products import Product
from agentgym.errors import DataError
from agentgym.retrieval.texts import read_array
from agentgym.support.caching import BoundedCache, cache_folder, check_folder, save_folder

VERSION = 3
"""Raise it when the storage format, or anything that determines the content, changes."""
CACHED_PRODUCTS = 4096
CACHED_GOALS = 8192

_log = logging.getLogger(__name__)


class PackedRecords:
    """Immutable JSON records behind an offset table.

    Args:
        blob: All records, end to end.
        offsets: Start of each record, and the end of the last one [records + 1].
    """

    def __init__(self, blob: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self._blob = blob
        self._offsets = offsets

    @classmethod
    def pack(cls, values: Iterable[Any]) -> PackedRecords:
        """Serialise JSON values one by one."""
        blob = bytearray()
        offsets = [0]
        for value in values:
            blob += json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
            offsets.append(len(blob))
        return cls(np.frombuffer(bytes(blob), np.uint8), np.array(offsets, np.int64))

    def save(self, folder: Path, name: str) -> None:
        """Write two ``.npy`` files."""
        np.save(folder / f"{name}.npy", self._blob, allow_pickle=False)
        np.save(folder / f"{name}_offsets.npy", self._offsets, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, name: str) -> PackedRecords:
        """Map what :meth:`save` wrote.

        Raises:
            DataError: The files are missing or damaged.
        """
        blob = typed_array(folder / f"{name}.npy", np.uint8, (None,))
        offsets = typed_array(folder / f"{name}_offsets.npy", np.int64, (None,))
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(blob):
            raise DataError(
                f"expected offsets from 0 to {len(blob)} in {folder / name}_offsets.npy, got "
                f"{offsets[:1].tolist()} to {offsets[-1:].tolist()}; remove the folder to rebuild "
                "it"
            )
        return cls(blob, offsets)

    def __len__(self) -> int:
        """Number of records."""
        return len(self._offsets) - 1

    def load(self, index: int) -> Any:
        """Parse one record."""
        first, last = self._offsets[index : index + 2].tolist()
        return json.loads(self._blob[first:last].tobytes())


class ProductTable(Mapping[str, Product]):
    """The products of a shop by asin, in the order of the data; parsed on demand.

    Raises:
        DataError: The numbers of asins and records differ.
    """

    def __init__(self, records: PackedRecords, asins: Sequence[str]) -> None:
        if len(records) != len(asins):
            raise DataError(
                f"expected one record for each of {len(asins)} products, got {len(records)}; build "
                "the shop again"
            )
        self.records = records
        self.asins = asins
        self._rows = {asin: row for row, asin in enumerate(asins)}
        self._parsed: BoundedCache[str, Product] = BoundedCache(CACHED_PRODUCTS)

    def __len__(self) -> int:
        """Number of products."""
        return len(self.asins)

    def __iter__(self) -> Iterator[str]:
        """Yield the asins."""
        return iter(self.asins)

    def __contains__(self, asin: object) -> bool:
        """Return whether a product has this asin."""
        return asin in self._rows

    def __getitem__(self, asin: str) -> Product:
        """Return the product with this asin."""
        product = self._parsed.get(asin)
        if product is None:
            record = self.records.load(self._rows[asin])
            product = self._parsed.put(asin, Product.from_record(record))
        return product

    def row(self, asin: str) -> int:
        """Return the position of the product with this asin."""
        return self._rows[asin]


class StoredGoals(Sequence[ShopGoal]):
    """Goals stored without the data of their products; completed on demand."""

    def __init__(self, records: PackedRecords, products: ProductTable) -> None:
        self.records = records
        self._products = products
        self._parsed: BoundedCache[int, ShopGoal] = BoundedCache(CACHED_GOALS)

    @classmethod
    def pack(cls, goals: Iterable[ShopGoal], products: ProductTable) -> StoredGoals:
        """Store goals one by one."""

        def values(goal: ShopGoal) -> list[Any]:
            return [products.row(goal.asin), goal.instruction_text, goal.attributes,
                    goal.goal_options, goal.price_upper, goal.weight]  # fmt: skip

        return cls(PackedRecords.pack(map(values, goals)), products)

    def __len__(self) -> int:
        """Number of goals."""
        return len(self.records)

    @overload
    def __getitem__(self, index: int) -> ShopGoal: ...
    @overload
    def __getitem__(self, index: slice) -> list[ShopGoal]: ...
    def __getitem__(self, index: int | slice) -> ShopGoal | list[ShopGoal]:
        """Return one goal, or a list for a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        goal = self._parsed.get(index)
        if goal is None:
            goal = self._parsed.put(index, self._load(range(len(self))[index]))
        return goal

    def _load(self, position: int) -> ShopGoal:
        row, text, attributes, options, bound, weight = self.records.load(position)
        item = self._products[self._products.asins[row]]
        return ShopGoal(
            item.asin, item.title, item.category, item.query, item.product_category, text,
            tuple(attributes), options if isinstance(options, dict) else tuple(options),
            bound, weight,
        )  # fmt: skip


def typed_array(
    path: Path, dtype: npt.DTypeLike, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """Map an array of a known type and shape; None in the shape allows any length.

    Raises:
        DataError: The file is missing or damaged, or contains another kind of array.
    """
    array = read_array(path)
    fits = len(array.shape) == len(shape) and all(
        expected in (None, size) for expected, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        raise DataError(
            f"expected an array of {np.dtype(dtype)} and shape {shape} in {path}, got one of "
            f"{array.dtype} and {array.shape}; make its folder again"
        )
    return array


class Storable(Protocol):
    """An object that can be written to a folder and mapped from it."""

    def save(self, folder: Path) -> None:
        """Write to a folder."""

    @classmethod
    def open(cls: type[Kept], folder: Path) -> Kept:
        """Map what :meth:`save` wrote; raises DataError if it is damaged."""


Kept = TypeVar("Kept", bound=Storable)


def open_or_build(kind: type[Kept], key: object, build: Callable[[], Kept]) -> Kept:
    """Open the cached object of a JSON key, or build and store it.

    A cached object is used only if the size and SHA-256 of every file match; otherwise it is
    rebuilt. Without a writable cache the result stays in memory.
    """
    text = json.dumps([VERSION, key], sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    folder = cache_folder() / "webshop" / name
    stored = _open_table(kind, folder)
    if stored is not None:
        return stored
    built = build()
    # The stored folder may be another process's, or a damaged one that stays because the disk is
    # read-only: it is checked like any other.
    return (_open_table(kind, folder) if save_folder(folder, built.save) else None) or built


def _open_table(kind: type[Kept], folder: Path) -> Kept | None:
    """Open the data stored in a folder; remove the folder if it is damaged."""
    if not os.path.isdir(folder):  # Path.is_dir raises where a parent cannot be read
        return None
    try:
        check_folder(folder)
        return kind.open(folder)
    except DataError as error:
        _log.warning("building the shop again: %s", error)
        shutil.rmtree(folder, ignore_errors=True)
        return None
