"""Search: questions of several hops over a corpus, answered by searching it turn by turn.

The default corpus is a generated encyclopaedia of things that do not exist, so that no model knows
an answer beforehand; corpora and question sets of one's own take its place by an argument.
"""

from __future__ import annotations
