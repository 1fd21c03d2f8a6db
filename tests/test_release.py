"""What a tag releases: only a tag publishes, by what the other jobs built and tested."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_pyproject import declared

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
TAG = "startsWith(github.ref, 'refs/tags/v')"
SENDS = re.compile(r"docker push|docker login|pypi-publish|deploy-pages|twine upload|git push")
"""What leaves the machine for others to see."""


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    return yaml.safe_load((WORKFLOWS / "release.yml").read_text())["jobs"]


def test_only_a_tag_publishes(jobs: dict[str, Any]) -> None:
    sending = 0
    for job in jobs.values():
        for step in job["steps"]:
            if SENDS.search(f"{step.get('run')} {step.get('uses')}"):
                assert TAG in (job.get("if"), step.get("if"))
                assert {"distributions", "tests"} <= {*job["needs"]}
                sending += 1
    assert sending == 3
    other_workflows = [
        path.read_text() for path in WORKFLOWS.glob("*.yml") if path.stem != "release"
    ]
    assert other_workflows and not any(SENDS.search(text) for text in other_workflows)


def test_what_is_published_was_built_and_tested(jobs: dict[str, Any]) -> None:
    publishing = jobs["publish-distributions"]
    assert publishing["permissions"] == {"id-token": "write"}  # no password
    assert not re.search(r"secrets\.", (WORKFLOWS / "release.yml").read_text())
    runs = {
        name: " ".join(str(step.get("run")) for step in job["steps"]) for name, job in jobs.items()
    }
    assert ".ci/release" in runs["distributions"] and "pytest" in runs["tests"]
    assert ".ci/image" in runs["images"] and "python .site" in runs["site"]
    assert "twine check --strict" in (ROOT / ".ci" / "release").read_text()


def test_the_images_have_what_the_package_needs() -> None:
    recipe = (ROOT / ".ci" / "Dockerfile").read_text()
    readme = (ROOT / "README.md").read_text()
    pins = {*re.findall(r"torch==[\d.]+\d", recipe)}
    assert len(pins) == 1 and pins <= {*re.findall(r"torch==[\d.]+\d", readme)}
    extras = re.findall(r"ARG EXTRAS=(.+)", recipe)
    assert len(extras) == 2
    assert not {extra for line in extras for extra in line.split(",")} - declared()
    kept_paths = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    package = (ROOT / "pyproject.toml").read_text()
    packages = re.search(r"targets\.wheel\]\npackages = \[(.*)\]", package)
    assert packages
    for name in ("pyproject.toml", "README.md", "LICENSE", *re.findall(r'"(.+?)"', packages[1])):
        assert any(fnmatch.fnmatch(name, pattern) for pattern in kept_paths), name


def test_the_owner_has_five_things_to_do() -> None:
    page = (ROOT / ".site" / "release.md").read_text()
    section = page.partition("## What only the owner can do\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^- ", section, re.MULTILINE)) == 5
    for path in re.findall(r"`(\.ci/\w+|agentgym/\w+\.py|\w+\.yml)`", page):
        place = WORKFLOWS / path if path.endswith(".yml") else ROOT / path
        assert place.is_file(), path
