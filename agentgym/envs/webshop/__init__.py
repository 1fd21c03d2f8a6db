"""WebShop: search a shop, compare products, choose options and buy what an instruction asks for.

It behaves step by step like the original (Yao et al., 2022, arXiv:2207.01206), but is a small state
machine without HTML, server or Java. ``gym.make("agentgym/WebShop-v0")`` runs on a generated shop;
``data=`` names a folder with the official files instead.

Files:

- ``env.py``, ``tasks.py``: the Gymnasium environment; goals as tasks: pools, disjoint splits, ids
- ``shared_shop.py``: validates the arguments that determine a shop; one shared shop per process
- ``engine/session.py``, ``commands.py``: the state machine of one visit; from an action's text to a
  command
- ``engine/pages.py``, ``compact.py``: the original's pages; the short ones
- ``engine/shop.py``, ``product_storage.py``: products and search, shared by all visits; their
  storage
- ``engine/products.py``, ``nouns.py``, ``goals.py``, ``reward.py``: what the original derives from
  its files, and the reward of a purchase
- ``experts/``: ``oracle.py`` knows the target, ``careful.py`` uses what a shopper can read,
  ``hasty.py`` never compares, ``hurried.py`` sometimes does, ``lazy.py`` omits a word of its query
- ``generator/``: ``config.py``, ``drafts.py`` (clusters as facts), ``listings.py`` and
  ``instructions.py`` (their texts), ``generated_shop.py``, ``writer.py``
- ``official/``: finds, reads and checks the official files
- ``browser/``: the shop in the browser: ``page_parts.py`` (pages as a browser shows them),
  ``visits.py`` and ``recorded_visits.py`` (tabs and their recordings), ``server.py``, the page in
  ``static/``
- ``subcommands.py``: ``agentgym serve webshop``
- ``agentgym/retrieval/bm25/``: BM25 and English analysis, as Lucene computes them
"""

from __future__ import annotations
