"""A judge in training: verdicts act, missing ones leave episodes out, and none stops a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agentgym.core.hooks import Verdict
from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError
from tests.policies.endpoint import KEY, Answer, ChatServer, refusal
from tests.rewards.judging import judging
from tests.trainers import toy_runs
from tests.trainers.toy_runs import equal
from trainers.algorithms.filters import JUDGE_REJECT, FlaggedTurns
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.presets import PRESETS, served
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.grpo.advantages import assign_credit
from trainers.rollouts.episode_figures import judge_metrics
from trainers.rollouts.trajectory import SampledTurn, Trajectory

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 10, "eval__every": 0, "eval__num_tasks": 4,
    "horizon": "3", "backend": "sync", "rl__log_groups": 4,
}  # fmt: skip
Weights = dict[str, torch.Tensor]
Plain = tuple[Path, Weights]


def any_grade(record: str) -> int:
    """A grade that varies with whatever a policy writes, which has learned nothing yet."""
    return sum(map(ord, record)) % 11


Serve = Callable[[Answer], ChatServer]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))


trained = partial(toy_runs.train_weights, **QUICK)


def summary(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return content


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """The same run without a judge, and its weights."""
    out = tmp_path_factory.mktemp("plain") / "run"
    return out, trained(out)


def flag(server: ChatServer, hook: str = "judge", more: str = "") -> tuple[str, str]:
    return "--reward-hooks", f"{hook}:model=m,url={server.url},retries=0{more}"


@pytest.mark.slow
def test_a_judge_acts_and_is_asked_once(serve: Serve, plain_run: Plain, tmp_path: Path) -> None:
    server = serve(judging(any_grade))
    first = trained(tmp_path / "a", *flag(server), start=plain_run[0])
    question_count = len(server.requests)
    assert not equal(first, plain_run[1]) and question_count
    judges = summary(tmp_path / "a")["judges"]
    # Held-out episodes are not judged, and no question is sent twice.
    assert (
        judges["judge_calls"]
        == question_count
        == len({str(request) for request in server.requests})
    )
    assert (
        judges["judge_missing"] == 0 < judges["judge_asked"]
        and judges["judge_tokens"] == 14 * question_count
    )
    steps = toy_runs.by_phase(tmp_path / "a")["rl"]
    assert all(0.0 <= step["judge_score"] <= 1.0 for step in steps)
    assert equal(trained(tmp_path / "b", *flag(server), start=plain_run[0]), first)
    assert (
        len(server.requests) == question_count
        and summary(tmp_path / "b")["judges"]["judge_calls"] == 0
    )


@pytest.mark.slow
def test_missing_verdicts_leave_episodes_out(
    serve: Serve, plain_run: Plain, tmp_path: Path
) -> None:
    def sometimes(body: dict[str, Any], number: int) -> Any:
        return refusal("down", 500) if number % 4 == 0 else judging(any_grade)(body, number)

    server = serve(sometimes)
    trained(tmp_path / "run", *flag(server), start=plain_run[0], preset="mt-grpo")
    server.close()
    content = summary(tmp_path / "run")
    missing, total = (content["judges"][f"judge_{kind}"] for kind in ("missing", "asked"))
    assert 0 < missing < total
    sentence = f"{missing} of {total} verdicts of judges are missing; training left out"
    assert any(sentence in remark for remark in content["remarks"])
    episodes = list(read_episodes(tmp_path / "run" / "episodes.jsonl"))
    turns = [turn for episode in episodes for turn in episode.turns]
    assert sum(turn.verdicts["judge"].score is None for turn in turns) == missing
    assert all(
        ("judge" in t.reward_terms) == (t.verdicts["judge"].score is not None) for t in turns
    )
    assert all(replay(episode).equal for episode in episodes[:8])
    shares = [np.mean([not e.unjudged for e in episodes[s : s + 16]]) for s in (0, 16)]
    steps = toy_runs.by_phase(tmp_path / "run")["rl"]
    assert [step["trained_fraction"] for step in steps] == pytest.approx(shares)


@pytest.mark.slow
def test_a_judge_that_is_away_stops_nothing(serve: Serve, plain_run: Plain, tmp_path: Path) -> None:
    server = serve(judging(any_grade))
    server.close()
    trained(tmp_path / "run", *flag(server), start=plain_run[0])
    content = summary(tmp_path / "run")
    assert (
        content["untrained"]
        and content["judges"]["judge_missing"] == content["judges"]["judge_asked"]
    )


@pytest.mark.slow
def test_a_mask_leaves_out_what_it_rejects(serve: Serve, plain_run: Plain, tmp_path: Path) -> None:
    sound = serve(judging(lambda record: "SOUND"))
    start, weights = plain_run
    assert equal(trained(tmp_path / "sound", *flag(sound, "judge_mask"), start=start), weights)
    some = serve(judging(lambda record: "SOUND" if any_grade(record) % 2 else "RUINED"))
    assert not equal(trained(tmp_path / "some", *flag(some, "judge_mask"), start=start), weights)
    steps = toy_runs.by_phase(tmp_path / "some")["rl"]
    assert all(0.0 < step["judge_mask_score"] < 1.0 for step in steps)
    for step in steps:
        assert step["trained_fraction"] <= 1.0 - step["judge_mask_score"] + 1e-9


@pytest.mark.slow
def test_erpo_runs_whole_with_a_judge(serve: Serve, plain_run: Plain, tmp_path: Path) -> None:
    server = serve(judging(lambda record: "SOUND" if any_grade(record) % 4 else "RUINED"))
    hooks = ["--reward-hooks", "progressive=0.5", *flag(server, "judge_mask")]
    more: Any = {"preset": "erpo", "start": plain_run[0]}
    with_refill = trained(tmp_path / "whole", *hooks, **more)
    steps = toy_runs.by_phase(tmp_path / "whole")["rl"]
    assert all(step["judge_mask_asked"] > 0 for step in steps)
    assert not equal(trained(tmp_path / "plain", *hooks, **more, refill__groups=0), with_refill)


def test_credit_is_that_of_the_others() -> None:
    """Closed form: of three members one is unjudged, so the others are compared with each other."""
    members = []
    for reward, score in ((1.0, 0.5), (0.0, 0.5), (5.0, None)):
        turn = SampledTurn([1], [2], [-0.5], reward=reward, verdicts={"judge": Verdict("k", score)})
        members.append(Trajectory(turns=[turn], stop_reason="success"))
    credit = assign_credit(members, PRESETS["grpo"])
    assert credit.advantage.tolist() == pytest.approx([0.70710678, -0.70710678, 0.0], abs=1e-4)
    assert credit.train.tolist() == [True, True, False]
    ruined = {"judge_mask": Verdict("k", 1.0)}
    members[2] = replace(members[2], turns=[replace(members[2].turns[0], verdicts=ruined)])
    masked_credit = assign_credit(members, PRESETS["grpo"])
    assert masked_credit.advantage.tolist() == credit.advantage.tolist()


def test_what_is_counted() -> None:
    verdicts = [Verdict("a", 0.2, "", 1, 5, 2), Verdict("b", None, "down", 1), Verdict("a", 0.4)]
    turns = [SampledTurn([1], [2], [0.0], verdicts={"judge": verdict}) for verdict in verdicts]
    assert judge_metrics([Trajectory(turns=turns)]) == pytest.approx(
        {
            "judges/judge_asked": 3, "judges/judge_missing": 1, "judges/judge_score": 0.3,
            "judges/judge_calls": 2, "judges/judge_tokens": 7,
        }
    )  # fmt: skip
    assert judge_metrics([Trajectory(turns=[SampledTurn([1], [2], [0.0])])]) == {}


# -- settings --------------------------------------------------------------------------------------


def test_erpo_wants_a_judge_of_episodes() -> None:
    erpo = PRESETS["erpo"]
    assert erpo.filters[0] == FlaggedTurns(JUDGE_REJECT, in_baseline=False)
    alone = replace(erpo, beyond=())
    with pytest.raises(ConfigurationError, match=r"--reward-hooks judge_mask:model=NAME,url=URL"):
        alone.require(served(alone))
    alone.require((*served(alone), JUDGE))


def test_a_preset_file_that_masks_wants_a_judge_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("filters: [{part: FlaggedTurns, name: judge_reject}]\n")
    with pytest.raises(ConfigurationError, match="needs judge"):
        resolve(toy_runs.config(tmp_path / "run", f"--preset-file={file}"))
    hook = "judge_mask:model=m,url=http://127.0.0.1:9/v1"
    flags = [f"--preset-file={file}", "--reward-hooks", hook]
    assert resolve(toy_runs.config(tmp_path / "run", *flags)).preset.needs == (JUDGE,)


def test_a_dry_run_says_what_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    command = toy_runs.arguments(tmp_path / "run", "--dry-run", "--reward-hooks", "judge:model=m")
    assert main(command) == 2
    assert "API key in the environment variable OPENAI_API_KEY" in capsys.readouterr().err
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert main([*command[:-1], "judge:model=m,calls=50"]) == 0
    output = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "judge asks m: at most 50 questions and 10,000,000 tokens in each" in output
    config = toy_runs.config(tmp_path / "run", "--reward-hooks", "judge:model=m")
    assert resolve(config).config.backend == "thread"


def test_another_rubric_is_another_run(tmp_path: Path) -> None:
    rubric = tmp_path / "rubric.txt"
    digests = []
    for text in ("Red is good.", "Blue is good."):
        rubric.write_text(text)
        hook = f"judge:model=m,url=http://127.0.0.1:9/v1,rubric={rubric}"
        run = resolve(toy_runs.config(tmp_path / "run", "--reward-hooks", hook))
        digests.append(run.resolved()["rubric_sha256"]["judge"])
    assert digests[0] != digests[1]
