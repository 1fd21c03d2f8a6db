"""WebShop: search a shop, compare products, choose options and buy what an instruction asks for.

The semantics are those of the original (Yao et al., 2022, arXiv:2207.01206), step by step; the
engine is a small state machine without HTML, server or Java. ``gym.make("agentgym/WebShop-v0")``
runs on a generated shop; ``data=`` names a folder with the official files instead.
"""

from __future__ import annotations
