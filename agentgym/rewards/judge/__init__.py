"""Language models as judges: a reward for each turn, and a mask for episodes.

`terms` has the hooks, `question` what is asked and how an answer is read, `desk` where it is asked;
``turn.toml`` and ``episode.toml`` are the prompts.
"""
