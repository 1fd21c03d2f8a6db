"""The scores of README's first table are still what the code gives."""

from __future__ import annotations

import pytest

from agentgym.registration import families
from benchmarks.families import POLICIES, measure_family
from benchmarks.tables.families import ORDER
from benchmarks.tables.formats import result

STORED = result("families.json")["families"]


def test_every_family_is_in_the_table() -> None:
    assert {*ORDER} == {*STORED} == {family.name for family in families()}
    assert all(STORED[name][policy]["n"] > 0 for name in STORED for policy in POLICIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["textcraft", "mathpython"])
def test_the_stored_scores_are_those_of_the_code(name: str) -> None:
    """After a change of tasks: ``python -m benchmarks.families``."""
    assert measure_family(name) == STORED[name]
