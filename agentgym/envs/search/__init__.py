"""Search: answer a question by several searches in a corpus.

The protocol is Search-R1's (Jin et al., 2025, arXiv:2503.09516): ``<search>`` is answered by an
``<information>`` block, ``<answer>`` ends the episode. ``gym.make("agentgym/Search-v0")`` runs on a
generated encyclopaedia; ``corpus=`` and ``questions=`` name files of one's own instead, and
``retriever_url=`` a server.
"""

from __future__ import annotations
