"""Names in the folder of a training, which the trainer writes and other commands read."""

from __future__ import annotations

CONFIG_FILE = "config.yaml"
"""The settings of a run: it is the first file of its folder."""
RESOLVED = "resolved"
"""Key in it for what the settings leave open."""
EVALUATED = "eval_episodes"
"""Folder of a run in which each compared policy has a file of held-out episodes; with several
environments in a folder for each."""
TRAINED = "trained"
"""The trained policy among them."""
GREEDY = "-greedy"
"""Suffix of a policy that takes the likeliest token instead of sampling."""
SEEDS_FILE = "seeds.yaml"
"""File by which the folder of a training over several seeds is known."""
