"""Names of the files in a run folder, which the trainer writes and other commands read."""

from __future__ import annotations

CONFIG_FILE = "config.yaml"
"""The settings of a run: the first file in its folder."""
RESOLVED = "resolved"
"""Key in the file of settings for the values of defaults and presets."""
EVALUATED = "eval_episodes"
"""Folder in a run with a file of held-out episodes for each compared policy; with several
environments, a subfolder for each."""
TRAINED = "trained"
"""Name of the trained policy in that folder."""
GREEDY = "-greedy"
"""Suffix of a policy with greedy decoding instead of sampling."""
SEEDS_FILE = "seeds.yaml"
"""File that marks the folder of a training over several seeds."""
