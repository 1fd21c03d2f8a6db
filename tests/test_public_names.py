"""What ``import agentgym`` offers by name, without importing it before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentgym
from agentgym.errors import ConfigurationError
from agentgym.registration import FAMILIES
from agentgym.vector import TextVectorEnv


def test_every_name_is_there() -> None:
    assert {*agentgym.__all__} <= {*dir(agentgym)}
    assert all(getattr(agentgym, name) is not None for name in agentgym.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = agentgym.nothing  # type: ignore[attr-defined]


def test_nothing_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, agentgym\n"
        "heavy = {'agentgym.evaluation', 'agentgym.registration.making', 'scipy', 'rich'}\n"
        "assert not heavy & set(sys.modules)\n"
        "agentgym.evaluate\n"
        "assert 'agentgym.evaluation' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_environments_are_made_by_their_short_names() -> None:
    env = agentgym.make("webshop", difficulty="easy")
    assert env.spec is not None and env.spec.id == "agentgym/WebShop-v0"
    envs = agentgym.make_vec("webshop", 3)
    assert isinstance(envs, TextVectorEnv) and envs.num_envs == 3
    assert list(agentgym.list_envs()) == [family.name for family in FAMILIES]
    with pytest.raises(ConfigurationError, match="webshop"):
        agentgym.make("webshopp")
    assert agentgym.evaluate("oracle", "webshop", num_tasks=2).success == 1.0
