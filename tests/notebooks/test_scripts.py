"""Every script beside the notebooks runs, at its smallest."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.sandbox import SandboxConfig, open_sandbox
from tests.policies.endpoint import ChatServer, completion
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from tests.trainers.forks import ForkedRun
from tests.trainers.pictures import drawn
from tests.trainers.toy_runs import EASY_ID
from tests.trainers.words import remembered

SCRIPTS = Path(__file__).parents[2] / "notebooks" / "scripts"
TINY = [f"tiny__{part}" for part in ("hidden", "layers", "heads", "intermediate", "context")]
"""Of a model that is made for the run."""
LIBRARY = Path(__file__).parents[1] / "envs" / "swe" / "repositories" / "sums"


def main_of(name: str) -> Callable[[list[str]], Any]:
    """Return what a script runs."""
    main: Callable[[list[str]], Any] = runpy.run_path(str(SCRIPTS / name))["main"]
    return main


def shop(body: dict[str, Any], number: int) -> dict[str, Any]:
    """Search once, then buy whatever is on the page."""
    has_answered = any(message["role"] == "tool" for message in body["messages"])
    name, arguments = (
        ("click", {"element": "buy now"}) if has_answered else ("search", {"query": "shoes"})
    )
    call = {"name": name, "arguments": json.dumps(arguments)}
    tools = [{"id": f"call{number}", "type": "function", "function": call}]
    return completion(None, "tool_calls", tool_calls=tools)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ChatServer(shop)
    yield server.url
    server.close()


@pytest.fixture(autouse=True)
def key(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_evaluate_endpoint(url: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    flags = ["--base-url", url, "--model", "a", "b", "--env", "webshop", "--num-tasks", "1"]
    result = main_of("evaluate_endpoint.py")([*flags, "--out", str(tmp_path / "out")])
    assert result.complete and len(result.reports) == 4
    assert (tmp_path / "out" / "chart.svg").exists()


@pytest.mark.parametrize(
    ("script", "package"),
    [("langgraph_agent.py", "langchain_openai"), ("smolagents_agent.py", "smolagents")],
)
def test_agents_of_frameworks(script: str, package: str, url: str) -> None:
    pytest.importorskip(package, reason=f"{package} is in .ci/peers")
    report = main_of(script)(["--base-url", url, "--model", "m", "--num-tasks", "2"])
    assert report.n == 2 and not any(row.error for row in report.rows)
    assert report.tokens["prompt"] > 0
    assert all(row.turns > 1 for row in report.rows)


def test_read_records(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    report = agentgym.evaluate("random", "textworld", num_tasks=2, out=tmp_path)
    frame = main_of("read_records.py")([str(tmp_path / "episodes.jsonl")])
    assert len(frame) == sum(row.turns for row in report.rows)


def test_serve_to_another_trainer() -> None:
    pytest.importorskip("uvicorn")
    episodes = main_of("serve_to_another_trainer.py")(["--episodes", "1", "--env", "textworld"])
    assert len(episodes) == 1 and episodes[0]


@pytest.mark.slow
def test_tasks_from_library(tmp_path: Path) -> None:
    open_sandbox(SandboxConfig()).close()  # Where none can be made, this is skipped.
    flags = [str(LIBRARY), "--out", str(tmp_path / "tasks"), "--num-tasks", "1"]
    assert main_of("tasks_from_library.py")(flags).success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "flags", "folders", "message"),
    [
        ("train_on_two_families.py", ["--env", TOY_ID, EASY_ID], ("",), f"eval {EASY_ID}"),
        ("lora_of_local_model.py", ["--env", TOY_ID, "--rank", "2"], ("",), ""),
        (
            "sweep_seeds.py",
            ["--env", f"tests.toy:{TOY_ID}", "--values", "1e-3", "--seeds", "0", "1", "--"],
            ("rl.learning-rate=1e-3/seed0", "rl.learning-rate=1e-3/seed1"),
            "rl.learning-rate 1e-3: ",
        ),
    ],
)
def test_trainings(
    script: str,
    flags: list[str],
    folders: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: Any,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr("trainers.phases.multirun.seeds.begin_process", ForkedRun)
    out = tmp_path / "run"
    names = ["env", "rl__learning_rate", *(() if message else TINY)]
    small = toy_runs.arguments(out, steps=1, sft__max_steps=5, **dict.fromkeys(names))
    small = [flag for flag in small if not flag.startswith("--out=")]
    with drawn(False), remembered():
        assert main_of(script)(["--out", str(out), *flags, *small]) == 0
    for folder in folders:
        records = (out / folder / "metrics.jsonl").read_text().splitlines()
        assert any(json.loads(line)["phase"] == "rl" for line in records)
    if message:
        assert message in capsys.readouterr().out
    else:
        assert list(out.rglob("adapter_model.safetensors"))
