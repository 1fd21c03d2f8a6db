"""The site lists every page, and its pictures, like the README's, are what the command shows."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

SITE = Path(__file__).resolve().parents[1] / ".site"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"site_{name}", SITE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    return load("pictures")


def test_every_page_is_in_the_table_of_contents(pictures, monkeypatch):
    monkeypatch.setitem(sys.modules, "pictures", pictures)
    pages = load("pages")
    found = [path for path in pages.sources() if path.suffix in (".md", ".ipynb")]
    names = {path.relative_to(pages.ROOT).with_suffix("").as_posix() for path in found}
    listed = [name for part in pages.contents().values() for name in part]
    assert sorted(listed) == sorted(names - {"README"} | {"reference/index"})


def test_a_page_is_summed_up_by_its_first_sentence(pictures, monkeypatch):
    monkeypatch.setitem(sys.modules, "pictures", pictures)
    summary = load("pages")._summary
    assert summary("# A\nOne in\n`two`, and more. Two.\n\nThree.\n") == (
        "A",
        "One in `two`, and more",
    )
    assert summary("# A\nRun it:\n```bash\nrun. it\n```\n") == ("A", "Run it")


def test_the_screencast_of_the_readme_is_not_old(pictures):
    drawn, stored = pictures.screencast(), pictures.SCREENCAST.read_text(encoding="utf-8")
    assert pictures.words(drawn) == pictures.words(stored), "run python .site/pictures.py"
    assert "solved" in " ".join(pictures.words(stored))


def test_frames_follow_one_another_and_load_nothing(pictures):
    drawn = pictures.screencast()
    frames = re.findall(r"animation-delay: ([0-9.]+)s", drawn)
    assert [float(each) for each in frames] == [
        pictures.SECONDS * at for at in range(len(frames))
    ] and len(frames) > 3
    assert not re.search(r"url\((?!#)|href=|src=", drawn)
