"""A generated encyclopaedia of things that do not exist, and questions about it.

Everything is computed from a configuration, a size and a seed, without data and without a model:
the same on every machine.
"""

from __future__ import annotations
