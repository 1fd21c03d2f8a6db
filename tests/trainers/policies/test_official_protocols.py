"""Protocols of papers with official data and a local model: all but the weights of a checkpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym.evaluation import evaluate
from agentgym.protocols import find_prompt
from tests.envs.alfworld.data import shared_pack
from tests.envs.webshop.conftest import shared_data

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def model(small_model: Path, tmp_path: Path) -> Path:
    """A model that can read prompts of papers: positions are rotary, so its weights stay."""
    folder = shutil.copytree(small_model, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 8192}))
    return folder


def packed(name: str) -> Callable[[Path], dict[str, Any]]:
    """Official games of ALFWorld."""
    return lambda _: {"data": str(shared_pack(f"{name}.json.gz").parent)}


def shop(_: Path) -> dict[str, Any]:
    """WebShop's own products and goals."""
    return {"data": str(shared_data("webshop") / "catalogue")}


def questions(folder: Path) -> dict[str, Any]:
    """A question set and a corpus in the form of Search-R1's files."""
    row = {"id": "1", "question": "who wrote Emma", "golden_answers": ["Jane Austen"]}
    (folder / "nq").mkdir()
    (folder / "nq/test.jsonl").write_text(json.dumps(row) + "\n")
    passage = {"id": "0", "contents": '"Emma"\na novel by Jane Austen'}
    (folder / "corpus.jsonl").write_text(json.dumps(passage) + "\n")
    return {"questions": str(folder / "nq"), "corpus": str(folder / "corpus.jsonl")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "env", "data", "figures"),
    [
        ("verl-agent", "alfworld", packed("valid_seen"),
         ["Pick", "Look", "Clean", "Heat", "Cool", "Pick2", "All"]),
        ("verl-agent", "webshop", shop, ["Score", "Succ."]),
        ("agentgym", "alfworld", packed("valid_train"), None),
        ("search-r1", "search", questions, ["EM"]),
    ],
)  # fmt: skip
def test_a_local_model_is_evaluated_as_the_paper_does(
    model: Path,
    tmp_path: Path,
    protocol: str,
    env: str,
    data: Callable[[Path], dict[str, Any]],
    figures: list[str] | None,
) -> None:
    """Tasks, prompt and figures are the paper's; what was shortened for the test is a departure."""
    with_data = {"env": env, "protocol": protocol, "env_kwargs": data(tmp_path)}
    options = {} if protocol == "search-r1" else {"num_tasks": 2}
    report = evaluate(f"hf:{model}", horizon=2, **with_data, **options)
    assert report.n == (2 if options else 1) and report.errors == 0
    prompt = find_prompt(protocol, env)
    assert report.policy_facts["prompt"] == f"{protocol} {prompt.layout.sha256}"
    allowed = {"num_tasks", "horizon", "policy.temperature", "policy.top_p"}
    assert set(report.departures) <= allowed, report.departures
    assert all(row.prompt_tokens > 0 for row in report.rows), "the model has read the prompt"
    names = [figure.name for figure in report.figures()]
    assert names == figures if figures else names
