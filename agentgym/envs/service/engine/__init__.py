"""The database, the customer and the rules of an episode."""

from __future__ import annotations
