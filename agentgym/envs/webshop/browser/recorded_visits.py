"""The file in which a person's episodes are recorded as demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentgym.episodes import Episode, append_episode, read_episodes
from agentgym.errors import ConfigurationError, DataError


class Demonstrations:
    """A file to which finished episodes are appended, one line each.

    Args:
        path: The file; None records nothing.

    Raises:
        ConfigurationError: The file cannot be written, or contains something else.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.episodes_written = 0
        """Episodes appended by this object."""
        self.problem = ""
        """Why the episodes that wait could not be written."""
        self._waiting: list[Episode] = []
        if path is not None:
            _check(path)

    def add(self, episode: Episode) -> None:
        """Append an episode; if writing fails, it is kept and retried with the next one."""
        if self.path is not None:
            self._waiting.append(episode)
            self.save()

    def save(self) -> None:
        """Write pending episodes."""
        self.problem = ""
        while self.path is not None and self._waiting:
            try:
                append_episode(self.path, self._waiting[0])
            except DataError as error:
                self.problem = str(error)
                return
            del self._waiting[0]
            self.episodes_written += 1

    def facts(self) -> dict[str, Any]:
        """Return the sentence that the page shows about the recording."""
        name = None if self.path is None else self.path.name
        waiting = len(self._waiting)
        return {
            "file": name,
            "written": self.episodes_written,
            "waiting": waiting,
            "problem": self.problem,
        }


def _check(path: Path) -> None:
    """See that episodes can be appended to a file.

    Raises:
        ConfigurationError: It is no file, cannot be written, or holds something else.
    """
    try:
        if path.exists() and not path.is_file():
            raise ConfigurationError(f"expected a file to record to, got {path}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab"):
            pass
        next(read_episodes(path, on_torn=lambda number: None), None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(
            f"expected a file to which episodes can be appended, got {path}: {reason}; name "
            "another with --record"
        ) from error
