"""What the pages show must work as printed, and CI must install as the README says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "agentgym/**/*.md", "trainers/*.md", "benchmarks/*.md")
    for page in ROOT.glob(pattern)
    if "repositories" not in page.parts  # material of tasks, not pages of ours
)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


# The families' pages have tests of their own, which also compare what is printed.
@pytest.mark.parametrize("page", ["README.md", "agentgym/README.md"])
def test_python_examples_run(page: str, capsys: Any) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), namespace)  # our own document
    assert namespace["info"]["success"] is True
    assert capsys.readouterr().out.startswith("True 1.0")


def test_continuous_integration_installs_with_the_readme_s_test_command() -> None:
    command = next(block for block in blocks("README.md", "bash") if "pytest" in block)
    script = (ROOT / ".ci" / "run").read_text()
    installs = re.findall(r'pip install ((?:-e )?"[^"]+")', command)
    assert len(installs) == 2
    for words in installs:
        assert f"pip install -q {words}" in script


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_no_placeholder_is_left(page: str) -> None:
    assert "@@" not in (ROOT / page).read_text()
