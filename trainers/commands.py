"""The trainer's commands of ``agentgym``: ``train``, ``presets`` and ``merge``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.registration import Command

__all__ = ["MERGE", "PRESETS", "TRAIN"]


@dataclass(frozen=True)
class PresetsArguments:
    """List the methods that train --preset takes."""


def _train(argv: Sequence[str]) -> int:
    from agentgym.support.program_name import called_from_agentgym
    from trainers.cli import main

    with called_from_agentgym():
        return main(argv)


def _presets(argv: Sequence[str]) -> int:
    return _train(["presets", *argv])


def _merge(argv: Sequence[str]) -> int:
    return _train(["merge", *argv])


def _train_arguments() -> type:
    from trainers.config.command import Arguments

    return Arguments


def _merge_arguments() -> type:
    from trainers.policies.merged_run import MergeSettings

    return MergeSettings


TRAIN = Command(
    "Train a policy: warm start, reinforcement learning, evaluation.", _train, _train_arguments
)
PRESETS = Command("List the methods that train --preset takes.", _presets, lambda: PresetsArguments)
MERGE = Command("Merge policies of several runs into one.", _merge, _merge_arguments)
