"""One process at a time at work in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.folder_lock import lock_folder


def test_one_with_holds_a_folder_and_lets_go_of_it(tmp_path: Path) -> None:
    refused = pytest.raises(ConfigurationError, match="no other process to work on the run")
    with lock_folder(tmp_path, "the run") as first, refused:
        lock_folder(tmp_path, "the run")
    with pytest.raises(OSError, match="disk full"), lock_folder(tmp_path, "the run") as second:
        raise OSError("disk full")
    with lock_folder(tmp_path, "the run") as last:
        assert len({first, second, last}) == 3  # all are alive: none was let go by being forgotten


def test_a_lock_is_released_without_a_with_too(tmp_path: Path) -> None:
    first = lock_folder(tmp_path, "the run")
    first.release()
    first.release()
    second = lock_folder(tmp_path, "the run")
    with pytest.raises(ConfigurationError, match="no other process"):
        lock_folder(tmp_path, "the run")
    second.release()
