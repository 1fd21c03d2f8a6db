"""Names of files in the folder of a training, which the trainer writes and other commands read."""

from __future__ import annotations

CONFIG_FILE = "config.yaml"
"""The settings of a run: the first file in its folder."""
RESOLVED = "resolved"
"""Key in it for values that the settings leave open."""
EVALUATED = "eval_episodes"
"""Folder of a run in which each compared policy has a file of held-out episodes; with several
environments in a folder for each."""
TRAINED = "trained"
"""The trained policy in this folder."""
GREEDY = "-greedy"
"""Suffix of a policy with greedy decoding instead of sampling."""
SEEDS_FILE = "seeds.yaml"
"""File that marks the folder of a training over several seeds."""
