"""Panels that are fixed now and published later."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation.entries import (
    EntryRefused,
    OpenedPanel,
    SealedPanel,
    open_panel,
    seal_panel,
    verify_entry,
)
from agentgym.trust import NotTrusted
from tests.toy import TOY_ID


@pytest.fixture(scope="module")
def opened() -> OpenedPanel:
    return seal_panel(TOY_ID, "test", 3)


def test_a_seal_tells_nothing_and_opens(opened: OpenedPanel, tmp_path: Path) -> None:
    sealed = opened.seal()
    text = json.dumps(sealed.to_dict())
    assert not any(task in text for task in opened.task_ids) and opened.salt not in text
    assert str(opened.seed) not in text and opened.panel_sha256 not in text
    sealed.write(tmp_path / "sealed.json")
    opened.write(tmp_path / "opening.json")
    assert SealedPanel.read(tmp_path / "sealed.json") == sealed
    assert OpenedPanel.read(tmp_path / "opening.json") == opened
    assert open_panel(sealed, opened) == opened
    with pytest.raises(ConfigurationError, match="expected a new file"):
        sealed.write(tmp_path / "sealed.json")
    with pytest.raises(DataError, match="opened-panel"):
        OpenedPanel.read(tmp_path / "sealed.json")


def test_no_two_seals_are_equal() -> None:
    first, second = (seal_panel(TOY_ID, "test", 3, seed=7) for _ in range(2))
    assert first.task_ids == second.task_ids and first.commitment != second.commitment
    drawn = {seal_panel(TOY_ID, "test", 3).seed for _ in range(3)}
    assert len(drawn) == 3


def _others(opened: OpenedPanel) -> OpenedPanel:
    return seal_panel(TOY_ID, "test", 3, seed=opened.seed + 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda opened: {"task_ids": _others(opened).task_ids},
        lambda opened: {"task_ids": opened.task_ids[::-1]},
        lambda opened: {"salt": "0" * 64},
        lambda opened: {"seed": opened.seed + 1},
        lambda opened: {"panel_sha256": "0" * 64},
        lambda opened: {"horizon": 40},
        lambda opened: {"num_tasks": 2},
        lambda opened: {"split": "train"},
        lambda opened: {"env_kwargs": {"horizon": 40}},
    ],
)
@pytest.mark.parametrize("recommitted", [False, True])
def test_another_opening_is_refused(opened: OpenedPanel, change: Any, recommitted: bool) -> None:
    sealed, forged = opened.seal(), replace(opened, **change(opened))
    if recommitted:
        forged = replace(forged, commitment=forged.recomputed())
    with pytest.raises(DataError, match=r"commitment|whose"):
        open_panel(sealed, forged)


@pytest.mark.parametrize(
    "change", [{"panel_sha256": "0" * 64}, {"task_ids": ("toy/a", "toy/b", "toy/c")}]
)
def test_sealed_tasks_are_those_of_the_seed(opened: OpenedPanel, change: Any) -> None:
    forged = replace(opened, **change)
    forged = replace(forged, commitment=forged.recomputed())
    with pytest.raises(DataError, match="draws with the opened seed"):
        open_panel(forged.seal(), forged)


def test_an_opening_names_only_plain_data(opened: OpenedPanel) -> None:
    forged = replace(opened, env_id="agentgym/WebShop-v0", env_kwargs={"data": "/etc"})
    forged = replace(forged, commitment=forged.recomputed())
    with pytest.raises(NotTrusted, match="data=/etc"):
        open_panel(forged.seal(), forged)


def test_entries_must_have_played_the_panel(opened: OpenedPanel, tmp_path: Path) -> None:
    for name, seed in (("entry", opened.seed), ("other", 0)):
        agentgym.evaluate("oracle", TOY_ID, "test", 3, seed, out=tmp_path / name)
    entry = verify_entry(tmp_path / "entry", panel=opened)
    assert entry.commitment == opened.commitment
    with pytest.raises(EntryRefused, match="seed differs"):
        verify_entry(tmp_path / "other", panel=opened)
    with pytest.raises(DataError, match="the opening has been changed"):
        verify_entry(tmp_path / "entry", panel=replace(opened, salt="0"))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seal = ["leaderboard", "seal", "webshop:easy", "--num-tasks", "2", "--out", str(tmp_path)]
    assert main(seal) == 0 and "commitment" in capsys.readouterr().out
    files = [str(tmp_path / name) for name in ("sealed.json", "opening.json")]
    assert (tmp_path / "opening.json").stat().st_mode & 0o077 == 0
    assert main(["leaderboard", "open", *files]) == 0
    command = " ".join(capsys.readouterr().out.split())
    assert "agentgym eval agentgym/WebShop-v0 --split test --num-tasks 2 --seed" in command
    assert main(["leaderboard", "open", *files, "--json"]) == 0
    seed = json.loads(capsys.readouterr().out)["seed"]
    kwargs = SealedPanel.read(files[0]).env_kwargs
    agentgym.evaluate(
        "random", "webshop", "test", 2, seed, env_kwargs=kwargs, out=tmp_path / "entry"
    )
    verify = ["leaderboard", "verify", str(tmp_path / "entry"), "--panel", files[1]]
    assert main([*verify, "--page", str(tmp_path / "page.html")]) == 0
    assert SealedPanel.read(files[0]).commitment in (tmp_path / "page.html").read_text()
    opening = json.loads(Path(files[1]).read_text())
    Path(files[1]).write_text(json.dumps({**opening, "salt": "0"}))
    assert main(["leaderboard", "open", *files]) == 2
