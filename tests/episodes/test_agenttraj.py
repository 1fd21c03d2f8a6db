"""AgentTraj: what AgentGym's trainers read of an episode, the episode back, and files of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.outcome import well_formed
from agentgym.episodes import Episode, Recorder, append_episode, export, read_any
from agentgym.errors import ConfigurationError, DataError
from agentgym.registration import FAMILIES
from tests.cli.test_commands import run, wide
from tests.episodes.test_atif import sound
from tests.episodes.test_exporter import HOSTILE, episodes
from tests.toy import TOY_ID

__all__ = ["episodes", "wide"]
OTHERS = {
    "item_id": "webshop_6",
    "conversations": [
        {"from": "human", "loss": None, "value": "You are web shopping."},
        {"from": "gpt", "loss": False, "value": "Ok."},
        {"from": "human", "loss": None, "value": "Find me shorts [SEP] Search"},
        {"from": "gpt", "loss": True, "value": "Thought:\nI search.\n\nAction:\nsearch[shorts]"},
        {"from": "human", "loss": None, "value": "Page 1"},
        {"from": "gpt", "loss": True, "value": "Thought:\nBuy.\n\nAction:\nclick[Buy Now]"},
    ],
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, episodes: list[Episode]) -> Path:
    """Every family, the toy and hostile text, exported."""
    folder = tmp_path_factory.mktemp("agenttraj")
    for episode in episodes:
        append_episode(folder / "e.jsonl", episode)
    export(folder / "e.jsonl", folder / "e.json", "agenttraj")
    return folder / "e.json"


def test_every_family_comes_back_whole(file: Path, episodes: list[Episode]) -> None:
    assert list(read_any(file)) == [sound(episode) for episode in episodes]


def test_an_item_is_what_agentgym_publishes(file: Path, episodes: list[Episode]) -> None:
    items = json.loads(file.read_bytes())
    for item, episode, entry in zip(items, episodes, FAMILIES, strict=False):
        name, _, number = item["item_id"].rpartition("_")
        assert name == entry.name and int(number) >= 0
        rules, agreed, first, *later = item["conversations"]
        assert rules["from"] == "human" and rules["value"] and rules["loss"] is None
        assert agreed == {"from": "gpt", "loss": False, "value": "Ok."}
        assert first["value"] == episode.start.observation
        assert [message["value"] for message in later[::2]] == [
            turn.raw_text or turn.action for turn in episode.turns
        ]
        assert all(message["from"] == "gpt" and message["loss"] for message in later[::2])
        assert [message["value"] for message in later[1::2]] == [
            turn.after.observation for turn in episode.turns[:-1]
        ]
    assert items[-1]["conversations"][3]["value"] == well_formed(HOSTILE)


def test_what_several_agents_said_is_no_conversation(tmp_path: Path) -> None:
    recorded = tmp_path / "e.jsonl"
    env = Recorder(gymnasium.make(TOY_ID, worker_turns=3, horizon=3), recorded)
    for actions in (["press red"] * 3, ["delegate the rest", "press red", "report done"]):
        env.reset(seed=0, options={"split": "test", "index": 0})
        for action in actions:
            env.step(action)
    env.close()
    alone, mixed = read_any(recorded)
    assert {turn.after.agent for turn in alone.turns} == {"planner"}
    out = tmp_path / "e.json"
    with pytest.raises(ConfigurationError, match="planner and workers: export to sft"):
        export(recorded, out, "agenttraj")
    assert not out.exists() and mixed.turns[0].after.agent == "worker 1"


def test_files_of_others_are_read_and_shown(capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "webshop_train.json"
    file.write_text(json.dumps([OTHERS, {**OTHERS, "item_id": "sqlgym_1"}]))
    episode, other_format = read_any(file)
    assert (episode.env_id, episode.task_id) == ("agentgym/WebShop-v0", "webshop_6")
    assert other_format.env_id == "sqlgym" and episode.split == "train"
    assert episode.start.observation == "Find me shorts [SEP] Search"
    assert [turn.executed for turn in episode.turns] == ["search[shorts]", "click[Buy Now]"]
    assert [turn.after.observation for turn in episode.turns] == ["Page 1", ""]
    assert (episode.reward, episode.success) == (0.0, False)
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, "view", str(file), "--out", str(page))
    assert code == 0 and "2 episodes" in out and "click[Buy Now]" in page.read_text("utf-8")


def test_the_viewer_shows_what_was_exported(capsys: Any, tmp_path: Path, file: Path) -> None:
    atif, page = tmp_path / "atif", tmp_path / "page.html"
    assert run(capsys, "export", str(file), str(atif), "--to", "atif")[0] == 0
    for source in (file, atif, atif / "000002.json"):
        code, out, _ = run(capsys, "view", str(source), "--out", str(page))
        assert code == 0 and "episode" in out and page.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([3], "item 0: expected the top to be an object"),
        ([{"item_id": "webshop_1", "conversations": None}], "'conversations' to be a list"),
        ([OTHERS, {"item_id": "webshop_1"}], "item 1: expected the field 'conversations'"),
        ([{**OTHERS, "conversations": OTHERS["conversations"][:2]}], "got 2 messages"),
        ([{**OTHERS, "conversations": OTHERS["conversations"][1:]}], "of gpt human gpt"),
        ([{**OTHERS, "conversations": [{"from": "system", "value": ""}]}], "human"),
        ([{**OTHERS, "agentgym": {"turns": [3]}}], "in the field agentgym"),
        (
            [{**OTHERS, "agentgym": {"format": "agentgym.episode/1", "start": {}, "turns": []}}],
            "zip",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(
    capsys: Any, tmp_path: Path, items: Any, words: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(items))
    with pytest.raises(DataError, match=r"bad\.json: item"):
        list(read_any(file))
    for command in (
        ("export", str(file), str(tmp_path / "o"), "--to", "records"),
        ("view", str(file)),
    ):
        code, out, err = run(capsys, *command)
        assert code == 2 and words in " ".join(err.split()) and "Traceback" not in out + err


def test_a_changed_item_is_no_episode(tmp_path: Path, file: Path) -> None:
    items = json.loads(file.read_bytes())
    items[0]["agentgym"]["turns"][0]["reward"] = "much"
    (tmp_path / "changed.json").write_text(json.dumps(items))
    with pytest.raises(DataError, match="reward"):
        list(read_any(tmp_path / "changed.json"))
