"""The page of the family: its snippet prints the transcript, and its arguments are the code's."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import agentgym.envs.service
from agentgym.envs.service.env import ServiceEnv
from tests.envs.pages import blocks, check_arguments, check_modules, run_snippets

PAGE = Path(agentgym.envs.service.__file__).with_name("README.md").read_text(encoding="utf-8")


def test_the_snippet_prints_the_transcript() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_snippets(PAGE)
    assert out.getvalue() == blocks(PAGE, "text")[0]


def test_arguments_and_modules_are_documented() -> None:
    check_arguments(PAGE, ServiceEnv)
    check_modules(agentgym.envs.service)
