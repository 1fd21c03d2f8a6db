"""Models: loading a policy, the tiny model, supervised training."""
