"""Who plays a turn, and when the stale policy is copied, in numbers."""

from __future__ import annotations

import pytest

from agentgym.errors import ConfigurationError
from trainers.algorithms.policy_pool import PolicyPool


def test_the_stale_policy_is_a_copy_of_every_so_many_steps() -> None:
    pool = PolicyPool(refresh_every=25)
    assert [pool.stale_steps(n) for n in (0, 24, 25, 26, 49, 50)] == [0, 0, 25, 25, 25, 50]
    assert [PolicyPool(refresh_every=1).stale_steps(n) for n in range(3)] == [0, 1, 2]


def test_a_share_of_all_draws_is_its() -> None:
    draws = [n / 1000 for n in range(1000)]
    for share in (0.001, 0.25, 1.0):
        assert sum(map(PolicyPool(share).plays_stale, draws)) == 1000 * share


@pytest.mark.parametrize("fields", [(0.0, 25), (1.1, 25), (0.5, 0)])
def test_what_is_no_pool_is_refused(fields: tuple[float, int]) -> None:
    with pytest.raises(ConfigurationError, match="expected 0 < stale_share <= 1 and refresh"):
        PolicyPool(*fields)
