"""A record that somebody else made runs, imports, opens and contacts nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.episodes import ChatWriter, Episode, Rescorer, read_episodes, replay
from agentgym.episodes.exporter import export
from agentgym.episodes.recorder import package_versions
from agentgym.errors import AgentGymError
from agentgym.evaluation import Report
from agentgym.evaluation.entries import OpenedPanel, open_panel, verify_entry
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.evaluation_folder import EVALUATION
from agentgym.registration import FAMILIES
from agentgym.registration.imports import register
from agentgym.trust import NotTrusted, trusting
from tests.trust.acts import MODULE, Place, acting_arguments, hostile_place


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Episode:
    """Return a record of one turn."""
    file = tmp_path_factory.mktemp("honest") / "episodes.jsonl"
    agentgym.evaluate("random", "textcraft", num_tasks=1, horizon=2, record=file)
    return next(iter(read_episodes(file)))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return the folder of a download."""
    with hostile_place(tmp_path / "download", monkeypatch) as download:
        yield download


def _file(episode: Episode) -> Path:
    path = Path("episodes.jsonl")
    path.write_text(episode.to_line())
    return path


def _replayed(episode: Episode) -> None:
    replay(episode)


def _replayed_file(episode: Episode) -> None:
    report = agentgym.replay_file(_file(episode))
    raise AssertionError(report)


def _rescored(episode: Episode) -> None:
    with Rescorer(play=True) as rescorer:
        rescorer(episode)


def _chat(episode: Episode) -> None:
    ChatWriter().rows(episode)


def _exported(to: Any) -> Callable[[Episode], None]:
    def read(episode: Episode) -> None:
        export(_file(episode), "out", to)

    return read


def _verified(episode: Episode) -> None:
    """Verify an entry of this episode, whose report names the same environment."""
    facts = {"env_id": episode.env_id, "env_kwargs": episode.env_kwargs, "policy": "random"}
    facts |= {"split": "test", "seed": 0, "panel_sha256": "0" * 64}
    row = EpisodeResult.of(episode)
    report = Report(**facts, rows=(row,), planned=1, versions=package_versions())
    settings = {**facts, "n": 1, "samples": 1, "horizon": None, "policy_facts": {}}
    head = {"format": EVALUATION, "settings": settings, "started": "", "seconds": 0.0}
    Path("entry").mkdir(exist_ok=True)
    Path("entry/report.json").write_text(json.dumps(report.to_dict()))
    Path("entry/evaluation.json").write_text(json.dumps(head))
    Path("entry/episodes.jsonl").write_text(episode.to_line())
    verify_entry("entry")


def _opened(episode: Episode) -> None:
    """Open a panel of this episode's environment."""
    opened = OpenedPanel(
        env_id=episode.env_id, env_kwargs=episode.env_kwargs, split="test", num_tasks=1, seed=0,
        panel_sha256="", task_ids=(), salt="", commitment="",
    )  # fmt: skip
    opened = replace(opened, commitment=opened.recomputed())
    open_panel(opened.seal(), opened)


READERS = {
    "replay": _replayed,
    "replay_file": _replayed_file,
    "Rescorer": _rescored,
    "ChatWriter": _chat,
    "leaderboard verify": _verified,
    "leaderboard open": _opened,
    "export --to sft": _exported("sft"),
    "export --to agenttraj": _exported("agenttraj"),
}
"""What makes the environment of a record."""


def _id(kind: str) -> str:
    """Return an id of a kind whose name alone is plain, or the kind's most harmless name."""
    ids = {entry.name: entry.id for entry in FAMILIES}
    return ids.get(kind) or register(kind, "harmless")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("form", ["name", "id"])
def test_no_kind_of_environment_that_is_not_plain(
    place: Place, honest: Episode, reader: str, form: str
) -> None:
    for kind, name in place.environments().items():
        env_id = name
        if form == "id" and kind != "own":
            env_id = register(*name.split(":", 1))
        with pytest.raises(AgentGymError) as refused:
            READERS[reader](replace(honest, env_id=env_id, env_kwargs={}))
        if kind != "own":  # is no id of anything
            assert "--trust" in str(refused.value) and name in str(refused.value)
        place.assert_that_nothing_happened()


