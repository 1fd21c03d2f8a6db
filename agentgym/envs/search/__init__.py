"""Search: questions of several hops over a corpus, answered by searching it turn by turn.

The protocol is Search-R1's (Jin et al., 2025, arXiv:2503.09516): ``<search>`` is answered by an
``<information>`` block, ``<answer>`` ends the episode. The default corpus is a generated
encyclopaedia of things that do not exist, so that no model knows an answer beforehand; corpora,
search servers and question sets of one's own take its place by an argument.
"""

from __future__ import annotations
