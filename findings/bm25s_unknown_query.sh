#!/usr/bin/env bash
# Package: bm25s 0.3.16
# Behaviour: a query of which no word is in the index has results all the same, as many as were
#   asked for: the last documents of the corpus, with scores of 0. Nothing else tells them from
#   passages that were found, so an agent that searched in vain is shown evidence.
# Seen: for "zzzz" and k=2 over four documents, documents 3 and 2 (in some order), scores 0.0 0.0.
# What to do: drop results with a score of 0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "bm25s==0.3.16"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import bm25s

print("bm25s", version("bm25s"))
corpus = ["the red shoe", "a blue hat", "green gloves of wool", "a yellow scarf"]
retriever = bm25s.BM25()
retriever.index(bm25s.tokenize(corpus, show_progress=False), show_progress=False)
query = bm25s.tokenize("zzzz", show_progress=False)
documents, scores = retriever.retrieve(query, k=2, show_progress=False)
print("documents", documents.tolist(), "scores", scores.tolist())
assert sorted(documents[0].tolist()) == [2, 3], "other documents come now"
assert scores[0].tolist() == [0.0, 0.0], "their scores are others now"
PYTHON
