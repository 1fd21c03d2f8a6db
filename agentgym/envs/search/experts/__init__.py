"""Experts: the one that knows plan and answer, and the one that has to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from agentgym.envs.search.experts.base import Expert
from agentgym.envs.search.experts.oracle import OracleExpert
from agentgym.envs.search.experts.reader import ReaderExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "reader": ReaderExpert,
    "thinking": partial(ReaderExpert, thinks=True),
    "oracle": OracleExpert,
}
"""Name of an expert -> what makes it. ``thinking`` reads, too, and quotes what it goes on from."""
