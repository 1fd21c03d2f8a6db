"""A cache folder that the tests do not share, and no official data of the user's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.envs.alfworld.grammars import keep_grammars
from tests.vector.conftest import warm_workers

__all__ = ["warm_workers"]  # which this folder's tests have, too

keep_grammars()


@pytest.fixture(autouse=True, scope="package")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep indexes and plans out of the user's cache, and the user's data out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("ALFWORLD_DATA", raising=False)
        yield
