"""Episode records: write them while playing, read, replay, rescore and export them.

A record is one JSON line (format ``agentgym.episode/1``) with everything needed to replay the
episode exactly, and to rescore it without a model. `records` defines the format, `recorder` writes
it, `replay` and `rescorer` play it again, `exporter` converts it for other tools, and `spans` sends
it to viewers of traces.

To add one of these, touch these files:

- a file of episodes that can be imitated: its reader in ``agentgym/episodes/any_file.py``
- a format of ``agentgym export``: its writer in ``agentgym/episodes/exporter.py`` or a file beside
  it, its name in ``Form`` there and in ``agentgym/cli/arguments.py``
"""

from __future__ import annotations

from agentgym.episodes.any_file import read_any
from agentgym.episodes.atif import trajectory_files
from agentgym.episodes.chats import ChatOptions, ChatWriter
from agentgym.episodes.environment_cache import EnvCache
from agentgym.episodes.exporter import ExportReport, export
from agentgym.episodes.file_replay import (
    EpisodeChange,
    FileReplay,
    FileRescore,
    Unplayed,
    replay_file,
    rescore_file,
)
from agentgym.episodes.recorder import Recorder, RecordFacts
from agentgym.episodes.records import (
    FORMAT,
    Episode,
    RecordedState,
    Turn,
    append_episode,
    read_episodes,
)
from agentgym.episodes.replay import ReplayReport, make_env, replay, rescore
from agentgym.episodes.rescorer import Rescorer, RewardMeans, rescore_episode
from agentgym.episodes.table_rows import from_row, to_row

__all__ = [
    "FORMAT",
    "ChatOptions",
    "ChatWriter",
    "EnvCache",
    "Episode",
    "EpisodeChange",
    "ExportReport",
    "FileReplay",
    "FileRescore",
    "RecordFacts",
    "RecordedState",
    "Recorder",
    "ReplayReport",
    "Rescorer",
    "RewardMeans",
    "Turn",
    "Unplayed",
    "append_episode",
    "export",
    "from_row",
    "make_env",
    "read_any",
    "read_episodes",
    "replay",
    "replay_file",
    "rescore",
    "rescore_episode",
    "rescore_file",
    "to_row",
    "trajectory_files",
]
