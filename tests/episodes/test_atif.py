"""ATIF: what other projects read of an episode, and the episode back, whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgym.core.outcome import well_formed
from agentgym.episodes import Episode, append_episode, read_episodes
from agentgym.episodes.atif import from_atif, to_atif
from agentgym.errors import DataError
from tests.cli.test_commands import run, wide
from tests.episodes.test_exporter import HOSTILE, episodes

__all__ = ["episodes", "wide"]


def sound(episode: Episode) -> Episode:
    """Return an episode with what stands for lone surrogates in trajectories."""
    text = json.dumps(json.loads(episode.to_line()), ensure_ascii=False)
    return Episode.from_line(well_formed(text))


def test_every_family_comes_back_whole(episodes: list[Episode]) -> None:
    for episode in episodes:
        text = json.dumps(to_atif(episode), allow_nan=False)
        assert from_atif(json.loads(text)) == sound(episode)


def test_a_trajectory_holds_what_its_readers_look_for(episodes: list[Episode]) -> None:
    episode = episodes[0]
    thinking = replace(
        episode.turns[0], raw_text="<think>so</think>act", prompt_tokens=7, reasoning="so"
    )
    episode = replace(episode, turns=(thinking, *episode.turns[1:]))
    document = to_atif(episode)
    assert document["schema_version"] == "ATIF-v1.8"
    first, step, *_ = document["steps"]
    assert (first["source"], first["message"]) == ("user", episode.start.observation)
    assert "tool_calls" not in first and "metrics" not in first
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(episode.turns) + 2))
    assert step["message"] == "<think>so</think>act" and step["reasoning_content"] == "so"
    assert step["metrics"]["prompt_tokens"] == 7
    for later_step, turn in zip(document["steps"][1:], episode.turns, strict=True):
        (call,), (result,) = later_step["tool_calls"], later_step["observation"]["results"]
        assert call["function_name"] == "act" and call["arguments"] == {"action": turn.executed}
        assert result["source_call_id"] == call["tool_call_id"]
        assert result["content"] == turn.after.observation
    counts = ("prompt_tokens", "completion_tokens", "cached_tokens")
    assert document["final_metrics"] == {
        **{f"total_{name}": sum(getattr(turn, name) for turn in episode.turns) for name in counts},
        "total_steps": len(episode.turns) + 1,
        "extra": {"reward": episode.reward, "score": episode.score, "success": episode.success},
    }


def sampled(episode: Episode) -> Episode:
    """Return an episode with tokens: the second turn continues the first, the third is fresh."""
    tokens = [
        {
            "fresh": number != 1,
            "context": [*range(number + 3)],
            "ids": [100 + number, 7],
            "logprobs": [-0.5, -0.25],
        }
        for number in range(len(episode.turns))
    ]
    return replace(episode, extra={**episode.extra, "tokens": tokens})


def test_token_ids_and_log_probabilities_are_metrics(episodes: list[Episode]) -> None:
    for episode in map(sampled, episodes):
        document = json.loads(json.dumps(to_atif(episode)))
        assert from_atif(document) == sound(episode)
        token_ids: list[list[int]] = []
        for number, step in enumerate(document["steps"][1:]):
            metrics = step["metrics"]
            token_ids.append(metrics["prompt_token_ids"])
            assert metrics["completion_token_ids"] == [100 + number, 7]
            assert metrics["logprobs"] == [-0.5, -0.25]
        assert (
            token_ids[:3]
            == [[0, 1, 2], [0, 1, 2, 100, 7, 0, 1, 2, 3], [0, 1, 2, 3, 4]][: len(token_ids)]
        )
        assert "tokens" not in document["extra"]["agentgym"]["extra"]
    assert len(token_ids) > 2
    short = replace(episodes[0], extra={"tokens": sampled(episodes[0]).extra["tokens"][1:]})
    with pytest.raises(DataError, match=r"expected the tokens of each of \d+ turns"):
        to_atif(short)
    with pytest.raises(DataError, match="a finite number"):
        Episode.from_line(sampled(episodes[0]).to_line().replace("-0.25", '"high"'))


def test_harbors_own_validator_accepts_them(tmp_path: Path, episodes: list[Episode]) -> None:
    pytest.importorskip("harbor.utils.trajectory_validator", reason="harbor is in .ci/peers")
    from harbor.models.trajectories import Trajectory
    from harbor.utils.trajectory_validator import TrajectoryValidator

    for episode in (*episodes, *map(sampled, episodes)):
        path = tmp_path / "trajectory.json"
        path.write_text(json.dumps(to_atif(episode)))
        validator = TrajectoryValidator()
        assert validator.validate(path), validator.get_errors()
        trajectory = Trajectory.model_validate_json(path.read_text())
        assert trajectory.schema_version == "ATIF-v1.8"
        assert from_atif(trajectory.to_json_dict()) == sound(episode)
        for step, tokens in zip(
            trajectory.steps[1:], episode.extra.get("tokens", ()), strict=False
        ):
            assert step.metrics is not None
            assert step.metrics.completion_token_ids == tokens["ids"]
            assert step.metrics.logprobs == tokens["logprobs"]
    path.write_text(path.read_text().replace("ATIF-v1.8", "ATIF-v0.8"))
    assert not TrajectoryValidator().validate(path)


def test_lone_surrogates_reach_no_other_reader(episodes: list[Episode]) -> None:
    text = json.dumps(to_atif(episodes[-1]), ensure_ascii=False)
    assert text.encode("utf-8")
    assert to_atif(episodes[-1])["steps"][1]["message"] == well_formed(HOSTILE)


def test_the_command_writes_trajectories_and_reads_them(
    capsys: Any, tmp_path: Path, episodes: list[Episode]
) -> None:
    source, folder, copied = (tmp_path / name for name in ("e.jsonl", "atif", "again.jsonl"))
    for episode in episodes:
        append_episode(source, episode)
    code, out, _ = run(capsys, "export", str(source), str(folder), "--to", "atif")
    assert code == 0 and f"{len(episodes)} episodes written" in out
    names = sorted(file.name for file in folder.iterdir())
    assert names[0] == "000001.json" and len(names) == len(episodes)
    assert run(capsys, "export", str(folder), str(copied), "--to", "records")[0] == 0
    assert list(read_episodes(copied)) == [sound(episode) for episode in episodes]
    single = tmp_path / "one.jsonl"
    assert run(capsys, "export", str(folder / names[1]), str(single), "--to", "records")[0] == 0
    assert list(read_episodes(single)) == [sound(episodes[1])]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting property name"),
        ("[" * 100_000, "more than 100 lists and objects in one another"),
        ("3", "does not say which environment, task and seed"),
        ('{"extra": {}, "steps": []}', "KeyError: 'agentgym'"),
        ('{"extra": {"agentgym": {}}, "steps": []}', "not enough values"),
        ('{"extra": {"agentgym": 3}, "steps": [1]}', "TypeError"),
    ],
)
def test_trajectories_of_others_are_refused(
    capsys: Any, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "trajectory.json"
    file.write_text(text)
    code, _, err = run(capsys, "export", str(file), str(tmp_path / "o"), "--to", "records")
    assert code == 2 and words in err and "trajectory.json" in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["trajectory.json"]


def test_a_changed_trajectory_is_no_episode(episodes: list[Episode]) -> None:
    document = to_atif(episodes[0])
    document["steps"][1]["extra"]["agentgym"]["reward"] = "much"
    with pytest.raises(DataError, match="reward"):
        from_atif(document)
