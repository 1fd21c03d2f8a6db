from __future__ import annotations

import sys

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentgym
from agentgym.errors import ConfigurationError, DependencyNotInstalled
from agentgym.registration import imports
from agentgym.registration.making import make_env, resolve
from agentgym.vector import TextVectorEnv


@given(st.sampled_from(sorted(imports.IMPORTS)), st.text(min_size=1))
def test_every_name_has_an_id_that_can_be_read_back(prefix: str, reference: str) -> None:
    reference = reference.encode("utf-8", "replace").decode()
    try:
        names = imports.find(f"{prefix}:{reference}")
    except ConfigurationError:  # blank, or a secret
        return
    assert names is not None
    try:
        assert names[0].replace("-", "_").isidentifier() and len(names[0]) <= imports.SHORT_NAME
        assert imports.split(names[1]) == (prefix, reference)
        assert gymnasium.spec(names[1]).kwargs == {"reference": reference}
        assert imports.find(names[1]) == names
    finally:
        del gymnasium.registry[names[1]]


def test_versions_stand_beside_each_other_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    for version in (0, 1):
        env_id = resolve(f"gymnasium:CliffWalking-v{version}")[1]
        assert gymnasium.spec(env_id).id == env_id
    assert not recwarn.list


@pytest.mark.parametrize("name", ["webshop", "agentgym/WebShop-v0", "toy:X-v0", "other/X-v0"])
def test_other_names_are_not_its_business(name: str) -> None:
    assert imports.find(name) is None


def test_nothing_behind_a_prefix_is_told_what_belongs_there() -> None:
    with pytest.raises(ConfigurationError, match="gem:ID, such as gem:game:"):
        resolve("gem:")


def test_an_unknown_prefix_is_told_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"one of gem:ID, .* or MODULE:ID .* 'gemm:game'"):
        resolve("gemm:game:Sudoku")


@pytest.mark.parametrize(
    "url", ["http://me:word@host", "http://host/x?token=abc", "http://host?api_key=1"]
)
def test_secrets_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="without users, passwords") as caught:
        resolve(f"openenv:{url}")
    assert "word@" not in str(caught.value) and "abc" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["gem", "reasoning-gym", "textarena", "verifiers"])
def test_a_missing_package_is_named_with_what_installs_it(
    prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = imports.IMPORTS[prefix]
    monkeypatch.setitem(sys.modules, kind.packages[0], None)
    with pytest.raises(DependencyNotInstalled, match=kind.extra):
        make_env(resolve(f"{prefix}:{kind.example}")[1], {}, "--env-kwargs")


def test_vectors_are_ours() -> None:
    envs = agentgym.make_vec("gymnasium:FrozenLake-v1", 2)
    assert isinstance(envs, TextVectorEnv)
    observations, _ = envs.reset(seed=0)
    assert list(observations) == ["(red S)FFF\nFHFH\nFFFH\nHFFG"] * 2
    envs.close()
