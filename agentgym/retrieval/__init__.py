"""Full-text retrieval shared by the environment families: one BM25 index, equal to Lucene's.

* :class:`~agentgym.retrieval.bm25.BM25Index` builds, searches, saves and opens an index.
* :func:`~agentgym.retrieval.analysis.tokenize` turns English text into index terms.
"""

from __future__ import annotations

from agentgym.retrieval.analysis import tokenize
from agentgym.retrieval.bm25 import BM25Index

__all__ = ["BM25Index", "tokenize"]
