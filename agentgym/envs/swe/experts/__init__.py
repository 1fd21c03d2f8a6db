"""Experts: the oracle applies the reference solution; the developer also runs tests and looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.swe.experts.base import Expert
from agentgym.envs.swe.experts.developer import DeveloperExpert
from agentgym.envs.swe.experts.oracle import OracleExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "oracle": OracleExpert,
    "developer": DeveloperExpert,
}
"""Name of an expert -> its factory."""
