"""AgentBench's hash of tables, by which it judges a change.

Source: AgentBench (Liu et al., 2023, arXiv 2308.03688), dbbench: of each row the first five digits
of the MD5 of its values between commas, those sorted and joined by commas, and the MD5 of that. It
is computed in MySQL there, whose GROUP_CONCAT ends after 1024 characters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from agentgym.envs.database.engine.tables import Row

_LONGEST = 1024


def table_hash(tables: Iterable[Iterable[Row]]) -> str:
    """Return the hash of tables.

    Args:
        tables: The rows of each.
    """
    return "_".join(sorted(map(_of_table, tables)))


def _of_table(rows: Iterable[Row]) -> str:
    joined = (",".join(str(cell) for cell in row if cell is not None) for row in rows)
    return _md5(",".join(sorted(_md5(text)[:5] for text in joined))[:_LONGEST])


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
