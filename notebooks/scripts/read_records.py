# /// script
# requires-python = ">=3.10"
# dependencies = ["pandas>=2"]
# ///
"""Read episode records with pandas: one row a turn, and what they say.

python read_records.py runs/first/episodes.jsonl
"""

import argparse
from pathlib import Path

import pandas as pd

from agentgym.episodes import read_episodes

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file", type=Path, help="episodes.jsonl of an evaluation or a training")


def turns(path):
    """Return a data frame with a row for each turn of each episode."""
    return pd.DataFrame(
        {
            "episode": number,
            "task": episode.task_id,
            "success": episode.success,
            "turn": t,
            "action": turn.action,
            "reward": turn.reward,
            "characters": len(turn.after.observation),
        }
        for number, episode in enumerate(read_episodes(path))
        for t, turn in enumerate(episode.turns)
    )


def main(argv=None):
    frame = turns(parser.parse_args(argv).file)
    episodes = frame.groupby("episode").agg(
        success=("success", "first"), turns=("turn", "size"), reward=("reward", "sum")
    )
    print(episodes.groupby("success").agg(["count", "mean"]).round(2))
    verbs = frame.assign(verb=frame.action.str.extract(r"^\W*(\w+)", expand=False))
    print(verbs.groupby("verb").agg(count=("turn", "size"), reward=("reward", "mean")).round(3))
    return frame


if __name__ == "__main__":
    main()
