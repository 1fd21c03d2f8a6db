"""The table of methods: nothing else names one, so a folder can go, and a package bring one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from agentgym.trust.table import PLAIN
from tests.trainers.toy_runs import ROOT
from trainers.algorithms.presets import PRESETS
from trainers.methods import table
from trainers.methods.method import Method, section_of
from trainers.methods.table import BUILT_IN, GROUP, get_method, method_names, methods

OWN = {
    "own_method.py": '''
"""A method of a user's own."""
from dataclasses import dataclass, replace

from agentgym.trust.table import PLAIN
from trainers.algorithms.advantage import Term
from trainers.algorithms.needs import Need
from trainers.algorithms.preset import Preset
from trainers.config.field_types import NotNegative
from trainers.config.layers import DEFAULT, Layer
from trainers.methods.method import Method, section_of

CLOCK = Need("clock", "a clock", "clock")


@dataclass(frozen=True)
class Clock:
    """What a turn takes."""

    needs = (CLOCK,)
    price: float = 0.5

    def __call__(self, batch):
        return -self.price * batch.reward, "turn"


@dataclass(frozen=True)
class ClockConfig:
    """The price of time."""

    price: NotNegative | None = None
    """Price of a turn; None: the preset's."""
    unit: NotNegative | None = None
    """Its unit; None: a tenth of the learning rate."""


def with_clock(preset, config):
    price = section_of(config, ClockConfig).price
    if price is None or CLOCK not in preset.needs:
        return preset
    return replace(preset, terms=(Term(Clock(price)),))


