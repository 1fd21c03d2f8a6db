"""Agents that are told where their model answers, and sessions of any grammar."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest

from agentgym import Session
from agentgym.cli import main
from agentgym.errors import ConfigurationError
from agentgym.evaluation import read_report
from tests.toy import COLOURS, TOY_ID

TOLD: list[tuple[str, str, str]] = []
HERE = "tests.evaluation.test_agents_with_models"


def solve(session: Session) -> None:
    """Press what the observation names, and remember where the model would have been."""
    TOLD.append((session.base_url, session.api_key, session.model))
    while not session.over:
        _, _, colour = session.observation.rpartition("next is ")
        session.call("press", {"colour": next(c for c in COLOURS if colour.startswith(c))})


def test_an_agent_is_told_which_model_it_plays_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    TOLD.clear()
    flags = ["--policy", "chat", "--base-url", "http://user:pass@127.0.0.1:9/v1", "--no-scale",
             "--api-key-env", "MY_KEY", "--num-tasks", "2", "--agent", f"{HERE}:solve"]  # fmt: skip
    out = tmp_path / "out"
    assert main(["eval", TOY_ID, *flags, "--model", "m-1", "--out", str(out)]) == 0
    assert TOLD == [("http://user:pass@127.0.0.1:9/v1", "sk-mine", "m-1")] * 2
    report = read_report(out)
    assert report.success == 1.0 and report.policy_facts["model"] == "m-1"
    text = (out / "report.json").read_text() + (out / "episodes.jsonl").read_text()
    assert "sk-mine" not in text and "pass@" not in text
    for bad_argument, message in (
        (flags, "expected --model"),
        ([*flags[:-1], f"{HERE}:Session", "--model", "m"], "expected"),
        (["--policy", "random", "--agent", f"{HERE}:solve"], "agent"),
    ):
        assert main(["eval", TOY_ID, *bad_argument, "--num-tasks", "1"]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


def test_an_agent_gets_a_key_that_clients_accept_for_an_endpoint_without_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    flags = ["--policy", "chat", "--model", "m", "--agent", f"{HERE}:solve", "--no-scale",
             "--num-tasks", "1", "--out"]  # fmt: skip
    keys = {}
    for url in ("http://127.0.0.1:9/v1", "https://api.openai.com/v1"):
        TOLD.clear()
        out = str(tmp_path / str(len(keys)))
        assert main(["eval", TOY_ID, *flags, out, "--base-url", url]) == 0
        keys[url] = [key for _, key, _ in TOLD]
    # OpenAI needs a key of its own, so that the client says what is missing.
    assert list(keys.values()) == [["none"], [""]]


def test_a_session_takes_text_and_calls_in_any_grammar_if_it_may() -> None:
    for grammar in ("native", "xml", "react", "tool_call"):
        env = gymnasium.make(TOY_ID, grammar=grammar)
        options = {"task_id": "toy/gold-red"}
        with Session(env, options=options, any_grammar=True) as session:
            assert "invalid" in session.call("press", {"colour": "purple"})
            assert "invalid" in session.act("walk")
            session.act(session.language.write("press gold"))
            session.call("press", '{"colour": "red"}')
        assert session.success and session.turns == 4
    with pytest.raises(ConfigurationError, match="expected an environment with grammar"):
        Session(gymnasium.make(TOY_ID), options=options)
