"""Workers begin as forks of a process that has imported what they import."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from agentgym.envs.alfworld.original import process as alfworld
from agentgym.envs.textworld.original import isolated_session as textworld
from agentgym.vector import process as vector
from tests.warm_workers import WARM, start_server


@pytest.fixture(scope="package", autouse=True)
def warm_workers() -> Iterator[None]:
    """Let the workers of a folder's tests begin warm; another folder's conftest imports this."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":  # elsewhere a fork cannot be made the child of another process
            start_server()  # now, as tests count the processes that they leave
            for module in (vector, alfworld, textworld):
                patch.setattr(module, "subprocess", WARM)
        yield
