"""Language models as judges: a reward for each turn, and a mask for episodes.

`terms` contains the hooks, and `question` builds requests and parses responses; ``turn.toml`` and
``episode.toml`` are the prompts.
"""
