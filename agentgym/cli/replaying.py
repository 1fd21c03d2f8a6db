"""One recorded episode, played again or rescored, for ``agentgym replay``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentgym.errors import (
    AgentGymError,
    ConfigurationError,
    DataError,
    DependencyNotInstalled,
    EnvFailure,
    TaskNotFound,
)
from agentgym.making import parse_pairs, resolve

if TYPE_CHECKING:
    from typing_extensions import Self

    from agentgym.cli.arguments import Replay
    from agentgym.episodes import Episode

_KINDS: tuple[tuple[type[AgentGymError], str], ...] = (
    (DependencyNotInstalled, "a package is missing"),
    (TaskNotFound, "the task is gone"),
    (DataError, "the record is damaged"),
    (EnvFailure, "the environment failed"),
    (ConfigurationError, "the environment cannot be made"),
    (AgentGymError, "the environment cannot do it"),
)
_NEVER_BEGAN = "the environment never began"


@dataclass(frozen=True)
class ReplayOutcome:
    """What became of an episode; without any words it played as it did, or was rescored."""

    difference: str = ""
    """What was not as recorded."""
    failed: str = ""
    """The kind of reason for which it could not be played."""
    message: str = ""
    """The reason."""
    new: Episode | None = None
    """The episode with its new rewards."""

    @classmethod
    def of(cls, error: AgentGymError) -> ReplayOutcome:
        """Return what an error means."""
        kind = next(name for cls, name in _KINDS if isinstance(error, cls))
        return cls(failed=kind, message=str(error))


class Replaying:
    """Plays episodes again.

    Args:
        command: The command, whose environment is imported.
    """

    def __init__(self, command: Replay) -> None:
        from agentgym.episodes import EnvCache

        if command.env is not None:
            resolve(command.env)  # its module registers the id that the records name
        self._envs = EnvCache()

    def __enter__(self) -> Self:
        """Return itself; the environments are closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the environments."""
        self._envs.close()

    def __call__(self, episode: Episode) -> ReplayOutcome:
        """Play an episode and compare."""
        from agentgym.episodes.replay import replay

        if not episode.began:
            return ReplayOutcome(failed=_NEVER_BEGAN)
        try:
            return ReplayOutcome(replay(episode, self._envs.get(episode)).difference)
        except AgentGymError as error:
            self._envs.discard(episode)
            return ReplayOutcome.of(error)


class Rescoring:
    """Gives episodes new rewards.

    Args:
        command: The command: its hooks and settings are those of the new reward.
    """

    def __init__(self, command: Replay) -> None:
        from agentgym.episodes import Rescorer
        from agentgym.rewards import parse_hooks

        if command.env is not None:
            resolve(command.env)
        self._rescorer = Rescorer(parse_hooks(command.hooks), parse_pairs(command.set, "--set"))

    def __enter__(self) -> Self:
        """Return itself; the environments are closed at the end of the block."""
        self._rescorer.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Close the environments."""
        self._rescorer.__exit__(None, None, None)

    def __call__(self, episode: Episode) -> ReplayOutcome:
        """Rescore an episode."""
        from agentgym.episodes.rescorer import CourseChanged

        try:
            return ReplayOutcome(new=self._rescorer(episode))
        except CourseChanged as error:
            return ReplayOutcome(difference=str(error))
        except AgentGymError as error:
            return ReplayOutcome.of(error)
