"""The image of a row: named by the row, or by the rule of its set."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.envs.swe.official.images import image_name, relocated
from agentgym.envs.swe.official.sets import DATA_SETS
from agentgym.errors import ConfigurationError, DataError


@pytest.mark.parametrize(
    ("name", "row", "image"),
    [
        ("swe-gym", {}, "xingyaoww/sweb.eval.x86_64.quiet_s_ledger-7:latest"),
        ("swe-bench", {}, "swebench/sweb.eval.x86_64.quiet_1776_ledger-7:latest"),
        ("swe-bench-lite", {}, "swebench/sweb.eval.x86_64.quiet_1776_ledger-7:latest"),
        ("swe-bench-verified", {}, "swebench/sweb.eval.x86_64.quiet_1776_ledger-7:latest"),
        ("swe-rebench", {}, "swerebench/sweb.eval.x86_64.quiet_1776_ledger-7:latest"),
        (
            "swe-smith",
            {"repo": "swesmith/Quiet__ledger.0123abcd"},
            "jyangballin/swesmith.x86_64.quiet_1776_ledger.0123abcd:latest",
        ),
        ("swe-gym", {"image_name": "mine/ledger:7"}, "mine/ledger:7"),
        ("swe-gym", {"image": "", "docker_image": "mine/ledger"}, "mine/ledger"),
        ("swe-bench", {"image": "a/b:1", "image_name": "c/d:2"}, "a/b:1"),
        ("r2e-gym", {"docker_image": "quiet/ledger_final:ee"}, "quiet/ledger_final:ee"),
        ("swe-rebench-v2", {"image_name": "docker.io/x/y:7-abc"}, "docker.io/x/y:7-abc"),
    ],
)
def test_the_rule_of_each_set(name: str, row: dict[str, Any], image: str) -> None:
    assert image_name(DATA_SETS[name], row, "Quiet__Ledger-7") == image


def test_images_from_elsewhere() -> None:
    data_set = DATA_SETS["swe-gym"]
    moved = image_name(data_set, {}, "quiet__ledger-7", "registry.example:5000/mine/")
    assert moved == "registry.example:5000/mine/sweb.eval.x86_64.quiet_s_ledger-7:latest"
    assert relocated("docker.io/x/y@sha256:" + "a" * 64, "z") == "z/y@sha256:" + "a" * 64


@pytest.mark.parametrize("namespace", ["two words", "UPPER", "a//b", "a; rm -rf /"])
def test_places_that_are_none(namespace: str) -> None:
    with pytest.raises(ConfigurationError, match=r"such as registry\.example:5000/mine, got"):
        relocated("x/y", namespace)


@pytest.mark.parametrize("image", ["A/b", "a/b:", "a b", "a/b;c", "$(id)", "-x", "a/../b"])
def test_names_that_are_none_of_an_image(image: str) -> None:
    with pytest.raises(DataError, match="expected the name of an image"):
        image_name(DATA_SETS["swe-gym"], {"image_name": image}, "a__b-1")


def test_a_set_without_a_rule() -> None:
    with pytest.raises(DataError, match=r"image or image_name or docker_image.*no rule"):
        image_name(DATA_SETS["swe-rebench-v2"], {"repo": "a/b"}, "a__b-1")
