"""Conversations for supervised fine-tuning: what is learnt, and that TRL learns exactly that."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gymnasium
import pytest

from agentgym.conversation import Prompt
from agentgym.episodes import ChatOptions, ChatWriter, Episode, append_episode, export
from agentgym.errors import ConfigurationError
from agentgym.registration import FAMILIES
from agentgym.rewards import ShapedReward, TurnCost
from tests.cli.test_commands import OwnHook, run, wide
from tests.episodes.test_rescorer import recorded
from tests.toy import TOY_ID, ToyEnv

__all__ = ["wide"]
CALL = '<tool_call>{"name": "press", "arguments": {"colour": "pink"}}</tool_call>'
MARKED = (
    "{%- for m in messages -%}<|{{ m['role'] if m['role'] != 'tool' else 'user' }}|>"
    "{%- if m['role'] == 'assistant' -%}{%- generation -%}{{ m['content'] }}"
    "{%- for c in m['tool_calls'] or [] -%}{{ c['function']['name'] }} "
    "{{ c['function']['arguments'] | tojson }}{%- endfor -%}<|end|>{%- endgeneration -%}"
    "{%- else -%}{{ m['content'] }}<|end|>{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
"""The tiny policy's template, with marks around what an assistant says."""


def add_raw_text(episode: Episode, **texts: Any) -> Episode:
    """Give each turn what a model wrote."""
    turns = [
        replace(turn, raw_text=f"<think>hm</think>{turn.action}", reasoning=None, **texts)
        for turn in episode.turns
    ]
    return replace(episode, turns=tuple(turns))


@pytest.fixture
def slipped() -> Episode:
    """A slip in the second turn."""
    env = gymnasium.make(TOY_ID)
    env.reset(seed=3)
    first = str(env.unwrapped.oracle_action())  # type: ignore[attr-defined]
    return add_raw_text(recorded(gymnasium.make(TOY_ID), 3, (first, "press pink")))


@pytest.fixture
def called() -> Episode:
    """Native calls, of which the second is invalid."""
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    env.reset(seed=3)
    first = str(env.unwrapped.oracle_action())  # type: ignore[attr-defined]
    return add_raw_text(recorded(gymnasium.make(TOY_ID, grammar="tool_call"), 3, (first, CALL)))


def texts(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in messages]


def test_a_whole_episode(slipped: Episode) -> None:
    [row] = ChatWriter().rows(slipped)
    expected = [
        ("system", Prompt.at(ToyEnv()).opening("")[0]["content"]),
        ("user", slipped.start.observation),
    ]
    for turn in slipped.turns:
        expected += [("assistant", str(turn.raw_text)), ("user", turn.after.observation)]
    assert texts(row["messages"]) == expected[:-1], "the last answer teaches nothing"
    [row] = ChatWriter(ChatOptions(text="action")).rows(slipped)
    actions = [text for role, text in texts(row["messages"]) if role == "assistant"]
    assert actions == [turn.action for turn in slipped.turns]


def test_invalid_turns_are_dropped_or_only_shown(slipped: Episode) -> None:
    dropped = ChatWriter(ChatOptions(valid_actions_only=True))
    [row] = dropped.rows(slipped)
    messages = texts(row["messages"])
    assert all("pink" not in text for role, text in messages if role == "assistant")
    assert ("user", "invalid: no such button") not in messages
    assert [role for role, _ in messages][1:] == ["user", "assistant"] * (len(slipped.turns) - 1)
    masked = ChatWriter(ChatOptions(shape="turn", valid_actions_only=True)).rows(slipped)
    all_rows = ChatWriter(ChatOptions(shape="turn")).rows(slipped)
    assert masked == [all_rows[0], *all_rows[2:]]
    conversation = ChatWriter().rows(slipped)[0]["messages"]
    assert all_rows[-1]["prompt"] + all_rows[-1]["completion"] == conversation
    assert ("user", "invalid: no such button") in texts(masked[-1]["prompt"])
    [failing] = [add_raw_text(recorded(gymnasium.make(TOY_ID), 3, ("press pink",) * 8))]
    assert dropped.rows(failing) == [] and dropped.why_not(failing) == "no turn to learn"
    turn = slipped.turns[1]
    moved = replace(turn, after=replace(turn.after, state_key="other"))
    odd = replace(slipped, turns=(slipped.turns[0], moved, *slipped.turns[2:]))
    assert dropped.rows(odd) == [] and "changed the state" in dropped.why_not(odd)


