"""Search: questions of several hops over a corpus, answered by searching it turn by turn.

The protocol is Search-R1's (Jin et al., 2025, arXiv:2503.09516): ``<search>`` is answered by an
``<information>`` block, ``<answer>`` ends the episode. The default corpus is a generated
encyclopaedia of things that do not exist, so that no model knows an answer beforehand; corpora,
search servers and question sets of one's own take its place by an argument.

Files:

- ``env.py``: the Gymnasium environment, and the search for many members at once
- ``tasks.py``, ``question.py``: questions as tasks: splits, hops, ids; what a question is
- ``corpus.py``, ``shared_search.py``: corpora, opened and kept; what one process shares for a
  configuration
- ``engine/session.py``, ``commands.py``: one episode; from an action's text to a command
- ``engine/information.py``, ``scoring.py``, ``admissible.py``: the information block; the measures;
  what is on offer
- ``experts/``: ``oracle.py`` knows plan and answer, ``reader.py`` what it has read, ``lazy.py``
  searches for half a name, ``hasty.py`` answers after one search
- ``generator/``: ``config.py``, ``relations.py`` and ``kinds.py`` (what can be true, and how it is
  said), ``universe.py``, ``questions.py``
- ``official/``: question sets of others: found, read and checked
- ``subcommands.py``: ``agentgym index`` and ``agentgym serve search``
- ``agentgym/retrieval/``: passages, BM25, tantivy, dense vectors, client and server
"""

from __future__ import annotations
