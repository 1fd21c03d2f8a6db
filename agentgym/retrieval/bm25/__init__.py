"""BM25 whose ranking is Lucene's: text analysis, formulas, the index, and exact pruning."""

from __future__ import annotations

from agentgym.retrieval.bm25.index import BM25Index, BM25Retriever

__all__ = ["BM25Index", "BM25Retriever"]
