"""Rows of prompts, and responses to them that become episodes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgym import make
from agentgym.episodes import ChatOptions, Episode, Recorder, append_episode, export, read_episodes
from agentgym.episodes.task_reference import COLUMN
from agentgym.errors import AgentGymError, ConfigurationError, DataError
from agentgym.interop.played_rows import has_tasks, play_rows
from agentgym.interop.prompt_rows import prompt_rows
from agentgym.registration import FAMILIES
from agentgym.trust import NotTrusted
from tests.cli.test_commands import run, wide
from tests.toy import TOY_ID
from tests.trust.acts import acting_arguments, harmless_name, hostile_place

__all__ = ["wide"]
IDS = [*(entry.id for entry in FAMILIES), TOY_ID]


def expert_episode(env_id: str, grammar: str = "native") -> Episode:
    """Return an episode of the expert that begins with a slip."""
    with Recorder(make(env_id, grammar=grammar), None, policy="expert") as env:
        base: Any = env.unwrapped
        env.reset(seed=3, options={"split": "train", "index": 0})
        env.step("nonsense")
        while env.last is None:
            env.step(base.oracle_action())
        assert env.last is not None and env.last.success
        return env.last


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("grammar", ["native", "tool_call"])
@pytest.mark.parametrize("env_id", IDS)
def test_conversations_come_back_as_the_episodes(tmp_path: Path, env_id: str, grammar: str) -> None:
    episode = expert_episode(env_id, grammar)
    for shape in ("episode", "turn"):
        path = tmp_path / f"{shape}.jsonl"
        export([episode, episode], path, "sft", chats=ChatOptions(shape=shape))  # type: ignore[arg-type]
        assert has_tasks(path)
        for replayed in play_rows(path):
            assert (replayed.env_id, replayed.env_kwargs) == (episode.env_id, episode.env_kwargs)
            assert (replayed.task_id, replayed.seed) == (episode.task_id, episode.seed)
            assert [turn.executed for turn in replayed.turns] == [
                turn.executed for turn in episode.turns
            ]
            assert [turn.after for turn in replayed.turns] == [turn.after for turn in episode.turns]
            assert (replayed.reward, replayed.success) == (episode.reward, True)
            assert replayed.stop_reason == episode.stop_reason
    assert len(rows_in(tmp_path / "turn.jsonl")) == 2 * len(episode.turns)
    assert len([*play_rows(tmp_path / "turn.jsonl")]) == 2


@pytest.mark.parametrize("env_id", IDS)
def test_a_row_names_its_task_and_asks_as_a_policy_is_asked(env_id: str, tmp_path: Path) -> None:
    first, second = rows = prompt_rows(env_id, split="test", num_tasks=2)
    assert first["extra_info"]["task_id"] != second["extra_info"]["task_id"]
    assert first["reward_model"]["ground_truth"] == first["reward_spec"]["ground_truth"]
    answered = [
        {**first, "completion": "nonsense"},
        {**second, "completion": [{"role": "assistant", "content": "nonsense"}]},
    ]
    path = write(tmp_path / "answered.jsonl", *answered)
    for row, episode in zip(rows, play_rows(path), strict=True):
        assert episode.task_id == row["extra_info"]["task_id"]
        assert episode.start.observation in row["prompt"][-1]["content"]
        assert [turn.action for turn in episode.turns] == ["nonsense"]


def test_examples_of_a_prompt_are_no_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the checkout has a folder with the name of the protocol
    prompt = tmp_path / "p.toml"
    prompt.write_text('[[env]]\nname = "webshop"\n[env.prompt]\nkind = "turns"\nexample = true\n')
    row = prompt_rows("webshop", num_tasks=1, prompt="agentgym")[0]
    assert [message["role"] for message in row["prompt"]].count("assistant") == 1
    path = write(tmp_path / "rows.jsonl", {**row, "completion": "Action:\nsearch[red]"})
    [episode] = play_rows(path)
    assert [turn.executed for turn in episode.turns] == ["search[red]"]


def test_the_command_writes_tasks_and_plays_responses(capsys: Any, tmp_path: Path) -> None:
    tasks, episodes = tmp_path / "tasks.jsonl", tmp_path / "episodes.jsonl"
    options = ("--env-kwargs", "difficulty=easy", "--split", "test", "--seed", "4")
    code, out, _ = run(
        capsys, "export", "mathpython", str(tasks), "--to", "prompts", "--num-tasks", "3", *options
    )
    assert code == 0 and "3 tasks written" in out
    rows = rows_in(tasks)
    assert [json.loads(row[COLUMN])["env"] for row in rows] == ["mathpython"] * 3
    answers = [{**row, "completion": f"answer[{row['solution']}]"} for row in rows]
    responses = write(tmp_path / "responses.jsonl", *answers)
    assert run(capsys, "export", str(responses), str(episodes), "--to", "records")[0] == 0
    episodes_played = [*read_episodes(episodes)]
    assert [episode.success for episode in episodes_played] == [True] * 3
    assert [episode.split for episode in episodes_played] == ["test"] * 3
    # Of recorded episodes, each task once.
    second_file = tmp_path / "again.jsonl"
    append_episode(episodes, episodes_played[0])
    assert run(capsys, "export", str(episodes), str(second_file), "--to", "prompts")[0] == 0
    of_episodes = rows_in(second_file)
    for row, expected in zip(of_episodes, rows, strict=True):
        assert {**row, COLUMN: ""} == {**expected, COLUMN: ""}
    code, _, err = run(capsys, "export", str(tasks), str(tmp_path / "o"), "--to", "records")
    assert code == 2 and "expected responses to play" in err
    code, _, err = run(capsys, "export", str(episodes), "o", "--to", "sft", "--split", "test")
    assert code == 2 and "--to prompts and the name of an environment only" in err


def test_rows_of_several_kinds_of_answers_are_json_lines_only(tmp_path: Path) -> None:
    episodes = [expert_episode("agentgym/MathPython-v0"), expert_episode("agentgym/Search-v0")]
    report = export(episodes, tmp_path / "rows.jsonl", "prompts")
    assert (report.exported, report.rows) == (2, 2)
    with pytest.raises(DataError, match=r"one environment at a time, or to a file that ends in"):
        export(episodes, tmp_path / "rows.parquet", "prompts")
    secret = replace(episodes[0], not_stored=("retriever",))
    with pytest.raises(ConfigurationError, match=r"retriever of agentgym/MathPython-v0"):
        export([secret], tmp_path / "secret.jsonl", "prompts")


def test_a_users_own_arguments_need_no_trust_but_a_row_does(tmp_path: Path) -> None:
    data = write(
        tmp_path / "sums.jsonl", *({"problem": f"{n} + 1?", "answer": n} for n in range(9))
    )
    rows = prompt_rows("mathpython", num_tasks=1, data=str(data))
    path = write(tmp_path / "rows.jsonl", {**rows[0], "completion": "answer[1]"})
    with pytest.raises(NotTrusted, match="--trust data="):
        next(play_rows(path))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({COLUMN: "webshop"}, "expected a row that agentgym export --to prompts or sft wrote"),
        ({COLUMN: '{"env": "webshop"}'}, "task_id"),
        ({"completion": None}, "expected responses to play"),
        ({"completion": 3}, "expected responses to play"),
        ({"completion": [{"role": "assistant", "content": 3}]}, "content"),
        ({"completion": [{"role": "user", "content": "No."}]}, "expected responses to play"),
        ({"prompt": [{"role": "user", "content": "Other."}] * 2}, "to answer as in .*line 2"),
    ],
)
def test_rows_that_cannot_be_played(tmp_path: Path, change: Any, words: str) -> None:
    row = {**prompt_rows(TOY_ID, num_tasks=1)[0], "completion": "press red"}
    path = write(tmp_path / "rows.jsonl", row, {**row, **change})
    with pytest.raises(DataError, match=words):
        list(play_rows(path))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"env": "CartPole-v1"}, "expected a text environment"),
        ({"env": "webshop", "kwargs": {"worker_turns": 3}}, "worker_turns=0"),
        ({"env": "webshop", "seed": -1}, "the seed"),
        ({"env": "webshop", "horizon": 0}, "horizon"),
        ({"env": "webshop", "task_id": "x/train/1"}, "expected the id of a task"),
    ],
)
def test_tasks_that_cannot_be_begun(tmp_path: Path, task: Any, words: str) -> None:
    named = {"task_id": "webshop/medium-1000-0/train/1", **task}
    row = {COLUMN: json.dumps(named), "prompt": "?", "completion": "x"}
    with pytest.raises(AgentGymError, match=words):
        list(play_rows(write(tmp_path / "rows.jsonl", row)))


def test_responses_after_the_end_are_refused(tmp_path: Path) -> None:
    episode = expert_episode(TOY_ID)
    export([episode], tmp_path / "sft.jsonl", "sft")
    [row] = rows_in(tmp_path / "sft.jsonl")
    row["messages"] += [{"role": "assistant", "content": "press red"}]
    with pytest.raises(DataError, match="no more responses than turns"):
        list(play_rows(write(tmp_path / "more.jsonl", row)))


def test_a_row_that_somebody_else_made_acts_on_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile_place(tmp_path / "download", monkeypatch) as place:
        tasks = [{"env": name, "task_id": "x"} for name in place.environments().values()]
        tasks += [
            {"env": harmless_name(kind), "task_id": "x", "kwargs": {name: place.value(row, name)}}
            for kind, name, row in acting_arguments()
        ]
        tasks += [{"env": "webshop", "task_id": "x", "prompt": str(tmp_path / "prompt.toml")}]
        for task in tasks:
            row = {COLUMN: json.dumps(task), "prompt": [], "completion": "x"}
            with pytest.raises(NotTrusted, match="--trust"):
                list(play_rows(write(tmp_path / "rows.jsonl", row)))
            place.assert_that_nothing_happened()
