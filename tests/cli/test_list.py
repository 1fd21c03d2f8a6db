from __future__ import annotations

import json
import sys
from importlib import import_module
from inspect import signature
from typing import Any

import pytest

from agentgym.cli import listing
from agentgym.registration import families
from agentgym.registration.imports import IMPORTS
from tests.cli.test_commands import run


def test_every_kind_of_import_is_shown(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setitem(sys.modules, "gem", None)
    out = run(capsys, "list")[1]
    for prefix, kind in IMPORTS.items():
        assert f"{prefix}:{kind.form}" in out


def test_a_prefix_lists_what_the_project_offers(capsys: Any) -> None:
    code, out, _ = run(capsys, "list", "gymnasium:")
    assert code == 0 and "gymnasium:FrozenLake-v1" in out.splitlines()
    rows = json.loads(run(capsys, "list", "gymnasium:", "--json")[1])
    assert {"name": "gymnasium:CartPole-v1"} in rows


def test_a_name_is_described_with_what_it_cannot_do(capsys: Any) -> None:
    code, out, _ = run(capsys, "list", "gymnasium:FrozenLake-v1", "webshop")
    assert code == 0
    assert "id: gymnasium/FrozenLake-v1-v0\n" in out and "no expert" in out
    assert "id: agentgym/WebShop-v0\n" in out
    row = json.loads(run(capsys, "list", "gymnasium:FrozenLake-v1", "--json")[1])[0]
    assert row["splits"]["test"] == 1000 and len(row["limits"]) == 3
    assert "reward_threshold" in row["limits"][0]


@pytest.mark.parametrize("name", ["nothing", "gymnasium:Nothing-v0", "gem:"])
def test_what_is_unknown_is_said(capsys: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gem", None)
    code, out, err = run(capsys, "list", name)
    assert ("expected" in err and code == 2) or ("expected gymnasium:ID" in out and code == 1)


def test_a_family_that_lacks_its_package_is_said_to(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    some = [entry for entry in listing.families() if entry.name in ("babyai", "textcraft")]
    monkeypatch.setattr(listing, "families", lambda: some)
    rows = {row["name"]: row["status"] for row in json.loads(run(capsys, "list", "--json")[1])}
    assert rows == {"babyai": "needs the extra babyai", "textcraft": "ready"}
    code, _, err = run(capsys, "play", "babyai")
    assert code == 2 and err.count("\n") == 1 and err.startswith("agentgym: expected the package")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_list_cuts_no_word(capsys: Any, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(capsys, "list")[1]
    assert "…" not in out and all(len(line) <= width for line in out.splitlines())
    words = " ".join(out.split())
    for entry in listing.families():
        assert set(entry.summary.split()) <= set(words.split()) and entry.name in words


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_list_of_repair_tasks_cuts_no_id(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(capsys, "swe", "list", "--split", "test", "--num-tasks", "20")[1]
    assert "laxjson-changed-interface-001" in out and "…" not in out
    assert all(len(line) <= width for line in out.splitlines())


def test_what_the_argument_data_reads_is_said(capsys: Any) -> None:
    for entry in families():
        module, _, name = entry.entry_point.partition(":")
        parameters = signature(getattr(import_module(module), name)).parameters
        assert bool(entry.data) == ("data" in parameters), entry.name
    _, out, _ = run(capsys, "list", "service")
    assert "with --env-kwargs data=PATH: the tasks of tau-bench" in out
