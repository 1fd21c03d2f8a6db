"""Which tests need a box, and why one cannot be had where they are skipped."""

from __future__ import annotations

import pytest

from agentgym.sandbox.registry import AUTOMATIC, probe

REASONS = {name: probe(name) for name in AUTOMATIC}
NO_BOX = (
    "; ".join(f"{name}: {why}" for name, why in REASONS.items()) if all(REASONS.values()) else ""
)
"""Why no back end that isolates can run here; empty if one can."""
needs_box = pytest.mark.skipif(bool(NO_BOX), reason=NO_BOX)
"""Skips where none can."""
