"""What agents print and log lies in a file of the run."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from agentgym import Session
from tests.trainers import toy_agents, toy_runs
from trainers.cli import main
from trainers.methods.gateway.agent_output import agent_output_to


def test_prints_and_warnings_go_to_the_file_and_errors_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.log"
    with agent_output_to(path):
        assert not path.exists(), "nothing was written yet"
        print("a tool call that cannot be parsed")
        logging.getLogger("framework").warning("a client was not closed")
        logging.getLogger("framework").info("only chatter")
        logging.getLogger("trainers.methods.gateway").warning("a warning of the run")
        print("a progress bar", file=sys.stderr)
    print("afterwards")
    text = path.read_text()
    assert "a tool call that cannot be parsed" in text
    assert "framework: a client was not closed" in text
    assert "only chatter" not in text and "a warning of the run" not in text
    captured = capsys.readouterr()
    assert captured.out == "afterwards\n" and "a progress bar" in captured.err
    assert "cannot be parsed" not in captured.err


def loud(session: Session) -> None:
    """Play as the plain loop does, and speak of it."""
    print("I am loud")
    logging.getLogger("framework").error("Task exception was never retrieved")
    toy_agents.words(session)


@pytest.mark.slow
def test_a_training_says_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    small = {
        "steps": 1, "horizon": "3", "sft__max_steps": 2, "sft__eval_every": 2, "sft__eval_tasks": 2,
        "eval__every": 0, "eval__num_tasks": 2, "rl__num_generations": 2, "rl__groups": 2,
        "tiny__context": 400,
    }  # fmt: skip
    command = toy_runs.arguments(out, f"--agent={__name__}:loud", "--preset=lightning", **small)
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "loud" not in captured.out and "never retrieved" not in captured.err
    assert "what the agent printed is in" in captured.err
    text = (out / "agent.log").read_text()
    assert "I am loud" in text and "never retrieved" in text