def test_calls_are_native(called: Episode) -> None:
    [row] = ChatWriter().rows(called)
    assert "<tool_call>" not in row["messages"][0]["content"]
    short = replace(called, options={**called.options, "horizon": 5})
    assert "you have 5." in ChatWriter().rows(short)[0]["messages"][0]["content"]
    assert row["tools"] == ToyEnv(grammar="tool_call").language.tools()
    first, slip = row["messages"][2], row["messages"][4]
    [call] = first["tool_calls"]
    colour = called.turns[0].executed.removeprefix("press ")
    assert call["function"] == {"name": "press", "arguments": {"colour": colour}}
    assert first["content"] == "<think>hm</think>"
    answer = row["messages"][3]
    assert (answer["role"], answer["tool_call_id"], answer["name"]) == ("tool", "call_1", "press")
    assert slip == {"role": "assistant", "content": f"<think>hm</think>{CALL}"}, "it was no action"
    assert row["messages"][5]["role"] == "user"
    [row] = ChatWriter(ChatOptions(text="action")).rows(called)
    assert row["messages"][2]["content"] == ""
    assert row["messages"][2]["tool_calls"] == [call]


@pytest.mark.parametrize(
    "before",
    [
        "<think>say <tool_call>{}</tool_call>?</think>\nso:",
        "quoted <tool_call>x</think>go",
        "İ 😀",
        "",
    ],
)
def test_what_stands_before_a_call_is_kept(called: Episode, before: str) -> None:
    turn = replace(called.turns[0], raw_text=f"{before} {called.turns[0].action} and so on")
    [row] = ChatWriter().rows(replace(called, turns=(turn,)))
    assert row["messages"][2]["content"] == before and row["messages"][2]["tool_calls"]


def test_thinking_apart_from_the_text_is_kept(slipped: Episode) -> None:
    thought = add_raw_text(slipped)
    thought = replace(thought, turns=tuple(replace(t, reasoning="so") for t in thought.turns))
    [row] = ChatWriter().rows(thought)
    assert row["messages"][2]["reasoning_content"] == "so"
    [row] = ChatWriter(ChatOptions(text="action")).rows(thought)
    assert "reasoning_content" not in row["messages"][2]


@pytest.mark.parametrize("grammar", ["native", "xml", "react", "tool_call", "action_tag"])
@pytest.mark.parametrize("entry", FAMILIES, ids=lambda entry: entry.name)
def test_every_family_in_every_grammar(entry: Any, grammar: str) -> None:
    episode = recorded(gymnasium.make(entry.id, grammar=grammar), split="train", index=0)
    episode = replace(episode, turns=tuple(replace(t, raw_text=None) for t in episode.turns))
    env: Any = gymnasium.make(entry.id, grammar=grammar).unwrapped
    rows = [ChatWriter(ChatOptions(text=text)).rows(episode)[0] for text in ("raw", "action")]
    for row in rows:
        prompt = Prompt.at(env)
        prompt = prompt.for_tools(env.default_horizon) if grammar == "tool_call" else prompt
        assert row["messages"][:1] == prompt.opening("")
        spoken = [m for m in row["messages"] if m["role"] == "assistant"]
        assert len(spoken) == len(episode.turns)
        for message, turn in zip(spoken, episode.turns, strict=True):
            if grammar == "tool_call":
                call = message["tool_calls"][0]["function"]
                text = f"<tool_call>{json.dumps(call)}</tool_call>"
            else:
                text = message["content"]
            assert env.language.read(text).native == turn.executed
    assert ("tools" in rows[0]) == (grammar == "tool_call")
    env.close()


def test_one_environment_for_all_that_were_made_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = [recorded(gymnasium.make(TOY_ID, horizon=n), 3) for n in (6, 7, 6)]
    horizons: list[int] = []
    prompt = ToyEnv.action_prompt
    monkeypatch.setattr(
        ToyEnv, "action_prompt", lambda env: horizons.append(env.default_horizon) or prompt(env)
    )
    writer = ChatWriter()
    assert all(writer.rows(episode) for episode in episodes) and horizons == [6, 7]


def test_rewards_that_a_record_cannot_hold_do_not_matter() -> None:
    own_hook = recorded(gymnasium.make(TOY_ID, reward_hooks=[OwnHook()]), 3)
    wrapped = recorded(ShapedReward(gymnasium.make(TOY_ID), [TurnCost()]), 3)
    assert ChatWriter().rows(own_hook) == ChatWriter().rows(wrapped)
    with pytest.raises(ConfigurationError, match="does not contain retriever"):
        ChatWriter().rows(replace(own_hook, not_stored=("retriever",)))
    with pytest.raises(ConfigurationError, match="expected text to be one of raw, action"):
        ChatOptions(text="other")  # type: ignore[arg-type]


def prepared(path: Path, **settings: Any) -> tuple[Any, Any, Any]:
    """Return a file as ``datasets`` reads it, what TRL makes of it, and the tokenizer."""
    pytest.importorskip("trl")
    import datasets
    from trl import SFTConfig, SFTTrainer

    from tests.trainers import tiny_policy

    data_set = datasets.load_dataset(
        "json", data_files=str(path), split="train", cache_dir=str(path.parent / "cache")
    )
    tokenizer = tiny_policy.tokenizer(MARKED if settings else None, ("hm", "think", "colour"))
    config = SFTConfig(
        str(path.parent / "run"), report_to="none", use_cpu=True, bf16=False, max_length=None,
        **settings,
    )  # fmt: skip
    trainer = SFTTrainer(
        tiny_policy.build_model(tokenizer, tiny_policy.SIZE, 0), config,
        train_dataset=data_set, processing_class=tokenizer,
    )  # fmt: skip
    return data_set, trainer.train_dataset, tokenizer


