"""What is written into a folder that somebody else made stays in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentgym
from agentgym.cli import main
from agentgym.errors import ConfigurationError
from agentgym.support.folder_links import check_no_link_leads_out
from tests.toy import TOY_ID


def _evaluated(out: Path) -> None:
    agentgym.evaluate("random", TOY_ID, num_tasks=2, out=out)


@pytest.mark.parametrize("name", ["episodes.jsonl", "report.md", "deep/er/link"])
def test_an_evaluation_does_not_go_on_through_a_link(tmp_path: Path, name: str) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    _evaluated(out)
    link = out / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(outside)
    with pytest.raises(ConfigurationError, match=f"a link to {outside}"):
        _evaluated(out)
    assert not outside.exists()


def test_a_suite_does_not_write_through_a_link(tmp_path: Path) -> None:
    suite = {"environments": [TOY_ID], "policies": ["random", "oracle"], "num_tasks": 2}
    out, outside = tmp_path / "out", tmp_path / "outside"
    first, _ = agentgym.evaluate_all(suite, out).reports
    outside.mkdir()
    (out / first).rename(tmp_path / "before")
    (out / first).symlink_to(outside)
    with pytest.raises(ConfigurationError, match="a link to"):
        agentgym.evaluate_all(suite, out)
    assert not [*outside.iterdir()]


def test_the_page_of_a_run_does_not_replace_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside.html"
    _evaluated(out)
    (out / "view.html").symlink_to(outside)
    assert main(["view", str(out)]) == 2 and f"a link to {outside}" in capsys.readouterr().err
    assert not outside.exists()
    (out / "view.html").unlink()
    assert main(["view", str(out)]) == 0


def test_links_within_a_folder_and_to_it_are_no_harm(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _evaluated(out)
    (out / "same.md").symlink_to("report.md")
    (tmp_path / "other").symlink_to(out)
    _evaluated(tmp_path / "other")
    check_no_link_leads_out(out)
