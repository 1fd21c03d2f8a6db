"""An evaluation with a judge: its verdicts stand beside the score, and change neither."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgym.cli import main
from agentgym.evaluation import evaluate, read_report
from tests.policies.endpoint import Answer, ChatServer, completion, refusal
from tests.rewards.judging import MARK, even, judging, question
from tests.toy import TOY_ID

pytest.importorskip("openai")

Serve = Callable[[Answer], ChatServer]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))


def command(server: ChatServer, out: Path, *flags: str, policy: str = "oracle") -> list[str]:
    hook = f"judge:model=m,url={server.url},retries=0"
    return [
        "eval", TOY_ID, "--policy", policy, "--num-tasks", "6", "--out", str(out),
        "--reward-hooks", hook, *flags,
    ]  # fmt: skip


def test_a_report_has_the_mean_of_the_verdicts(serve: Serve, tmp_path: Path, capsys) -> None:
    def some(body, number):
        return refusal("down", 500) if number % 3 == 0 else judging(even)(body, number)

    server = serve(some)
    assert main(command(server, tmp_path / "a")) == 0
    report = read_report(tmp_path / "a")
    plain_report = evaluate("oracle", TOY_ID, num_tasks=6)
    assert (report.score_mean, report.success) == (plain_report.score_mean, plain_report.success)
    judge = report.judges["judge"]
    turns = sum(row.turns for row in report.rows)
    assert judge.asked == turns and 0 < judge.missing < judge.calls == len(server.requests)
    records = map(json.loads, (tmp_path / "a" / "episodes.jsonl").read_text().splitlines())
    all_scores = [
        turn["verdicts"]["judge"]["score"] for record in records for turn in record["turns"]
    ]
    scores = [score for score in all_scores if score is not None]
    assert judge.mean == pytest.approx(sum(scores) / len(scores))
    stored = json.loads((tmp_path / "a" / "report.json").read_text())["judges"]["judge"]
    assert stored["mean"] == judge.mean and stored["missing"] == judge.missing
    output = capsys.readouterr().out
    assert f"{judge.mean:.3f}  ({judge.asked - judge.missing} of {judge.asked} verdicts" in output
    server.close()
    assert main(["replay", str(tmp_path / "a")]) == 0


def test_a_chat_model_is_judged_and_the_scale_is_not(serve: Serve, tmp_path: Path) -> None:
    def answer(body, number):
        if MARK.search(question(body)):
            return judging(even)(body, number)
        return completion("press red")

    server = serve(answer)
    flags = ["--model", "m", "--base-url", server.url, "--scale", "True"]
    assert main(command(server, tmp_path / "a", *flags, policy="chat")) == 0
    questions = {question(b) for b in server.requests if MARK.search(question(b))}
    assert questions and all("| press red" in text for text in questions)
    report = read_report(tmp_path / "a")
    assert report.judges["judge"].calls == len(questions) and report.scale is not None
    assert report.judges["judge"].mean == pytest.approx(0.9)


def test_a_judge_makes_episodes_play_at_the_same_time(serve: Serve, tmp_path: Path) -> None:
    import threading

    together = threading.Barrier(6, timeout=20)

    def first_together(body, number):
        if number <= 6:
            together.wait()
        return judging(even)(body, number)

    server = serve(first_together)
    assert main(command(server, tmp_path / "a")) == 0
    assert read_report(tmp_path / "a").judges["judge"].missing == 0


def test_a_judge_without_a_key_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main(["eval", TOY_ID, "--dry-run", "--reward-hooks", "judge:model=m"]) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err
