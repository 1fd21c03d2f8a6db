"""The page of the family: its snippets run, and its transcript is what is played."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import agentgym.envs.textworld
from agentgym.core import TextEnv
from agentgym.core.options import arguments
from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.envs.textworld.generator.config import CHALLENGES, NAMED, SHORT
from agentgym.envs.textworld.rewards import REWARDS
from agentgym.envs.textworld.session import ENGINES

PAGE = Path(agentgym.envs.textworld.__file__).with_name("README.md").read_text(encoding="utf-8")


def test_the_snippets_run_and_print_the_transcript() -> None:
    (transcript,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), {})
    assert out.getvalue().startswith(transcript)


def test_every_argument_is_on_the_page() -> None:
    names = {*arguments(TextWorldEnv)} - {*arguments(TextEnv)}
    assert [name for name in names if f"`{name}`" not in PAGE] == []
    choices = (*ENGINES, *REWARDS, *CHALLENGES, *SHORT)
    assert [name for name in choices if name not in PAGE] == []
    assert all(name.split("-")[-1] in PAGE for name in NAMED)
