#!/usr/bin/env bash
# Package: usearch 2.26.6
# Behaviour: an Index without `dtype` keeps float32 vectors as bf16, so even an exact search compares
#   rounded vectors.
# Seen: usearch says bf16; a vector read back is off by up to 0.4 %, and of 200 queries a few have
#   another set of ten nearest than numpy's. With dtype="f32" nothing is off and all sets are equal.
# What to do: pass dtype="f32", or "f16" if that is precise enough, which is finer than bf16.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "usearch==2.26.6" numpy
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import usearch
from usearch.index import Index

print("usearch", usearch.__version__)
rng = np.random.default_rng(0)
vectors = rng.standard_normal((2000, 64)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
queries = vectors[:200] + 0.1 * rng.standard_normal((200, 64)).astype(np.float32)
right = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
seen = {}
for dtype in (None, "f32"):
    index = Index(ndim=64, metric="ip", **({} if dtype is None else {"dtype": dtype}))
    index.add(np.arange(len(vectors)), vectors)
    keys = index.search(queries, 10, exact=True).keys
    other = sum(set(a) != set(b) for a, b in zip(keys.tolist(), right.tolist()))
    kept = np.asarray(index.get(np.arange(len(vectors)), dtype=np.float32))
    off = float(np.abs(kept - vectors).max() / np.abs(vectors).max())
    seen[dtype] = (str(index.dtype), other, off)
    print("dtype", dtype, "stored as", index.dtype, "other sets:", other, "of 200, largest error:", f"{off:.1e}")
assert "BF16" in seen[None][0].upper() and seen[None][1] > 0 and 1e-3 < seen[None][2] < 1e-2
assert seen["f32"][1:] == (0, 0.0)
PYTHON
