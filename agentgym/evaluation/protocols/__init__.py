"""How papers evaluate, as data: one file for each, read by `load_protocol`.

`reading` has the format of the files, `schema` what they say, `items` the names that papers have
for tasks, `applying` how an evaluation follows one.
"""

from __future__ import annotations

from agentgym.evaluation.protocols.reader import bundled, load_protocol
from agentgym.evaluation.protocols.schema import Protocol, ProtocolFigure, ProtocolUse, Setup

__all__ = ["Protocol", "ProtocolFigure", "ProtocolUse", "Setup", "bundled", "load_protocol"]
