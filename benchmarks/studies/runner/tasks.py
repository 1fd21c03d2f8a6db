"""Tasks that several studies train on, and that are no default."""

HESITANT_GAMES = (
    "--env textworld --env-kwargs difficulty=w2-o12-q4,quest_end=place expert=hesitant --horizon 6 "
    "--no-fit-horizon --rl.episode-tokens 900"
)
"""TextWorld's default games in six turns, shown by an expert that mostly takes two for one."""
CHAINS = "--env search --env-kwargs difficulty=easy topk=1 --rl.episode-tokens 512"
"""Search's questions of one to five hops."""
