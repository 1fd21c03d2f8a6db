"""An encoder without a model: words are hashed into a few dimensions."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from agentgym.retrieval import tokenize

DIMENSIONS = 48


def hashed(texts: list[str]) -> np.ndarray:
    """Project the words of each text to random signs, and normalise."""
    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in enumerate(texts):
        for word in tokenize(text):
            bits = np.frombuffer(blake2b(word.encode(), digest_size=DIMENSIONS).digest(), np.uint8)
            vectors[row] += (bits & 1).astype(np.float32) * 2 - 1
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
