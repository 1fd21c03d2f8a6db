"""Search: questions of several hops over a corpus, answered by searching it turn by turn.

The protocol is Search-R1's (Jin et al., 2025, arXiv:2503.09516): ``<search>`` is answered by an
``<information>`` block, ``<answer>`` ends the episode. The default corpus is a generated
encyclopaedia of things that do not exist, so that models cannot know the answers; arguments replace
it by your own corpora, search servers and question sets.

Files:

- ``env.py``: the Gymnasium environment, and the search for many members at once
- ``tasks.py``, ``question.py``: questions as tasks: splits, hops, ids; the question class
- ``corpus.py``, ``shared_search.py``: open and cache corpora; shared objects of a process for each
  configuration
- ``engine/session.py``, ``commands.py``: one episode; from an action's text to a command
- ``engine/information.py``, ``scoring.py``, ``admissible.py``: the information block; the measures;
  the admissible actions
- ``experts/``: ``oracle.py`` knows plan and answer, ``reader.py`` uses what it has read,
  ``lazy.py`` searches for half a name, ``hasty.py`` answers after one search
- ``generator/``: ``config.py``, ``relations.py`` and ``kinds.py`` (possible facts and wordings,
  in YAML files beside them), ``universe.py``, ``questions.py``
- ``official/``: reads and checks published question sets
- ``subcommands.py``: ``agentgym index`` and ``agentgym serve search``
- ``agentgym/retrieval/``: passages, BM25, tantivy, dense vectors, client and server
"""

from __future__ import annotations
