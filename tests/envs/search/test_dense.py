"""An environment that searches by vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.envs.search.env import SearchEnv
from agentgym.errors import EnvFailure
from agentgym.retrieval.dense import DenseEncoder, DenseRetriever
from agentgym.retrieval.index_builder import build_index
from tests.envs.search.library import PASSAGES, write_questions
from tests.retrieval.encoders import hashed


@pytest.mark.parametrize("exact", [True, False])
def test_a_corpus_of_vectors(tmp_path: Path, exact: bool) -> None:
    build_index(PASSAGES, tmp_path / "index", index=DenseEncoder(hashed, exact=exact))
    corpus = DenseRetriever(tmp_path / "index", hashed)
    env = SearchEnv(corpus=corpus, questions=write_questions(tmp_path))
    env.reset(options={"split": "train", "index": 1})
    observation = env.step("<search>mayor of Belden</search>")[0]
    assert 'Doc 1 (Title: "Belden")' in observation
    env.step("<search>Kit Sorrel was born</search>")
    reward, terminated, _, info = env.step("<answer>Harrow</answer>")[1:]
    assert reward == 1.0 and terminated and info["details"]["gold_recall"] == 1.0


def test_an_encoder_that_fails_costs_the_episode(tmp_path: Path) -> None:
    def broken(texts: list[str]) -> list[list[float]]:
        raise RuntimeError("out of memory")

    build_index(PASSAGES, tmp_path / "index", index=DenseEncoder(hashed))
    corpus = DenseRetriever(tmp_path / "index", broken)
    env = SearchEnv(corpus=corpus, questions=write_questions(tmp_path))
    env.reset(options={"split": "train", "index": 1})
    with pytest.raises(EnvFailure, match="failed with RuntimeError: out of memory"):
        env.step("<search>mayor of Belden</search>")
