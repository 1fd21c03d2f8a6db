"""What the family's page shows must work as printed."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs import alfworld
from agentgym.envs.alfworld.env import ALFWorldEnv
from tests.envs.pages import check_modules

PAGE = Path(alfworld.__file__).with_name("README.md").read_text()


def test_the_examples_print_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(examples) == PAGE.count("```python")
    for code, output in examples:
        exec(compile(code, "README.md", "exec"), namespace)  # our own document
        assert capsys.readouterr().out == output


def test_every_argument_stands_on_the_page_with_its_default() -> None:
    rows = re.findall(r"^\| (`.+?) \| (.+?) \|", PAGE[PAGE.index("## Arguments") :], re.MULTILINE)
    for name, parameter in inspect.signature(ALFWorldEnv.__init__).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            (default,) = [cell for names, cell in rows if f"`{name}`" in names]
            if parameter.default is not None:
                assert f"`{parameter.default!r}`".replace("'", '"') in default


def test_every_module_is_named_in_the_docstring_of_the_family() -> None:
    check_modules(alfworld, "stream", "progress_bar", "original")
