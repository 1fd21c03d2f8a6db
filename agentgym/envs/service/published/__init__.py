"""The published tasks of tau-bench, read from its files as they are; nothing of them is bundled."""

from __future__ import annotations
