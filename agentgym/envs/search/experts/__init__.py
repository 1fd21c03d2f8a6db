"""Experts: one knows plan and answer, one has to read, and two read but search too little."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.search.experts.base import Expert
from agentgym.envs.search.experts.hasty import HastyExpert
from agentgym.envs.search.experts.lazy import LazyExpert
from agentgym.envs.search.experts.oracle import OracleExpert
from agentgym.envs.search.experts.reader import ReaderExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "reader": ReaderExpert,
    "oracle": OracleExpert,
    "lazy": LazyExpert,
    "hasty": HastyExpert,
}
"""Name of an expert -> what makes it."""
FALLIBLE: Mapping[str, str] = {"lazy": "reader", "hasty": "reader"}
"""Experts whose answers are not always right -> who answers alike and is."""
