"""Rounds of play and imitation: the policy's own successes, and the expert's next action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from safetensors.torch import load_file

from agentgym.conversation import BARE, Prompt
from agentgym.core.guard import GuardedEnv
from agentgym.episodes import read_episodes
from agentgym.errors import ConfigurationError
from tests.toy import TOY_ID
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.rollouts.test_runner import runner
from tests.trainers.toy_runs import equal
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.output.run_folder import RunFolder
from trainers.phases import imitation_rounds
from trainers.phases.imitation_rounds import read_rows
from trainers.phases.spending import spent_on_imitation
from trainers.rollouts.expert_labels import labelled_rows
from trainers.rollouts.trajectory import Row

QUICK: dict[str, Any] = {
    "steps": 2, "horizon": "4", "horizon_every": None, "eval__every": 0, "eval__num_tasks": 4,
    "sft__max_steps": 80, "sft__eval_every": 40, "sft__target_success": 1.0,
    "rl__groups": 2, "rl__num_generations": 2,
}  # fmt: skip
ROUNDS: dict[str, Any] = {**QUICK, "sft__rounds": 2, "sft__round_tasks": 24, "sft__round_steps": 10}


def trained(out: Path, *flags: str, **changes: Any) -> Path:
    assert main(toy_runs.arguments(out, *flags, **changes)) == 0
    return out


def weights(out: Path, name: str = "trained") -> dict[str, torch.Tensor]:
    return load_file(out / "checkpoints" / name / "model.safetensors")


def test_labels_are_what_the_expert_does_where_the_policy_came_through():
    play = runner()
    episodes = play.run(tiny_policy.tasks(6), horizon=5, seeds=[None] * 6)
    env, chat = GuardedEnv(gymnasium.make(TOY_ID)), play.chat
    differ = 0
    for episode in episodes:
        rows = labelled_rows(episode, env, chat, Prompt(BARE))
        assert len(rows) == len(episode.turns)
        for row, turn in zip(rows, episode.turns, strict=True):
            colour = turn.observation.rpartition("next is ")[2]
            assert row.prompt_length == turn.prompt_tokens
            action_ids = row.ids[row.prompt_length :]
            assert chat.action_text(action_ids) == f"press {colour}"
            assert row.mask == [0] * row.prompt_length + [1] * len(action_ids)
            differ += turn.text != f"press {colour}"
    assert differ


@pytest.mark.slow
def test_rounds_act_and_go_on_where_they_were_killed(tmp_path, monkeypatch):
    """Without rounds, and with the other teacher, the weights are others."""
    plain_run = trained(tmp_path / "plain", **QUICK)
    expert = trained(tmp_path / "expert", "--sft.teacher=expert", **ROUNDS)
    self_taught = trained(tmp_path / "self", **ROUNDS)
    for run, other_run in ((plain_run, expert), (plain_run, self_taught), (expert, self_taught)):
        assert not equal(weights(run), weights(other_run))
        assert not equal(weights(run, "warm-start"), weights(other_run, "warm-start"))

    episodes = list(read_episodes(self_taught / "rounds" / "round-1.jsonl"))
    solved = [episode for episode in episodes if episode.success]
    assert len(episodes) == 24 and {episode.split for episode in episodes} == {"train"}
    assert len(read_rows(self_taught / "rounds" / "round-1.rows.json") or []) == len(solved) > 0
    labelled = list(read_episodes(expert / "rounds" / "round-1.jsonl"))
    states = sum(len(episode.turns) for episode in labelled)
    assert len(read_rows(expert / "rounds" / "round-1.rows.json") or []) == states
    steps = [r["step"] for r in toy_runs.by_phase(self_taught)["imitation"]]
    assert steps == [10, 20] and not list((self_taught / "checkpoints").glob("round-*"))

    # What was played is paid for; the expert's labels as well.
    demonstrated = spent_on_imitation(RunFolder(plain_run))
    rounds = [list(read_episodes(self_taught / "rounds" / f"round-{k}.jsonl")) for k in (1, 2)]
    turns = sum(len(episode.turns) for part in rounds for episode in part)
    assert spent_on_imitation(RunFolder(self_taught)).turns == demonstrated.turns + turns

    class Killed(BaseException):
        pass

    for moment, call in (("write_rows", 1), ("make_sft", 2)):
        folder, calls = tmp_path / moment, 0
        real = getattr(imitation_rounds, moment)

        def dying(*args: Any, real: Any = real, last: int = call) -> Any:
            nonlocal calls
            calls += 1
            result = real(*args)
            if calls == last:
                raise Killed
            return result

        with monkeypatch.context() as patch:
            patch.setattr(imitation_rounds, moment, dying)
            with pytest.raises(Killed):
                trained(folder, **ROUNDS)
        trained(folder, "--resume", **ROUNDS)
        assert equal(weights(folder), weights(self_taught))
        assert toy_runs.by_phase(folder)["imitation"] == toy_runs.by_phase(self_taught)["imitation"]


@pytest.mark.slow
def test_a_round_of_ones_own_successes_begins_with_the_warm_start_each_time(tmp_path, monkeypatch):
    """DAgger goes on from the round before instead."""
    loaded: list[str] = []
    real = imitation_rounds.load_policy

    def noting(run: Any, path: Any) -> Any:
        loaded.append(Path(path).name)
        return real(run, path)

    monkeypatch.setattr(imitation_rounds, "load_policy", noting)
    for teacher, begins in (("self", ["round-0"] * 2), ("expert", ["round-0", "round-1"])):
        loaded.clear()
        trained(
            tmp_path / teacher, f"--sft.teacher={teacher}",
            **{**ROUNDS, "sft__max_steps": 10, "sft__round_tasks": 4, "sft__round_steps": 1},
        )  # fmt: skip
        # Each round loads who plays and who learns; at the end the last is loaded.
        assert [loaded[1], loaded[3]] == begins
        assert loaded[0::2] == ["round-0", "round-1", "round-2"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sft__max_steps": 0}, "--sft.max-steps of at least 1 with --sft.rounds"),
        (
            {"env": toy_runs.NO_EXPERT_ID, "sft__teacher": "expert", "sft__demonstrator": "random"},
            "has no expert to label states; got expert",
        ),
    ],
)
def test_rounds_without_an_expert_are_refused(changes, words, tmp_path):
    with pytest.raises(ConfigurationError, match=words):
        resolve(toy_runs.config(tmp_path / "run", **{**ROUNDS, **changes}))


def test_rows_come_back_from_their_file(tmp_path):
    rows = [Row([1, 2, 3], [0, 1, 1], [0.0] * 3, 1), Row([4], [1], [0.0], 0)]
    imitation_rounds.write_rows(tmp_path / "rows.json", rows)
    assert read_rows(tmp_path / "rows.json") == rows
    assert read_rows(tmp_path / "none.json") is None
    assert json.loads((tmp_path / "rows.json").read_text())[1] == [[4], [1], 0]
