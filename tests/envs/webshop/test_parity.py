"""Recorded sessions of the original, replayed; skipped where the recordings are absent."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.webshop.engine.goals import official_goals
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.generator import generate
from agentgym.envs.webshop.generator.writer import write
from agentgym.envs.webshop.official.files import locate, read_instructions, read_items
from tests.envs.webshop.conftest import shared_data

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "webshop_parity.py"


def run(catalogue: Path, pack: Path) -> tuple[int, dict[str, Any]]:
    """Run the script; return its exit code and what it printed."""
    command = [sys.executable, str(SCRIPT), "--catalogue", str(catalogue), "--pack", str(pack)]
    process = subprocess.run(
        command, capture_output=True, text=True, cwd=SCRIPT.parents[1], check=False
    )
    assert process.stdout, process.stderr
    return process.returncode, json.loads(process.stdout)


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """A small shop in the official files."""
    write(generate(40, "easy", 5), tmp_path / "data" / "catalogue")
    return tmp_path / "data" / "catalogue"


def record(catalogue: Path, folder: Path, place: int) -> str:
    """Write a recording of one reset with a single goal; return the asin of the goal."""
    files = locate(catalogue)
    instructions = read_instructions(files)
    goals = official_goals(instructions, None)
    shop = Shop.build(read_items(files), instructions, lambda item: ("x",), goals=goals)
    goal = shop.goals[place]
    folder.mkdir(parents=True)
    side = {"goals": [goal.to_content()], "product_prices": {}}
    (folder / "goals_prices.json").write_text(json.dumps(side))
    episode = {
        "goal_index": 0,
        "reset_obs": f"WebShop [SEP] Instruction: [SEP] {goal.instruction_text} [SEP] Search",
        "steps": [],
    }
    with gzip.open(folder / "episodes.jsonl.gz", "wt") as stream:
        stream.write(json.dumps(episode) + "\n")
    return goal.asin


@pytest.mark.slow
def test_the_recordings_are_reproduced() -> None:
    data = shared_data("webshop")
    code, result = run(data / "catalogue", data / "pack1")
    assert code == 0, result
    assert result["total"] == {
        "episodes": 276, "steps": 2090, "purchases": 232, "text": 0, "text_rich": 0,
        "clickables": 0, "reward": 0, "done": 0, "reward_parts": 0,
    }  # fmt: skip
    assert {run["goals_that_we_make_differ"] for run in result["recordings"].values()} == {0}
    assert Path(result["nouns"]).parent.name == "pack1"
    ranked = result["rankings"]
    assert ranked["identical_at_10"] == ranked["identical_at_50"] == ranked["queries"] == 596
    assert result["tokens"] == {"documents": 1000, "differ": 0, "examples": []}


def test_packs_in_folders_keep_their_goals_and_names(catalogue: Path, tmp_path: Path) -> None:
    pack = tmp_path / "packs"
    asins = [record(catalogue, pack / name, place) for name, place in (("a", 0), ("b", -1))]
    assert asins[0] != asins[1]
    code, result = run(catalogue, pack)
    assert code == 0, result
    assert list(result["recordings"]) == ["a/episodes", "b/episodes"]
    assert result["total"]["episodes"] == 2 and result["total"]["text"] == 0, result["recordings"]
    assert result["nouns"] == "builtin" and len(result["missing"]) == 3


@pytest.mark.parametrize("place", ["packs/a/nouns.json", "data/catalogue/my_nouns.json",
                                   "data/other/nouns_by_asin.json.gz"])  # fmt: skip
def test_nouns_are_looked_for(place: str, catalogue: Path, tmp_path: Path) -> None:
    asin = record(catalogue, tmp_path / "packs" / "a", 0)
    (tmp_path / "data" / "unrelated").mkdir()
    (tmp_path / "data" / "unrelated" / "nouns.json").write_text('{"of another shop": ["x"]}')
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"nouns": {asin: ["x"]}}).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    code, result = run(catalogue, tmp_path / "packs")
    assert code == 0, result
    assert Path(result["nouns"]) == Path(result["recordings"]["a/episodes"]["nouns"]) == path


@pytest.mark.parametrize("absent", ["pack", "catalogue", "goals", "episodes"])
def test_nothing_replayed_is_an_error(absent: str, catalogue: Path, tmp_path: Path) -> None:
    pack = tmp_path / "packs"
    record(catalogue, pack / "a", 0)
    if absent == "goals":
        (pack / "a" / "goals_prices.json").unlink()
    elif absent == "episodes":
        (pack / "a" / "episodes.jsonl.gz").unlink()
    code, result = run(
        tmp_path / "nowhere" if absent == "catalogue" else catalogue,
        tmp_path / "nowhere" if absent == "pack" else pack,
    )
    assert code == 1 and "expected" in result["error"]
    assert result["total"]["episodes"] == 0
