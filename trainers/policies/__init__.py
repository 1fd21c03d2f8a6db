"""Policies of local models for evaluation: what a run trained, and any causal language model.

`agentgym.load_policy` finds them by the entry points ``run`` and ``hf``.
"""
