"""What the README shows must work as printed, and CI must install as the README says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_examples_run(capsys: Any) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)  # our own document
    assert namespace["info"]["success"] is True
    assert capsys.readouterr().out.startswith("True 1.0")


def test_continuous_integration_installs_with_the_readme_s_test_command() -> None:
    command = next(block for block in blocks("bash") if "pytest" in block)
    script = (ROOT / ".ci" / "run").read_text()
    installs = re.findall(r'pip install ((?:-e )?"[^"]+")', command)
    assert len(installs) == 2
    for words in installs:
        assert f"pip install -q {words}" in script


def test_figures_have_a_picture() -> None:
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / name).is_file(), name


def test_no_placeholder_is_left() -> None:
    assert "@@" not in README
