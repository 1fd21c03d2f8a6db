"""A result file says which command made it, from which seeds and tasks, on what."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_readme import ROOT

SCRIPT = """
import json, sys
sys.path.insert(0, {folder!r})
from provenance import to_json
print(to_json({{"rows": [{{"seed": 0, "tasks": 500}}, {{"seed": 2, "tasks": 500}}]}}))
"""


def load() -> ModuleType:
    """Load the script as the benchmarks do, which stand in no package."""
    spec = importlib.util.spec_from_file_location("provenance", ROOT / "benchmarks/provenance.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def provenance() -> ModuleType:
    return load()


def test_seeds_tasks_and_panels_are_found_wherever_they_stand(provenance: ModuleType) -> None:
    rows = [{"seed": 1, "evaluation": {"panel_sha256": "ab"}, "tasks": 200},
            {"seed": 0, "evaluation": {"panel_sha256": "ab"}, "tasks": 500}]  # fmt: skip
    assert provenance.drawn({"families": {"x": rows}}) == {
        "seeds": [1, 0], "n": [200, 500], "panel": ["ab"],
    }  # fmt: skip
    assert provenance.drawn({"seeds": [3, 4], "n": 60}) == {"seeds": [3, 4], "n": [60]}
    assert provenance.drawn({"tasks": {"seed": None}}) == {}


def test_a_script_tells_its_command_without_folders_of_the_machine(tmp_path: Path) -> None:
    script = tmp_path / "measure.py"
    script.write_text(SCRIPT.format(folder=str(ROOT / "benchmarks")))
    words = ["--out", str(tmp_path / "runs"), f"--data={ROOT / 'benchmarks' / 'results'}", "a b"]
    output = subprocess.run(
        [sys.executable, str(script), *words], capture_output=True, text=True, check=True
    ).stdout
    assert str(tmp_path) not in output and str(ROOT) not in output
    measured = json.loads(output)["measured"]
    assert measured["command"] == ("python measure.py --out runs --data=benchmarks/results 'a b'")
    assert (measured["seeds"], measured["n"]) == ([0, 2], [500])
    assert {"commit", "uncommitted_changes", "python", "packages", "system"} <= measured.keys()


def test_a_script_of_the_checkout_is_named_from_its_root() -> None:
    script = "import runpy, sys; sys.argv = ['provenance.py', '-x']; sys.path.insert(0, '.')\n"
    script += "import provenance; print(provenance.command_line())"
    output = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "benchmarks", capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert output.strip() == "python benchmarks/provenance.py -x"
