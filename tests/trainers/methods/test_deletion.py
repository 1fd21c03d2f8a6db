"""A method is its folder: without it the rest is imported, and trains to the same weights."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from pkgutil import resolve_name

import pytest

from trainers.algorithms.presets import PRESETS
from trainers.methods.table import BUILT_IN

ROOT = Path(__file__).parents[3]


def trained_weights() -> str:
    """Import every module of the trainer, train two steps, and return a hash of the weights."""
    import importlib
    import pkgutil

    import trainers
    from tests.trainers.grpo.helpers import make_trainer

    for module in pkgutil.walk_packages(trainers.__path__, "trainers."):
        importlib.import_module(module.name)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, preset="turn-loo", args={"steps": 2})
        trainer.train()
    weights = b"".join(weight.detach().numpy().tobytes() for weight in trainer.model.parameters())
    return hashlib.sha256(weights).hexdigest()


def run_without(folder: str, copy: Path) -> subprocess.CompletedProcess[str]:
    """Run this file in an interpreter whose trainer lacks the folder of a method, if any."""
    shutil.copytree(
        ROOT / "trainers", copy / "trainers", ignore=shutil.ignore_patterns("__pycache__")
    )
    if folder:
        shutil.rmtree(copy / "trainers" / "methods" / folder)
    path = os.pathsep.join([str(copy), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "tests.trainers.methods.test_deletion"]
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def complete_answer(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The presets and the hash of the weights where no method is missing."""
    completed = run_without("", tmp_path_factory.mktemp("complete"))
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("folder", BUILT_IN)
def test_without_a_method_the_others_train_to_the_same_weights(folder, complete_answer, tmp_path):
    completed = run_without(folder, tmp_path)
    assert completed.returncode == 0, completed.stderr
    *presets, weights = completed.stdout.split()
    *complete_presets, complete_weights = complete_answer
    assert weights == complete_weights
    needs = {*resolve_name(f"trainers.methods.{folder}.method:METHOD").needs}
    expected = [name for name in complete_presets if not needs.intersection(PRESETS[name].needs)]
    assert presets == expected
    assert (presets != complete_presets) == bool(needs)


if __name__ == "__main__":
    sys.stdout.write(" ".join([*PRESETS, trained_weights()]))
