"""Experts: some write Python or use the calculator, one knows the answer, and one is lazy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.mathpython.experts.base import Expert
from agentgym.envs.mathpython.experts.calculating import CalculatingExpert
from agentgym.envs.mathpython.experts.lazy import LazyExpert
from agentgym.envs.mathpython.experts.oracle import OracleExpert
from agentgym.envs.mathpython.experts.programmer import ProgrammerExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "calculating": CalculatingExpert,
    "programmer": ProgrammerExpert,
    "oracle": OracleExpert,
    "lazy": LazyExpert,
}
"""Name of an expert -> its factory."""
FALLIBLE: Mapping[str, str] = {"lazy": "calculating"}
"""Fallible experts -> their counterparts that are always right."""
