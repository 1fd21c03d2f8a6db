"""Generation engines behind one protocol; import a concrete engine from its own module.

``base`` (protocol, no torch), ``scripted`` (fixed texts, no torch), ``hf`` (transformers),
``vllm_colocate`` (vLLM in the training process).
"""

from __future__ import annotations

from trainers.rollouts.engines.base import Completion, GenerationEngine, Sampling, row_limits

__all__ = ["Completion", "GenerationEngine", "Sampling", "row_limits"]
