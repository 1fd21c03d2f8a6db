"""``python notebooks/execute.py NAME``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "notebooks" / "execute.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, whose notebooks are only named."""
    spec = importlib.util.spec_from_file_location("execute_notebooks", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["01_quickstart", "01_quickstart.ipynb"])
def test_a_name_is_known_with_and_without_its_ending(
    script: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    async def note(paths: list[Path], save: bool, jobs: int) -> bool:
        names.extend(path.name for path in paths)
        return True

    monkeypatch.setattr(script, "execute_all", note)
    assert script.main([name]) == 0
    assert names == ["01_quickstart.ipynb"]


@pytest.mark.parametrize("package", ["nbformat", "nbclient"])
def test_without_the_extra_there_is_one_sentence(
    script: ModuleType,
    package: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = importlib.import_module

    def import_other(name: str) -> ModuleType:
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return ModuleType(name) if name in ("nbformat", "nbclient") else real(name)

    monkeypatch.setattr("agentgym.errors.importlib.import_module", import_other)
    assert script.main(["01_quickstart"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"expected the package '{package}'") and message.count("\n") == 1
    assert "pip install" in message and "[notebooks]" in message


def test_another_name_ends_in_a_sentence(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["99_nothing"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("expected notebooks of ") and message.count("\n") == 1
    assert "01_quickstart" in message and "got 99_nothing" in message
