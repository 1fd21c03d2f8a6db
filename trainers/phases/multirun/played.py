"""A finished run, read back from its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trainers.output.jsonl import read_jsonl
from trainers.output.phase import Phase
from trainers.output.roles import TRAINED
from trainers.output.run_folder import RunFolder


@dataclass(frozen=True)
class PlayedRun:
    """The results in a finished run's folder."""

    folder: Path
    """The folder."""
    seed: int
    """Its seed."""
    key: str
    """Hash of its settings."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        content: dict[str, Any] = json.loads(RunFolder(self.folder).summary_path.read_text())
        return content

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``."""
        return RunFolder(self.folder).metrics()

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The lines of the steps of reinforcement learning."""
        return [record for record in self.records if record["phase"] == Phase.REINFORCEMENT]

    @property
    def validations(self) -> list[dict[str, Any]]:
        """The lines of the validations between them."""
        return [record for record in self.records if record["phase"] == Phase.VALIDATION]

    @property
    def validation_episodes(self) -> Iterator[dict[str, Any]]:
        """The episodes of these validations, as records."""
        for path in RunFolder(self.folder).eval_files(Phase.VALIDATION):
            yield from read_jsonl(path)

    @property
    def training_episodes(self) -> Iterator[dict[str, Any]]:
        """The training episodes that ``--rl.log-groups`` kept, as records."""
        return read_jsonl(RunFolder(self.folder).episodes_path)

    @property
    def facts(self) -> dict[str, Any]:
        """The provenance of the run's figures."""
        return {
            "seed": self.seed,
            "key": self.key,
            "commit": self.summary["commit"],
            "panel_sha256": self.summary["evaluation"]["panel_sha256"],
            "n": self.summary["eval"][TRAINED]["n"],
            "steps": self.summary["steps"],
            "minutes": round(self.summary["wall_s"] / 60, 2),
            "warm_start": self.summary["warm_start"],
        }


def oracle_turns(episode: Mapping[str, Any]) -> int | None:
    """Return the length of the expert's plan for the task of an episode record."""
    turns: int | None = episode["start"]["oracle_turns"]
    return turns


def tokens_read(turns: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of tokens read and written in an episode, from its record.

    A turn stores the length of its prompt, earlier turns included, so the last turn has the total.
    With a window, or a template that rewrites history, it is the length of the last prompt only.
    """
    return turns[-1]["prompt_tokens"] + turns[-1]["completion_tokens"] if turns else 0
