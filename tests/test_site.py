"""The site lists every page; its reference is complete; its pictures are what the command shows."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import gymnasium as gym
import pytest

from agentgym.cli.parsing import subcommands
from agentgym.core.info import KEYS
from agentgym.rewards import parse_hooks
from agentgym.rewards.table import HOOKS

SITE = Path(__file__).resolve().parents[1] / ".site"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"site_{name}", SITE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    return load("pictures")


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    pytest.importorskip("trainers.config.schema", reason="the flags of training need the trainer")
    return load("reference")


@pytest.fixture
def pages(pictures, reference, monkeypatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "pictures", pictures)
    monkeypatch.setitem(sys.modules, "reference", reference)
    return load("pages")


def test_every_page_is_in_the_table_of_contents(pages):
    files = [path for path in pages.sources() if path.suffix in (".md", ".ipynb")]
    names = {path.relative_to(pages.ROOT).with_suffix("").as_posix() for path in files}
    listed = [name for part in pages.contents().values() for name in part]
    assert sorted(listed) == sorted(names - {"README"} | {"reference/index"})


def test_every_how_to_page_is_in_the_index_of_how_to_pages(pages):
    index = (SITE / "how-to" / "README.md").read_text()
    names = {path.name for path in (SITE / "how-to").glob("*.md")} - {"README.md"}
    assert names == set(re.findall(r"\(([\w-]+\.md)\)", index))


def test_a_page_is_summed_up_by_its_first_sentence(pages):
    assert pages._summary("# A\nOne in\n`two`, and more. Two.\n\nThree.\n") == (
        "A",
        "One in `two`, and more",
    )
    assert pages._summary("# A\nRun it:\n```bash\nrun. it\n```\n") == ("A", "Run it")


# -- the generated reference -----------------------------------------------------------------------


def test_the_reference_has_every_flag_of_every_command(reference):
    page = reference.flags_page()
    for name, arguments in subcommands().items():
        section = page.partition(f"## `agentgym {name}`\n")[2].partition("\n## ")[0]
        for field in dataclasses.fields(arguments):
            if "Suppress" not in str(field.type):
                word = field.name.replace("_", "-")
                assert re.search(rf"^\| `(--(\[no-\])?{word}|{word.upper()})[ `]", section, re.M), (
                    name
                )


def test_the_reference_has_every_setting_of_a_training(reference):
    from trainers.config.schema import TrainConfig

    page = reference.training_flags_page()
    flags = {*re.findall(r"^\| `--([\w.-]+)", page.replace("[no-]", ""), re.MULTILINE)}
    for field in dataclasses.fields(TrainConfig):
        section, name = field.default_factory, field.name.replace("_", "-")
        if dataclasses.is_dataclass(section):
            nested = {entry.name.replace("_", "-") for entry in dataclasses.fields(section)}
            assert {f"{name}.{entry}" for entry in nested} <= flags
        elif "Suppress" not in str(field.type):
            assert name in flags


def test_the_reference_has_every_preset_and_every_reward(reference):
    from trainers.algorithms.presets import PRESETS

    presets, rewards = reference.presets_page(), reference.rewards_page()
    assert [name for name in PRESETS if f"| `{name}` |" not in presets] == []
    for name, hook in HOOKS.items():
        section = rewards.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        assert [f.name for f in dataclasses.fields(hook) if f"| `{f.name}` |" not in section] == []


def test_the_reference_has_every_key_of_info(reference):
    extensions = {"worker_turns": 2, "tries": 2, "expose_oracle": True}
    hooks = parse_hooks(["calls=1:action=search*"])
    keys = set()
    for arguments in ({}, extensions, {"summary_every": 2}, {"reward_hooks": hooks}):
        env = gym.make("agentgym/WebShop-v0", **arguments)
        for info in (env.reset(seed=0)[1], env.step("search[shoes]")[4]):
            keys |= {*info}
    assert keys == {*KEYS} - {"verdicts"}
    assert [key for key in KEYS if f"| `{key}` |" not in reference.info_page()] == []


# -- pictures --------------------------------------------------------------------------------------


def test_the_screencast_of_the_readme_is_not_old(pictures):
    drawn, stored = pictures.screencast(), pictures.SCREENCAST.read_text(encoding="utf-8")
    assert pictures.words(drawn) == pictures.words(stored), "run python .site/pictures.py"
    assert "solved" in " ".join(pictures.words(stored))


def test_frames_follow_one_another_and_load_nothing(pictures):
    drawn = pictures.screencast()
    frames = re.findall(r"animation-delay: ([0-9.]+)s", drawn)
    assert [float(delay) for delay in frames] == [
        pictures.SECONDS * frame_number for frame_number in range(len(frames))
    ] and len(frames) > 3
    assert not re.search(r"url\((?!#)|href=|src=", drawn)
