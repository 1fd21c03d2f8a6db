"""AgentBench's hash of tables, by which it judges a change.

Source: AgentBench (Liu et al., 2023, arXiv 2308.03688), dbbench: take the first five digits of the
MD5 of each row's comma-separated values, sort these and join them by commas, and take the MD5 of
the result. AgentBench computes it in MySQL, where GROUP_CONCAT truncates after 1024 characters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from agentgym.envs.database.engine.tables import Row

_LONGEST = 1024


def table_hash(tables: Iterable[Iterable[Row]]) -> str:
    """Return the hash of tables.

    Args:
        tables: The rows of each table.
    """
    return "_".join(sorted(map(_of_table, tables)))


def _of_table(rows: Iterable[Row]) -> str:
    joined = (",".join(str(cell) for cell in row if cell is not None) for row in rows)
    return _md5(",".join(sorted(_md5(text)[:5] for text in joined))[:_LONGEST])


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