METHOD = Method(
    name="clock",
    needs=(CLOCK,),
    presets={"rloo": (Preset("hurry", "My own paper", None, (Term(Clock()),)),)},
    parts={"signal": (Clock,)},
    section=ClockConfig,
    trust={"price": PLAIN, "unit": PLAIN},
    change_preset=with_clock,
    preset_values=lambda preset: {
        "price": term.signal.price for term in preset.terms if isinstance(term.signal, Clock)
    },
    defaults=lambda preset, config, rate: Layer(DEFAULT, {"unit": rate / 10}),
)
''',
    "own_method-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: own-method\nVersion: 1.0\n",
    "own_method-1.0.dist-info/entry_points.txt": f"[{GROUP}]\nclock = own_method:METHOD\n",
}
"""The files of an installed package with a method."""
SHOW = """
import json, sys
from trainers.algorithms.presets import PRESETS
from trainers.cli import parse_config
from trainers.config.command import train_help
from trainers.config.resolve import resolve
from trainers.config.schema import to_dict
runs = {}
for argv in json.loads(sys.argv[1]):
    run = resolve(parse_config(argv))
    runs[" ".join(argv)] = {"config": to_dict(run.config), "sources": dict(run.sources)}
print(json.dumps({
    "presets": list(PRESETS), "help": train_help("train", everything=True), "runs": runs,
}, default=str))
"""


def shown(folder: Path, *commands: list[str]) -> dict[str, Any]:
    """Return presets, help and resolved settings of a process that imports from a folder first."""
    process = subprocess.run(
        [sys.executable, "-c", SHOW, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result


def test_the_table_is_read_without_torch() -> None:
    code = """
import sys
from trainers.config.schema import TrainConfig
print([name for name in ("torch", "transformers", "trl") if name in sys.modules])
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"


def test_what_methods_name_is_there() -> None:
    for method in methods():
        parts = (method.step_part, method.check_start, method.tokenizer, method.result, method.loop)
        for name in parts:
            assert not name or callable(resolve_name(name)), name


def test_every_setting_of_a_method_has_a_default_and_says_what_a_file_may_do() -> None:
    for method in methods():
        if method.section is not None:
            assert {*method.trust} == {*vars(method.section())}


def test_a_section_is_found_by_its_class() -> None:
    class Missing:
        pass

    with pytest.raises(LookupError, match="a section Missing in the settings"):
        section_of(object.__new__(Missing), Missing)


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_folder_can_be_deleted(tmp_path: Path, name: str) -> None:
    """Its presets and flags are gone, and what is left resolves as before."""
    shutil.copytree(
        ROOT / "trainers", tmp_path / "trainers", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.rmtree(tmp_path / "trainers/methods" / name)
    method = resolve_name(f"trainers.methods.{name}.method:METHOD")
    gone_presets = {preset.name for presets in method.presets.values() for preset in presets}
    untouched = [preset for preset in PRESETS if preset not in gone_presets]
    needing = {"erpo", "on-policy-distillation"}  # what only further flags bring
    played_runs = [["webshop", "--preset", preset] for preset in untouched if preset not in needing]
    shown_now = shown(tmp_path, *played_runs)
    assert shown_now["presets"] == untouched and bool(gone_presets) == bool(method.presets)
    assert f"--{method.name.replace('_', '-')}." not in shown_now["help"]
    shown_before = shown(ROOT, *played_runs[::8])
    for command, run in shown_before["runs"].items():
        assert (run["config"].pop(method.name, None) is None) == (method.section is None)
        assert shown_now["runs"][command]["config"] == run["config"], command


def test_a_package_brings_a_method(tmp_path: Path) -> None:
    for file, text in OWN.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    flags = ["webshop", "--preset", "hurry", "--clock.price", "2"]
    result = shown(tmp_path, flags, flags[:3])
    assert result["presets"][result["presets"].index("rloo") + 1] == "hurry"
    assert [name for name in result["presets"] if name != "hurry"] == list(PRESETS)
    assert "--clock.price" in result["help"] and "Price of a turn" in result["help"]
    run, plain_curve = result["runs"].values()
    assert run["config"]["clock"]["price"] == 2.0
    rate = plain_curve["config"]["rl"]["learning_rate"]
    assert plain_curve["config"]["clock"]["unit"] == pytest.approx(rate / 10)
    assert plain_curve["sources"]["clock.price"] == "preset"
    assert plain_curve["sources"]["clock.unit"] == "default"


class Point:
    """An entry point of a package."""

    value = "own:METHOD"

    def __init__(self, name: str, method: object) -> None:
        self.name, self._method = name, method

    def load(self) -> object:
        """Return what it names."""
        return self._method


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("no method", "a trainers.methods.method.Method of the same name, got 'no method'"),
        (Method(name="critic", trust={"x": PLAIN}), "of the same name, got Method(name='critic'"),
    ],
)
def test_an_entry_point_that_names_no_new_method_is_refused(
    monkeypatch: pytest.MonkeyPatch, method: object, sentence: str
) -> None:
    monkeypatch.setattr(table, "entry_points", lambda group: [Point("own", method)])
    monkeypatch.setattr(table, "_entries", table._entries.__wrapped__)
    with pytest.raises(ConfigurationError, match="the entry point own = own:METHOD") as refused:
        table.get_method.__wrapped__("own")
    assert sentence in str(refused.value)


def test_an_entry_point_whose_name_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "entry_points", lambda group: [Point("critic", None)])
    with pytest.raises(ConfigurationError, match="got 'critic', which is taken"):
        table._entries.__wrapped__()


def test_every_method_has_the_name_that_its_needs_and_the_table_have() -> None:
    assert method_names()[: len(BUILT_IN)] == BUILT_IN
    for method in methods():
        assert all(need.method == method.name for need in method.needs)
        assert get_method(method.name) is method
    assert get_method("") is get_method("none") is None


@pytest.mark.parametrize(
    ("preset", "imported"),
    [("turn-loo", []), ("grpo", []), ("agentrl", ["async_rollouts", "cross_policy"])],
)
def test_a_preset_imports_no_methods_behind_its_own(preset: str, imported: list[str]) -> None:
    code = f"""
import sys
from trainers.algorithms.presets import get_preset, served
preset = get_preset({preset!r})
preset.require(served(preset))
print([name.split(".")[2] for name in sys.modules if name.endswith(".method")
       and name.count(".") == 3 and name.startswith("trainers.methods.")])
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == str(imported)
