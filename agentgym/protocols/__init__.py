"""How papers evaluate, as data: one file for each, read by `load_protocol`.

`protocol_file` documents the format of the files, `schema` contains their data classes, `items` the
names of tasks in papers, and `prompts` only their prompts. `agentgym.evaluation.protocol_terms`
applies a protocol to an evaluation.

To add one of these, touch these files:

- a protocol of a paper: a file in ``agentgym/protocols/files/``, in our own words, with the known
  differences; its name in ``tests/protocols/test_protocols.py``, its messages in
  ``tests/policies/chat/test_protocols.py``
- a prompt of a paper: the section ``[ENV.prompt]`` of its protocol, which ``--prompt`` also reads;
  a new field: ``agentgym/conversation/layout.py``, filled in ``prompt.py`` beside it
"""

from __future__ import annotations

from agentgym.protocols.prompts import NamedPrompt, find_prompt
from agentgym.protocols.protocol_file import bundled, load_protocol
from agentgym.protocols.schema import Protocol, ProtocolFigure, ProtocolUse, Setup

__all__ = [
    "NamedPrompt",
    "Protocol",
    "ProtocolFigure",
    "ProtocolUse",
    "Setup",
    "bundled",
    "find_prompt",
    "load_protocol",
]
