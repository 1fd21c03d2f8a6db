"""What ``agentgym`` tells somebody who has just installed it."""

from __future__ import annotations

import json
import shlex
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import abilities, doctor, main
from agentgym.cli.first_steps import STEPS
from agentgym.cli.parsing import parse
from agentgym.errors import ConfigurationError
from agentgym.registration import COMMANDS
from tests.policies import installed
from tests.policies.installed import ROOT


def lines(capsys: Any, *argv: str) -> tuple[int, str]:
    code = main(list(argv))
    return code, capsys.readouterr().out


@pytest.fixture
def bare(monkeypatch: Any) -> None:
    """A machine with the core alone: no optional package, no compiler, no sandbox."""
    monkeypatch.setattr(abilities, "find_spec", lambda name: None)
    monkeypatch.setattr(abilities.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "probe", lambda name: "expected Linux")


def test_no_arguments_say_what_to_do_next(capsys: Any) -> None:
    code, out = lines(capsys)
    assert code == 0
    typed = [line.strip() for line in out.splitlines() if line.startswith("  agentgym")]
    assert typed == [command for command, _ in STEPS]
    points = installed.declared(COMMANDS)
    for words in map(shlex.split, typed):
        if words[1] in points:
            assert Path(ROOT, f"{points[words[1]].partition(':')[0].replace('.', '/')}.py").exists()
        else:
            parse(words[1:])  # each step is a command that exists


def test_doctor_lists_abilities_and_how_to_get_the_missing_ones(capsys: Any, bare: None) -> None:
    checks = json.loads(lines(capsys, "doctor", "--json")[1])
    by_name = {
        check["name"]: check for check in checks if check["group"] in ("environment", "engine")
    }
    assert by_name["webshop: bundled tasks"]["ok"]
    assert not by_name["swe: bundled tasks"]["ok"]
    assert by_name["swe: bundled tasks"]["fix"] == doctor.install_command("swe")
    original = by_name["textworld engine=inform7 (the original)"]
    assert original["detail"] == "needs textworld, built with g++, cmake, make"
    assert original["fix"] == f"{abilities.COMPILE} && {doctor.install_command('textworld')}"
    code, out = lines(capsys, "doctor")
    assert code == 0  # nothing of this is needed to begin
    assert f"\n  {abilities.COMPILE}\n" in out
    assert "expected Linux" in out


def test_doctor_knows_which_families_need_a_sandbox(
    capsys: Any, bare: None, monkeypatch: Any
) -> None:
    monkeypatch.setattr(abilities, "find_spec", lambda name: ModuleSpec(name, None))
    checks = json.loads(lines(capsys, "doctor", "--json")[1])
    lacking = {
        check["name"] for check in checks if check["detail"] == "needs one of the sandboxes below"
    }
    assert lacking == {f"{name}: bundled tasks" for name in ("mathpython", "shell", "swe")}
    assert not any(check["fix"] for check in checks if check["name"] in lacking)


def test_parts_name_extras_that_bring_their_packages() -> None:
    extras = {check.group for check in doctor.examine()}
    assert {part.extra for part in abilities.PARTS} <= extras


def test_a_turn_budget_by_another_name_is_told_apart() -> None:
    with pytest.raises(ConfigurationError, match="the turn budget is 'horizon' here, not 'max_t"):
        agentgym.make("webshop", max_turns=3)


def test_doctor_lets_the_experts_play(capsys: Any, monkeypatch: Any) -> None:
    some = [family for family in abilities.families() if family.name == "textworld"]
    monkeypatch.setattr(abilities, "families", lambda: some)
    code, out = lines(capsys, "doctor", "--play")
    assert code == 0 and "textworld: the expert solved a task" in out


def test_doctor_plays_no_family_whose_packages_are_missing(
    capsys: Any, bare: None, monkeypatch: Any
) -> None:
    some = [family for family in abilities.families() if family.name in ("swe", "babyai")]
    monkeypatch.setattr(abilities, "families", lambda: some)
    code, out = lines(capsys, "doctor", "--play")
    assert code == 1 and "babyai: needs minigrid\nswe: needs pytest\n" in out