@pytest.mark.parametrize("reader", READERS)
def test_no_argument_that_is_not_plain(place: Place, honest: Episode, reader: str) -> None:
    for kind, name, row in acting_arguments():
        hostile = replace(
            honest, env_id=_id(kind), env_kwargs={name: place.value(row, name)}, reward_hooks=()
        )
        if reader in ("ChatWriter", "Rescorer") and name == "reward_hooks":
            continue  # replaced, never read
        if ("export" in reader or "leaderboard" in reader) and name == "reward_hooks":
            continue
        with pytest.raises(AgentGymError, match="--trust") as refused:
            READERS[reader](hostile)
        assert f"{name}=" in str(refused.value), (kind, name)
        place.assert_that_nothing_happened()


def test_the_commands_refuse_with_the_flag_that_allows_it(
    place: Place, honest: Episode, capsys: pytest.CaptureFixture[str]
) -> None:
    _file(replace(honest, env_id=register("mcp", "touch ran"), env_kwargs={}))
    for argv in (
        ["replay", "episodes.jsonl"],
        ["replay", "episodes.jsonl", "--rescore", "--env-kwargs", "horizon=9"],
        ["export", "episodes.jsonl", "out", "--to", "sft"],
        ["export", "episodes.jsonl", "out", "--to", "agenttraj"],
    ):
        assert main(argv) == 2
        assert "--trust 'env=mcp:touch ran'" in capsys.readouterr().err
    place.assert_that_nothing_happened()
    main(["replay", "episodes.jsonl", "--trust", "env=mcp:touch ran"])
    message = capsys.readouterr().err
    assert message.startswith("the record says env=mcp:touch ran, which makes it run that command")
    assert Path("ran").exists()


def test_trust_is_for_one_value_and_one_block(place: Place, honest: Episode) -> None:
    hostile = replace(honest, env_id="agentgym/SWE-v0", env_kwargs={"sandbox": f"{MODULE}:Thing"})
    for text in ("sandbox=subprocess", "sandbox", f"env={MODULE}:Thing", "allow_unsafe=true"):
        with pytest.raises(AgentGymError), trusting(text):
            replay(hostile)
    place.assert_that_nothing_happened()
    messages: list[str] = []
    with (
        pytest.raises(AgentGymError) as other_error,
        trusting(f"sandbox={MODULE}:Thing", say=messages.append),
    ):
        replay(hostile)
    assert not isinstance(other_error.value, NotTrusted) and len(messages) == 1
    with pytest.raises(NotTrusted):
        replay(hostile)


def test_an_environment_that_the_user_typed_is_no_news(place: Place, honest: Episode) -> None:
    _file(replace(honest, env_id=register("mcp", "touch ran"), env_kwargs={}))
    with pytest.raises(AgentGymError, match="server ended"):
        agentgym.replay_file("episodes.jsonl", env="mcp:touch ran")
    assert Path("ran").exists()


@pytest.mark.slow
def test_other_processes_refuse_and_trust_alike(place: Place, honest: Episode) -> None:
    _file(replace(honest, env_id=register("mcp", "touch ran"), env_kwargs={}))
    with pytest.raises(AgentGymError, match="--trust"):
        agentgym.replay_file("episodes.jsonl", workers=2)
    place.assert_that_nothing_happened()
    with pytest.raises(AgentGymError, match="server ended"), trusting("env=mcp:touch ran"):
        agentgym.replay_file("episodes.jsonl", workers=2)


def test_a_recorded_judge_is_not_asked(place: Place, honest: Episode) -> None:
    judge = {"model": "m", "url": f"http://127.0.0.1:{place.port}/v1"}
    hostile = replace(honest, reward_hooks=({"class": "Judge", "fields": judge},), hooks=("judge",))
    replay(hostile)
    agentgym.replay_file(_file(hostile))
    place.assert_that_nothing_happened()


def test_a_plain_record_needs_no_trust(honest: Episode) -> None:
    kwargs = {"difficulty": "medium", "horizon": 2, "grammar": "native", "generator_seed": 0}
    assert replay(replace(honest, env_kwargs=kwargs)).equal
