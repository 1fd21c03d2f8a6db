"""Episode records: write them while playing, read, replay and rescore them.

A record is one JSON line (format ``agentgym.episode/1``) that holds everything needed to play the
episode again exactly, and to score it anew without a model.
"""

from __future__ import annotations

from agentgym.episodes.recorder import Recorder, RecordFacts
from agentgym.episodes.records import (
    FORMAT,
    Episode,
    State,
    Turn,
    append_episode,
    read_episodes,
)
from agentgym.episodes.replay import ReplayReport, make_env, replay, rescore

__all__ = [
    "FORMAT",
    "Episode",
    "RecordFacts",
    "Recorder",
    "ReplayReport",
    "State",
    "Turn",
    "append_episode",
    "make_env",
    "read_episodes",
    "replay",
    "rescore",
]
