"""What the pages show must work as printed, and CI must install as the README says."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from agentgym import registration
from agentgym.cli.parsing import parse, subcommands
from agentgym.core import TextEnv
from agentgym.core.options import arguments as arguments_of
from agentgym.support.flag_parsing import SHORTER, known_flags
from agentgym.support.help_page import flag_rows

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "agentgym/**/*.md",
        "trainers/*.md",
        "benchmarks/**/*.md",
        "notebooks/**/*.md",
    )
    for page in ROOT.glob(pattern)
    if not any("." in part for part in page.relative_to(ROOT).parts[:-1])  # data, no pages of ours
)
PAGES += sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in (".site/*.md", ".site/how-to/*.md")
    for page in ROOT.glob(pattern)
)
SKILLS = sorted(
    page.relative_to(ROOT).as_posix() for page in ROOT.glob(".agents/skills/*/SKILL.md")
)
PAGES += SKILLS


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the pages and the texts of the notebooks, by their names."""
    for page in PAGES:
        yield page, (ROOT / page).read_text()
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield f"notebooks/{notebook.name}", "\n\n".join(texts)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the commands of agentgym in the blocks for a shell, as their arguments."""
    for block in re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            command: list[str] = []
            for word in chain(words, [";"]):
                if set(word) <= set("();<>|&"):
                    if command[:1] == ["agentgym"]:
                        yield command[1:]
                    command = []
                elif command or not re.match(r"\w+=", word):  # a variable for the command
                    command.append(word)


def flags(name: str) -> set[str]:
    """Return the flags of a subcommand, all of them as they are printed."""
    commands = registration.commands()
    arguments = commands[name].arguments() if name in commands else subcommands()[name]
    return {*known_flags(flag_rows(arguments))}


# The families' pages have tests of their own, which also compare what is printed.
@pytest.mark.parametrize("page", ["README.md", "agentgym/README.md"])
def test_python_examples_run(page: str, capsys: Any) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), namespace)  # our own document
    assert namespace["info"]["success"] is True
    assert capsys.readouterr().out.startswith("True 1.0")


def test_arguments_of_every_environment_are_named() -> None:
    page = (ROOT / "agentgym" / "README.md").read_text()
    named = {*re.findall(r"`(\w+)(?:=N)?`", page)}
    assert {*arguments_of(TextEnv)} - {"tasks"} <= named


def test_the_example_of_an_adapter_runs(capsys: Any) -> None:
    pytest.importorskip("datasets", reason="the example makes a data set of Hugging Face")
    namespace: dict[str, Any] = {}
    for block in blocks("agentgym/interop/exports.md", "python"):
        exec(compile(block, "adapters", "exec"), namespace)  # our own document
    assert len(namespace["settings"]["train_dataset"]) == 64


def test_continuous_integration_types_the_test_command_of_the_readme() -> None:
    [command] = [
        line
        for block in blocks("README.md", "bash")
        for line in block.splitlines()
        if "pytest" in line
    ]
    script = (ROOT / ".ci" / "run").read_text()
    [pattern] = re.findall(r'^line=\$\(grep -m 1 -E "([^"]+)" README\.md\)$', script, flags=re.M)
    lines = (ROOT / "README.md").read_text().splitlines()
    expected = re.compile(pattern.replace("\\$", "$"))
    assert next(line for line in lines if expected.search(line)) == command
    assert 'bash -c "$line"' in script


def places(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for target, place in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if "://" not in target:
            led = (ROOT / page).parent / target if target else ROOT / page
            assert led.exists(), target
            assert not place or place in places(led), f"{target}#{place}"


@pytest.mark.parametrize("page", SKILLS)
def test_skills_say_what_they_are_for_and_are_listed(page: str) -> None:
    _, head, _ = (ROOT / page).read_text().split("---\n", 2)
    name = Path(page).parent.name
    assert f"name: {name}\n" in head and "description: " in head
    assert f"({page})" in (ROOT / "AGENTS.md").read_text()


BANNED = (
    "fiercest", "foresees?", "foresee", "foretell", "all the same", "further ado", "as it stands",
    "as they stand", "rivals?", "of one's own", "by the turn", "whoever", "for good", "the house",
)  # fmt: skip
"""Phrases that the style page bans, with those that its table of words replaces."""


@pytest.mark.parametrize("page", sorted({*PAGES} - {".site/style.md"}))
def test_pages_avoid_what_the_style_page_bans(page: str) -> None:
    prose = " ".join(
        re.sub(r"```.*?```|`[^`]*`", "", (ROOT / page).read_text(), flags=re.S).split()
    )
    assert re.findall(rf"\b(?:{'|'.join(BANNED)})\b", prose, flags=re.IGNORECASE) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_placeholder_is_left(page: str) -> None:
    assert "@@" not in (ROOT / page).read_text()


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_on_lines_that_a_terminal_and_a_diff_can_show(page: str) -> None:
    text = re.sub(r"```.*?```|<!--.*?-->", "", (ROOT / page).read_text(), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "!["))]
    assert [line for line in lines if len(line) > 120] == []


TRAINING = ("train", "presets", "merge")
"""Subcommands that the trainer parses."""
COMMANDS = [
    pytest.param(argv, id=f"{page}: {shlex.join(argv)}")
    for page, text in pages()
    for argv in commands(text)
    if argv[0] not in TRAINING
]


@pytest.mark.parametrize("argv", COMMANDS)
def test_commands_can_be_typed_as_printed(argv: list[str]) -> None:
    parse(argv)


def settings_of_training() -> set[str]:
    schema = pytest.importorskip("trainers.config.schema", reason="the trainer needs packages")
    settings = {"seeds", "jobs", "config", "dry-run", "launch-config", "no-fit-horizon"}
    settings |= {"method", "weights", "density", "base"}  # of merge
    settings |= {flag.removeprefix("--") for flag in SHORTER}
    settings |= {"novelty.weight"}  # of the package that my-method.md writes
    for field in dataclasses.fields(schema.TrainConfig):
        section, name = field.default_factory, field.name.replace("_", "-")
        nested = dataclasses.fields(section) if dataclasses.is_dataclass(section) else ()
        settings |= {name, *(f"{name}.{entry.name.replace('_', '-')}" for entry in nested)}
    return settings


@pytest.mark.parametrize(
    ("page", "argv"),
    [(page, argv) for page, text in pages() for argv in commands(text) if argv[0] in TRAINING],
)
def test_flags_of_training_commands_exist(page: str, argv: list[str]) -> None:
    typed = {word[2:].partition("=")[0] for word in argv if word.startswith("--")}
    assert typed <= settings_of_training(), page


@pytest.mark.parametrize("page", ["use-records", "evaluate-as-a-paper"])
def test_python_of_how_to_pages_runs(page: str) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks(f".site/how-to/{page}.md", "python"):
        exec(compile(block, page, "exec"), namespace)  # our own document


def test_no_command_is_passed_over() -> None:
    assert len(COMMANDS) > 25
    text = "```bash\na && B=1 agentgym list --json | c > d  # e\nagentgym swe \\\n  list\n```"
    assert [*commands(text)] == [["list", "--json"], ["swe", "list"]]


@pytest.mark.parametrize(("page", "text"), [*pages()])
def test_flags_in_a_sentence_exist(page: str, text: str) -> None:
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    groups = {name.split()[0] for name in subcommands()} - {*subcommands()}
    for first, second, remainder in re.findall(r"`agentgym ([a-z]+)( [a-z-]+)?([^`]*)`", prose):
        name = first + second if first in groups else first
        if name in TRAINING:
            typed = set(re.findall(r"--([a-z][a-z.-]*[a-z])", remainder))
            assert typed <= settings_of_training(), remainder
        elif name not in groups:
            assert {*re.findall(r"--[a-z-]+", remainder)} <= flags(name), (name, remainder)
