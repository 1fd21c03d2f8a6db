"""Experts: the one that knows plan and answer, and the one that has to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.search.experts.base import Expert
from agentgym.envs.search.experts.oracle import OracleExpert
from agentgym.envs.search.experts.reader import ReaderExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "reader": ReaderExpert,
    "oracle": OracleExpert,
}
"""Name of an expert -> what makes it."""
