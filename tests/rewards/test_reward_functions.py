"""Reward functions by name: on the command line, in records, and not in somebody else's files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.cli import main
from agentgym.core.reward_functions import RewardFunction
from agentgym.errors import ConfigurationError, DataError
from agentgym.rewards import parse_hooks
from agentgym.rewards.table import hook_words, hooks_from_json, hooks_to_json
from agentgym.trust import hook_claims
from tests.test_readme import ROOT

PAGE = ROOT / ".site" / "how-to" / "reward-functions.md"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module of the page, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    match = re.search(r"`my_rewards.py`:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert match is not None
    Path("my_rewards.py").write_text(match[1])
    yield
    sys.modules.pop("my_rewards", None)


def read_terms(folder: str) -> list[dict[str, float]]:
    lines = Path(folder, "episodes.jsonl").read_text().split("\n")[:-1]
    return [json.loads(line)["turns"][-1]["reward_terms"] for line in lines]


def test_the_commands_of_the_page(module: None, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^agentgym (eval .*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 2
    assert main([*commands[0].split(), "--out=played", "--quiet"]) == 0
    terms = read_terms("played")
    assert len(terms) == 4 and {term["compute_score"] for term in terms} == {0.5}
    assert all(0.0 < term["brevity"] < 0.2 for term in terms)
    capsys.readouterr()
    assert main(["replay", "played", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["equal"] == 4
    flags = ["--rescore", "--reward", "my_rewards:brevity=-1", "--out=new.jsonl"]
    assert main(["replay", "played", *flags]) == 0
    del sys.modules["my_rewards"]
    capsys.readouterr()
    assert main(["replay", "played"]) == 2
    assert "the module 'my_rewards' to be imported" in capsys.readouterr().err


def test_a_function_has_fields_and_comes_back_from_a_record(module: None) -> None:
    text = "my_rewards:compute_score:weight=0.5,each=true,data_source=a/b,name=right"
    (hook,) = hooks = parse_hooks([text])
    assert isinstance(hook, RewardFunction) and (hook.name, hook.weight) == ("right", 0.5)
    stored = hooks_to_json(hooks)
    assert stored is not None and json.loads(json.dumps(stored)) == [*stored]
    assert hooks_from_json(stored) == hooks
    assert hook_words(stored[0]) == "my_rewards:compute_score:weight=0.5,each=true,data_source=a/b"
    assert hooks_to_json([hook.function]) == ({"class": "my_rewards:compute_score", "fields": {}},)
    assert hooks_to_json([RewardFunction(lambda completion: 1.0)]) is None
    with pytest.raises(DataError, match="expected an object with fields of weight, each, plain"):
        hooks_from_json([{"class": "my_rewards:compute_score", "fields": {"function": "x"}}])


def test_no_file_decides_what_is_imported(module: None) -> None:
    (claim,) = hook_claims(["my_rewards:brevity=0.5"])
    assert not claim.plain and claim.nature == "code"
    with pytest.raises(ConfigurationError, match="no record decides what is run"):
        hooks_from_json([{"class": "my_rewards:brevity", "fields": {}}])
    assert "my_rewards" not in sys.modules
    with pytest.raises(DataError, match="the record is damaged"):
        hooks_from_json([{"class": "json:dumps", "fields": {}}])


def test_what_is_no_reward_function_is_refused(
    module: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my_rewards.py").write_text("def bad(x):\n    return x\n")
    assert main(["eval", "mathpython", "--policy=random", "--reward=my_rewards:bad"]) == 2
    error = capsys.readouterr().err
    for form in ("f(completions, **columns) of TRL", "extra_info) of verl", "@vf.reward of verif"):
        assert form in error
