"""Full-text retrieval shared by the environment families.

* :class:`~agentgym.retrieval.retriever.Retriever` is the interface of all engines.
* :class:`~agentgym.retrieval.passages.PassageStore` holds the passages of a corpus on disk.
* :class:`~agentgym.retrieval.bm25.BM25Index` builds, searches, saves and opens an index whose
  ranking is Lucene's; :class:`~agentgym.retrieval.bm25.BM25Retriever` is one over passages.
* :mod:`~agentgym.retrieval.index_builder` makes an index folder of a corpus
  (:class:`~agentgym.retrieval.corpora.corpus.Corpus`) and opens it, for one of three engines: BM25,
  :mod:`~agentgym.retrieval.tantivy` and :mod:`~agentgym.retrieval.dense`.
* :class:`~agentgym.retrieval.remote.client.HttpRetriever` is the client of a search server;
  :mod:`~agentgym.retrieval.remote.server` is the server.
* :func:`~agentgym.retrieval.bm25.analysis.tokenize` turns English text into index terms.

To add one of these, touch these files:

- a search engine: ``agentgym/retrieval/<engine>.py``; writing and opening its index in
  ``agentgym/retrieval/index_builder.py``
"""

from __future__ import annotations

from agentgym.retrieval.bm25 import BM25Index, BM25Retriever
from agentgym.retrieval.bm25.analysis import tokenize
from agentgym.retrieval.passages import PassageStore, PassageWriter, indexed_text
from agentgym.retrieval.retriever import Hit, Passage, Retriever

__all__ = [
    "BM25Index",
    "BM25Retriever",
    "Hit",
    "Passage",
    "PassageStore",
    "PassageWriter",
    "Retriever",
    "indexed_text",
    "tokenize",
]
