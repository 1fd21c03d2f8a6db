"""The trainer's commands of ``agentgym``: ``train``, ``presets`` and ``merge``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentgym.registration import Command

__all__ = ["MERGE", "PRESETS", "TRAIN"]


@dataclass(frozen=True)
class PresetsArguments:
    """List the methods that train --preset takes."""


def _main(*command: str) -> Callable[[Sequence[str]], int]:
    """Return what runs ``agentgym-train`` with a first word."""

    def run(argv: Sequence[str]) -> int:
        from agentgym.support.program_name import called_from_agentgym
        from trainers.cli import main

        with called_from_agentgym():
            return main([*command, *argv])

    return run


def _arguments(command: str) -> Callable[[], type]:
    """Return what imports the arguments of a command."""

    def load() -> type:
        from trainers.cli import command_arguments

        return command_arguments(command)

    return load


TRAIN = Command(
    "Train a policy: warm start, reinforcement learning, evaluation.", _main(), _arguments("train")
)
PRESETS = Command(
    "List the methods that train --preset takes.", _main("presets"), lambda: PresetsArguments
)
MERGE = Command("Merge policies of several runs into one.", _main("merge"), _arguments("merge"))
