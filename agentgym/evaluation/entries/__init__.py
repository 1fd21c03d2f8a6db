"""Entries of a leaderboard: recomputed by replay, never believed.

An entry is the folder that ``agentgym eval --out`` writes. `verification` replays its episodes and
recomputes its figures, with `episode_check` for each record; `sealed_panel` commits to tasks that
are published later; `page` shows entries in one HTML file.

To add one of these, touch these files:

- a fact of a record or report that can be proven: its check in ``episode_check.py`` or
  ``verification.py``, a forgery of it in ``tests/evaluation/entries/forgeries.py``
"""

from __future__ import annotations

from agentgym.evaluation.entries.episode_check import EntryRefused
from agentgym.evaluation.entries.page import entries_page
from agentgym.evaluation.entries.sealed_panel import (
    OpenedPanel,
    SealedPanel,
    open_panel,
    seal_panel,
)
from agentgym.evaluation.entries.verification import (
    EntryVerdict,
    VerifiedEntry,
    verify_entries,
    verify_entry,
)

__all__ = [
    "EntryRefused",
    "EntryVerdict",
    "OpenedPanel",
    "SealedPanel",
    "VerifiedEntry",
    "entries_page",
    "open_panel",
    "seal_panel",
    "verify_entries",
    "verify_entry",
]
