"""Which tests need a box, and why one cannot be had where they are skipped."""

from __future__ import annotations

import pytest

from agentgym.sandbox.opening import AUTOMATIC, probe

REASONS = {name: probe(name) for name in AUTOMATIC}
needs_box = pytest.mark.skipif(
    all(REASONS.values()), reason="; ".join(f"{name}: {why}" for name, why in REASONS.items())
)
"""Skips where no back end that isolates can run."""
