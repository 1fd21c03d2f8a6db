"""How papers evaluate, as data: one file for each, read by `load_protocol`.

`protocol_file` has the format of the files, `schema` what they say, `items` the names that papers
have for tasks, `setup` how an evaluation follows one, `prompts` their prompts alone.

To add one of these, touch these files:

- a protocol of a paper: a file in ``agentgym/evaluation/protocols/files/``, in our own words, with
  the known differences; its name in ``tests/evaluation/test_protocols.py``, its messages in
  ``tests/policies/chat/test_protocols.py``
- a prompt of a paper: the section ``[ENV.prompt]`` of its protocol, which ``--prompt`` also reads;
  a new field: ``agentgym/conversation/layout.py``, filled in ``prompt.py`` beside it
"""

from __future__ import annotations

from agentgym.evaluation.protocols.prompts import NamedPrompt, find_prompt
from agentgym.evaluation.protocols.protocol_file import bundled, load_protocol
from agentgym.evaluation.protocols.schema import Protocol, ProtocolFigure, ProtocolUse, Setup

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
