"""Scoring: log-probabilities of the tokens of rows under a model, in passes of bounded size.

Rollouts are played by an engine; this is the forward pass of training, with which the policy, its
reference, critics and teachers read what was played.
"""
