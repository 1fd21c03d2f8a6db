"""Tasks shared by several studies that are not a family's default."""

HESITANT_GAMES = (
    "--env textworld --env-kwargs difficulty=w2-o12-q4,quest_end=place expert=hesitant --horizon 6 "
    "--no-fit-horizon --rl.episode-tokens 900"
)
"""TextWorld's default games in six turns, with the ``hesitant`` demonstrator."""
CHAINS = "--env search --env-kwargs difficulty=easy topk=1 --rl.episode-tokens 512"
"""Search's questions of one to five hops."""
