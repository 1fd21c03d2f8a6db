"""The pictures of the site, and of the README, are what the command shows now."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

SITE = Path(__file__).resolve().parents[1] / ".site"


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pictures", SITE / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
