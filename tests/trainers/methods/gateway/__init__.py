"""Tests of agents that own their loop in training."""
