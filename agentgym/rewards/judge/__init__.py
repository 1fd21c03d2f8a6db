"""Language models as judges: a reward for each turn, and a mask for episodes.

`terms` contains the hooks, `question` builds requests and parses responses, and `desk` sends them;
``turn.toml`` and ``episode.toml`` are the prompts.
"""
