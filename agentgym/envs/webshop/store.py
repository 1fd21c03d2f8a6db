"""Compact storage: JSON records behind an offset table, in memory or mapped from a file.

100,000 products as Python objects take more than a gigabyte in every process; as records in a
mapped file they take the page cache once, and only those in use are parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from agentgym.caching import BoundedCache
from agentgym.envs.webshop.engine.goals import Goal
from agentgym.envs.webshop.engine.products import Product
from agentgym.errors import DataError
from agentgym.retrieval.bm25 import read_array

Value = TypeVar("Value")

CACHED_PRODUCTS = 4096
CACHED_GOALS = 8192


class Records:
    """Immutable byte strings behind an offset table.

    Args:
        blob: All records, end to end.
        offsets: Start of each record, and the end of the last one [records + 1].
    """

    def __init__(self, blob: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self._blob = blob
        self._offsets = offsets

    @classmethod
    def pack(cls, values: Iterable[Any]) -> Records:
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
    def open(cls, folder: Path, name: str) -> Records:
        """Map what :meth:`save` wrote.

        Raises:
            DataError: The files are missing or damaged.
        """
        blob = typed_array(folder / f"{name}.npy", np.uint8, (None,))
        offsets = typed_array(folder / f"{name}_offsets.npy", np.int64, (None,))
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(blob):
            raise DataError(
                f"expected offsets from 0 to {len(blob)} in {folder / name}_offsets.npy, got "
                f"{offsets[:1].tolist()} to {offsets[-1:].tolist()}; remove the folder, it will be "
                "made again"
            )
        return cls(blob, offsets)

    def __len__(self) -> int:
        """Number of records."""
        return len(self._offsets) - 1

    def load(self, index: int) -> Any:
        """Parse one record."""
        first, last = self._offsets[index : index + 2].tolist()
        return json.loads(self._blob[first:last].tobytes())


def typed_array(
    path: Path, dtype: npt.DTypeLike, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """Map an array of a known kind.

    Args:
        path: The ``.npy`` file.
        dtype: Type of its elements.
        shape: Its dimensions; None is any length.

    Returns:
        The array, read-only.

    Raises:
        DataError: The file is missing, damaged or holds another kind of array.
    """
    found = read_array(path)
    fits = len(found.shape) == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
    )
    if found.dtype != dtype or not fits:
        raise DataError(
            f"expected an array of {np.dtype(dtype)} and shape {shape} in {path}, got one of "
            f"{found.dtype} and {found.shape}; make its folder again"
        )
    return found


class Lazy(Sequence[Value], Generic[Value]):
    """A sequence whose items are parsed from records when they are asked for.

    Args:
        records: The stored items.
        parse: Makes an item of a JSON value.
        capacity: Most items to keep parsed.
    """

    def __init__(self, records: Records, parse: Callable[[Any], Value], capacity: int) -> None:
        self.records = records
        self._parse = parse
        self._cache: BoundedCache[int, Value] = BoundedCache(capacity)

    @overload
    def __getitem__(self, index: int) -> Value: ...

    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...

    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        """Return one item, or a list for a slice."""
        found = self._cache.get(index) if isinstance(index, int) else None
        if found is not None:
            return found
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        return self._cache.put(int(index), self._parse(self.records.load(row)))

    def __len__(self) -> int:
        """Number of items."""
        return len(self.records)


class Products:
    """The products of a shop, by position and by asin.

    Args:
        records: Product records.
        asins: Their asins, in the same order.

    Raises:
        DataError: There are more or fewer of them.
    """

    def __init__(self, records: Records, asins: Sequence[str]) -> None:
        if len(records) != len(asins):
            raise DataError(
                f"expected one record for each of {len(asins)} products, got {len(records)}; build "
                "the shop again"
            )
        self.asins = asins
        self.items: Lazy[Product] = Lazy(records, Product.from_record, CACHED_PRODUCTS)
        self._rows = {asin: row for row, asin in enumerate(asins)}
        self._cache: BoundedCache[str, Product] = BoundedCache(CACHED_PRODUCTS)

    def __len__(self) -> int:
        """Number of products."""
        return len(self.asins)

    def __contains__(self, asin: object) -> bool:
        """Return whether a product has this asin."""
        return asin in self._rows

    def __getitem__(self, asin: str) -> Product:
        """Return the product with this asin.

        Raises:
            KeyError: There is none.
        """
        found = self._cache.get(asin)
        if found is None:
            record = self.items.records.load(self.row(asin))
            found = self._cache.put(asin, Product.from_record(record))
        return found

    def row(self, asin: str) -> int:
        """Return the position of the product with this asin."""
        return self._rows[asin]


def pack_goals(goals: Iterable[Goal], rows: Callable[[str], int]) -> Records:
    """Store goals without what their products already say."""

    def values(goal: Goal) -> list[Any]:
        return [rows(goal.asin), goal.instruction_text, goal.attributes, goal.goal_options,
                goal.price_upper, goal.weight]  # fmt: skip

    return Records.pack(map(values, goals))


class GoalParser:
    """Completes a stored goal with what its product says.

    Args:
        products: The products that goals refer to by position.
    """

    def __init__(self, products: Products) -> None:
        self._products = products

    def __call__(self, record: list[Any]) -> Goal:
        """Rebuild the goal that :func:`pack_goals` stored."""
        row, text, attributes, options, bound, weight = record
        item = self._products[self._products.asins[row]]
        return Goal(
            item.asin, item.title, item.category, item.query, item.product_category, text,
            tuple(attributes), options if isinstance(options, dict) else tuple(options),
            bound, weight,
        )  # fmt: skip


def open_goals(records: Records, products: Products) -> Lazy[Goal]:
    """Return stored goals as a sequence."""
    return Lazy(records, GoalParser(products), CACHED_GOALS)
