"""The kinds of tasks that are more than one token: each proposes changes of a sound library."""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource, Propose
from agentgym.envs.swe.making.kinds.changed_interface import changed_interface
from agentgym.envs.swe.making.kinds.missing_validation import missing_validation
from agentgym.envs.swe.making.kinds.moved_function import moved_function
from agentgym.envs.swe.making.kinds.one_token import one_token
from agentgym.envs.swe.making.kinds.regression import regression
from agentgym.envs.swe.making.kinds.removed_feature import removed_feature
from agentgym.envs.swe.making.kinds.two_faults import two_faults

KINDS: Mapping[str, Propose] = {
    "mutation": one_token,
    "two-faults": two_faults,
    "removed-feature": removed_feature,
    "changed-interface": changed_interface,
    "moved-function": moved_function,
    "missing-validation": missing_validation,
    "regression": regression,
}
"""Name of a kind of task -> the function that proposes candidates."""
LARGER = tuple(name for name in KINDS if name not in ("mutation", "regression"))
"""Kinds that are more than one token, and need nothing but a library."""

__all__ = ["KINDS", "LARGER", "Candidate", "LibrarySource", "Propose"]
