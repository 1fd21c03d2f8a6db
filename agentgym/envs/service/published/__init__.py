"""The published tasks of tau-bench and tau2-bench, read as they are; nothing of them is bundled."""

from __future__ import annotations
