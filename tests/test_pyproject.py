from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import agentgym
from agentgym.errors import DISTRIBUTION, DependencyNotInstalled, require
from agentgym.registration import FAMILIES
from tests.test_layers import modules

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"[\"\s]\.\[([a-z]+)\]")
"""An extra in a message such as ``pip install -e ".[alfworld]"``."""
ADVICE = re.compile(
    r"""(?:agentgym[-_]suite|\{DISTRIBUTION\})[\[{]|(?:install|add)\b[^\n]*\bagentgym[-_]suite"""
    r"""|(?:install|add)\s+['"]?agentgym\b(?!-)"""
)
"""Advice to install our name from an index, where it may be somebody else's."""

NAMERS = ("require", "read_records", "serve_app")
"""Functions whose second argument is an extra."""
PASSING = ("datafiles", "http_server")
"""Modules that are given it by their callers."""


def declared() -> set[str]:
    if sys.version_info >= (3, 11):
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        return set(project["optional-dependencies"])
    return set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or ())


def used() -> Iterator[tuple[str, str]]:
    """Yield each extra that the code names, with the place."""
    for path in {**modules("agentgym"), **modules("trainers")}.values():
        text = path.read_text()
        named = any(name in text for name in NAMERS)
        for node in ast.walk(ast.parse(text)) if named else ():
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            extra = node.args[1] if called in NAMERS else None
            if isinstance(extra, ast.Constant):
                yield str(extra.value), f"{path}, line {node.lineno}"
            elif extra is not None and path.stem not in PASSING:
                raise AssertionError(f"{path}: name the extra in the call")
        for match in NAMED.finditer(text):
            yield match[1], str(path)
    for entry in FAMILIES:
        if entry.extra or entry.packages:
            yield entry.extra, entry.id


def test_every_extra_that_the_code_names_exists():
    places = list(used())
    assert {"chat", "spacy", "train", "vllm"} <= {extra for extra, _ in places}
    extras = declared()
    missing = [f"{extra!r} ({place})" for extra, place in places if extra not in extras]
    assert not missing, f"pyproject.toml lacks {', '.join(missing)}"


TOLD = ("*.md", ".ci/*", "agentgym/**/*", "trainers/**/*", "benchmarks/**/*", "notebooks/**/*")
"""What people read, and whatever may be printed."""


@pytest.mark.slow
def test_no_page_recommends_to_install_a_foreign_name() -> None:
    files = {path for pattern in TOLD for path in ROOT.glob(pattern) if path.is_file()}
    texts = {path: path.read_text("utf-8", errors="replace") for path in files}
    assert len(texts) > 300 and ROOT / "README.md" in texts
    advice = {str(path): match[0] for path, text in texts.items() if (match := ADVICE.search(text))}
    assert not advice
    with pytest.raises(DependencyNotInstalled) as raised:
        require("no_such_package", "chat")
    assert 'run: pip install -e ".[chat]" (in a checkout of agentgym)' in str(raised.value)


def test_a_package_that_this_python_does_not_get_is_told_with_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [
        "gem-llm>=0.1; (python_version < '3.10') and extra == 'gem'",
        "harbor>=0.24; (python_version >= '3.99') and extra == 'harbor'",
        "pytest>=8; extra == 'harbor'",
        "verifiers>=0.4; (python_version >= '3.10') and extra == 'verifiers'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    command = 'pip install -e ".[{}]" (in a checkout of agentgym{})'
    for extra, version in (("gem", "< 3.10"), ("harbor", ">= 3.99"), ("verifiers", "")):
        with pytest.raises(DependencyNotInstalled) as raised:
            require("no_such_package", extra)
        message = command.format(extra, f", with Python {version}" if version else "")
        assert str(raised.value).endswith(f"run: {message}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('pip install "agentgym-suite[train]"', True),
        ("python -m pip install agentgym_suite", True),
        ('pip install "{DISTRIBUTION}{suffix}"', True),
        ("uv add agentgym", True),
        ('needs ``"agentgym-suite[chat]"``', True),
        ('pip install -e ".[train]" (in a checkout of agentgym)', False),
        ('packages={"agentgym-suite": "0.1"}', False),
    ],
)
def test_such_advice_is_found(text: str, expected: bool) -> None:
    assert bool(ADVICE.search(text)) is expected


def test_the_citation_says_what_the_package_says() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    package = (ROOT / "pyproject.toml").read_text()
    assert cited["cff-version"] == "1.2.0" and cited["message"] and cited["title"]
    assert cited["version"] == agentgym.__version__
    assert f'license = "{cited["license"]}"' in package
    assert all(f'name = "{author["name"]}"' in package for author in cited["authors"])


def test_a_source_distribution_holds_what_people_look_for() -> None:
    files = re.search(
        r"targets\.sdist\]\ninclude = \[(.*)\]", (ROOT / "pyproject.toml").read_text()
    )
    assert files
    for name in ("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "SECURITY.md"):
        assert (ROOT / name).is_file() and f'"{name}"' in files[1]