def learnt(row: Any) -> list[int]:
    return [label for label in row["labels"] if label != -100]


def said(row: Any) -> list[str]:
    """Return what the assistant says in a conversation, as `MARKED` writes it."""
    messages = [message for message in row["messages"] if message["role"] == "assistant"]
    calls = [[call["function"] for call in message.get("tool_calls", [])] for message in messages]
    texts = [
        "".join(f"{call['name']} {json.dumps(call['arguments'])}" for call in of_turn)
        for of_turn in calls
    ]
    return [f"{m['content']}{w}<|end|>" for m, w in zip(messages, texts, strict=True)]


@pytest.mark.parametrize("kind", ["slipped", "called"])
@pytest.mark.parametrize("flags", [[], ["--valid-actions-only"], ["--text", "action"]])
def test_trl_learns_the_assistant_and_nothing_else(
    kind: str, flags: list[str], request: Any, tmp_path: Path, capsys: Any
) -> None:
    episode = request.getfixturevalue(kind)
    for sample in (episode, recorded(gymnasium.make(TOY_ID, grammar="xml"), 4)):
        append_episode(tmp_path / "e.jsonl", sample)
    out = tmp_path / "sft.jsonl"
    code, _, _ = run(capsys, "export", str(tmp_path / "e.jsonl"), str(out), "--to", "sft", *flags)
    assert code == 0
    stored_rows, prepared_rows, tokenizer = prepared(out, assistant_only_loss=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(stored_rows) == len(prepared_rows) == 2
    for row, prepared_row, stored_row in zip(rows, prepared_rows, stored_rows, strict=True):
        stripped = [{k: v for k, v in m.items() if v is not None} for m in stored_row["messages"]]
        assert stripped == row["messages"] and (stored_row.get("tools") or None) == row.get("tools")
        expected = [
            token
            for text in said(row)
            for token in tokenizer.encode(text, add_special_tokens=False)
        ]
        assert expected and learnt(prepared_row) == expected
        assert len(prepared_row["input_ids"]) > len(expected)


def test_no_call_gets_the_arguments_of_another_by_way_of_datasets(tmp_path: Path) -> None:
    """Calls with different arguments come back from Arrow and parquet without nulls."""
    for seed in range(2):
        episode = recorded(gymnasium.make("agentgym/TextCraft-v0", grammar="tool_call"), seed)
        append_episode(tmp_path / "e.jsonl", episode)
    out = tmp_path / "sft.jsonl"
    export(tmp_path / "e.jsonl", out, "sft")
    stored_rows, prepared_rows, tokenizer = prepared(out, assistant_only_loss=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    functions = [
        call["function"]
        for row in rows
        for message in row["messages"]
        for call in message.get("tool_calls", [])
    ]
    assert {frozenset(function["arguments"]) for function in functions} == {
        frozenset(("count", "item")), frozenset(("product", "ingredients")),
    }  # fmt: skip
    assert [row["messages"] for row in stored_rows] == [row["messages"] for row in rows]
    for row, prepared_row in zip(rows, prepared_rows, strict=True):
        assert "null" not in "".join(said(row))
        expected = [
            token
            for text in said(row)
            for token in tokenizer.encode(text, add_special_tokens=False)
        ]
        assert learnt(prepared_row) == expected
    import datasets

    stored_rows.map(lambda row: {"size": len(row["messages"])}).to_parquet(tmp_path / "sft.parquet")
    loaded = datasets.load_dataset(
        "parquet", data_files=str(tmp_path / "sft.parquet"), split="train",
        cache_dir=str(tmp_path / "cache"),
    )  # fmt: skip
    assert [row["messages"] for row in loaded] == [row["messages"] for row in rows]


def test_trl_learns_the_completion_of_a_turn_with_any_template(
    slipped: Episode, tmp_path: Path
) -> None:
    append_episode(tmp_path / "e.jsonl", slipped)
    out = tmp_path / "sft.jsonl"
    options = ChatOptions(shape="turn", valid_actions_only=True)
    report = export(tmp_path / "e.jsonl", out, "sft", chats=options)
    assert (report.exported, report.rows) == (1, len(slipped.turns) - 1)
    _, prepared_rows, tokenizer = prepared(out)
    valid = [turn for turn in slipped.turns if turn.action_valid]
    for prepared_row, turn in zip(prepared_rows, valid, strict=True):
        text = f"{turn.raw_text}<|end|>"
        assert learnt(prepared_row) == tokenizer.encode(text, add_special_tokens=False)
        assert len(prepared_row["input_ids"]) > len(learnt(prepared_row))
