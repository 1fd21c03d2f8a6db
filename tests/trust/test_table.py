"""The table has a row for whatever a file can name, and no other rows."""

from __future__ import annotations

import inspect
from dataclasses import fields
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import load_env_creator

from agentgym.authoring.synth.env import SynthEnv
from agentgym.authoring.synth.making import names as bundled_specifications
from agentgym.authoring.tools.env import ToolEnv
from agentgym.core.env import TextEnv
from agentgym.core.options import arguments
from agentgym.evaluation.policy_maker import GROUP
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.interop.imported_env import ImportedEnv
from agentgym.protocols import bundled, load_protocol
from agentgym.registration import FAMILIES
from agentgym.registration.imports import IMPORTS
from agentgym.rewards.table import HOOKS as REGISTERED_HOOKS
from agentgym.trust.claims import argument_claims, env_claims, hook_claims, setting_claims
from agentgym.trust.table import (
    BASE,
    DATA_VARIABLES,
    ENVIRONMENTS,
    EVALUATION,
    HOOKS,
    POLICIES,
    TOOLS,
    TRAINING,
)


def test_the_table_has_every_family_and_every_import_and_no_other() -> None:
    assert {*ENVIRONMENTS} == {family.name for family in FAMILIES} | {*IMPORTS}


def test_every_argument_that_all_environments_have_has_a_row() -> None:
    assert {*BASE} == {*arguments(TextEnv)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_argument_of_a_family_has_a_row(family: Any) -> None:
    creator: Any = load_env_creator(family.entry_point)
    if family.name == "textworld":
        parameters = import_module(creator.__module__).PARAMETERS
        assert parameters <= {*BASE, *ENVIRONMENTS["textworld"].arguments}
    rows = {*BASE, *ENVIRONMENTS[family.name].arguments}
    assert {*arguments(creator)} <= rows


@pytest.mark.parametrize("prefix", IMPORTS)
def test_every_argument_of_an_import_has_a_row(prefix: str) -> None:
    make = import_module(IMPORTS[prefix].module).make
    parameters = inspect.signature(make).parameters.values()
    named = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    cls = SynthEnv if prefix == "synth" else ImportedEnv
    assert named | {*arguments(cls)} <= {*BASE, *ENVIRONMENTS[prefix].arguments}


def test_every_argument_of_tool_environments_has_a_row() -> None:
    assert {*arguments(ToolEnv)} <= {*BASE, *TOOLS}


def test_every_reward_hook_and_kind_of_policies_has_a_row() -> None:
    assert {*HOOKS} == {*REGISTERED_HOOKS}
    assert {*POLICIES} >= {point.name for point in entry_points(group=GROUP)}


def test_every_setting_of_an_evaluation_has_a_row() -> None:
    assert {*EVALUATION} - {"out", "chart"} == {field.name for field in fields(EvaluationSettings)}


def test_the_names_of_bundled_files_are_plain() -> None:
    for name in bundled_specifications():
        assert all(claim.plain for claim in env_claims(f"synth:{name}", {}))
    setups = [setup for name in bundled() for setup in load_protocol(name).setups.values()]
    assert {setup.data.variable for setup in setups if setup.data} == {*DATA_VARIABLES}


@pytest.mark.parametrize(
    ("table", "setting"),
    [(EVALUATION, "protocol"), (EVALUATION, "prompt"), (TRAINING, "prompt"), (TRAINING, "model")],
)
def test_a_name_that_is_a_file_here_is_a_path(
    table: Any, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundled name is plain, unless somebody has put a file of that name into the folder."""
    monkeypatch.chdir(tmp_path)
    assert setting_claims({setting: "agentgym"}, table)[0].plain
    (tmp_path / "agentgym").write_text("", encoding="utf-8")
    assert setting_claims({setting: "agentgym"}, table)[0].nature == "path"


@pytest.mark.parametrize("env", ["webshop", "gem:game:x", "my_module/Own-v0"])
def test_an_argument_without_a_row_is_code_whatever_its_value(env: str) -> None:
    for value in ("x", 1, True, [1], {"a": 1}):
        [claim] = argument_claims(env, {"brand_new": value})
        assert claim.nature == "code", (env, value)


@pytest.mark.parametrize(
    "env", ["my_module:own/X-v0", "nowhere/X-v0", "brandnew:x", "brandnew/x-v0"]
)
def test_an_environment_without_a_row_is_code(env: str) -> None:
    assert env_claims(env, {})[0].nature == "code"


def test_a_hook_and_a_setting_without_a_row_are_code() -> None:
    assert hook_claims(["my_module:Hook=0.5"])[0].nature == "code"
    for table in (EVALUATION, TRAINING):
        assert setting_claims({"brand_new": "x"}, table)[0].nature == "code"


def test_what_an_imported_class_says_of_its_own_arguments_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    from tests.toy import ToyEnv

    monkeypatch.setattr(ToyEnv, "plain_arguments", ("length",), raising=False)
    gymnasium.register("trust/Own-v0", entry_point=f"{ToyEnv.__module__}:ToyEnv")
    try:
        natures = {claim.name: claim.nature for claim in env_claims("trust/Own-v0", {"length": 3})}
        assert natures == {"env": "plain", "length": "plain"}
        assert argument_claims("trust/Own-v0", {"other": 3})[0].nature == "code"
    finally:
        gymnasium.registry.pop("trust/Own-v0")


def test_what_an_id_stands_for_is_no_news_and_another_reference_is() -> None:
    same_claims = env_claims("synth/warehouse-v0", {"reference": "warehouse"})
    assert all(claim.plain for claim in same_claims)
    other_claims = env_claims("synth/warehouse-v0", {"reference": "mine.yaml"})
    assert [claim.name for claim in other_claims if not claim.plain] == ["reference"]


def test_an_id_of_ones_own_for_a_family_has_the_rows_of_the_family() -> None:
    point = next(family.entry_point for family in FAMILIES if family.name == "swe")
    gymnasium.register("trust/SWE-v0", entry_point=point, kwargs={"sandbox": "mine:Box"})
    try:
        kwargs = {"sandbox": "mine:Box", "difficulty": "easy"}
        assert all(claim.plain for claim in env_claims("trust/SWE-v0", kwargs))
        for hostile in ({"sandbox": "other:Box"}, {"allow_unsafe": True}):
            assert not argument_claims("trust/SWE-v0", hostile)[0].plain
    finally:
        gymnasium.registry.pop("trust/SWE-v0")
