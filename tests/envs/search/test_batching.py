"""One search for all members of a vector environment, with the results of many."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401
from agentgym.envs.search.env import SearchEnv
from agentgym.vector import TextVectorEnv
from tests.envs.search.library import QUESTIONS, CountingRetriever, failing, write_questions

ID = "agentgym/Search-v0"
TURNS = (
    ["search[Belden mayor]", "<search>Wern Tools founded</search>", "hm", "search[Belden  mayor]"],
    ["search[Kit Sorrel born]", "search[Wern Tools founded]", "search[Belden mayor]", "answer[x]"],
    ["<information>x</information>", "answer[1934]", "<search></search>", "search[Belden]"],
)


class LoggingRetriever(CountingRetriever):
    """Writes the size of every call to a file, which worker processes can do, too."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.log = log

    def search(self, queries: Any, k: int) -> Any:
        """Search and note the number of queries."""
        with self.log.open("a") as file:
            file.write(f"{json.dumps(list(queries))}\n")
        return super().search(queries, k)

    def queries(self) -> list[list[str]]:
        """Return the queries of every call."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def play(envs: TextVectorEnv) -> list[Any]:
    """Play the turns, each member on its question, until its episode ends."""
    options = [{"split": "train", "index": slot % len(QUESTIONS)} for slot in range(4)]
    log: list[Any] = [*envs.reset_slots(range(4), [3] * 4, options)]
    for turn in TURNS:
        slots = [slot for slot, active in enumerate(envs.active) if active]
        log += envs.step_slots(slots, [turn[slot] for slot in slots])
    envs.close()
    return log


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_one_call_a_turn_gives_what_many_give(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = write_questions(tmp_path)
    single, batched = (LoggingRetriever(tmp_path / name) for name in ("single", "batched"))
    make = partial(TextVectorEnv.make, ID, 4, workers=1, questions=questions)
    together = play(make(backend=backend, corpus=batched))
    monkeypatch.setattr(SearchEnv, "prepare", classmethod(lambda cls, members: None))
    assert together == play(make(backend="sync", corpus=single))
    assert all(len(queries) == 1 for queries in single.queries())
    assert batched.queries() == [
        ["Belden mayor", "Wern Tools founded"],
        ["Kit Sorrel born", "Belden mayor"],
    ], "what was searched before, and what is searched twice, is asked once"


def test_a_failure_of_the_batch_is_that_of_each_member(tmp_path: Path) -> None:
    retriever = failing()
    envs = TextVectorEnv.make(
        ID, 3, backend="sync", corpus=retriever, questions=write_questions(tmp_path)
    )
    envs.reset(seed=3, options={"index": 1})
    steps = envs.step_slots(range(3), ["search[a]", "search[b]", "answer[Harrow]"])
    assert len(retriever.calls) == 1, "nobody asks again"
    assert [step[4]["stop_reason"] for step in steps] == ["error", "error", "success"]
    envs.close()


def test_retrievers_and_numbers_of_passages_are_asked_apart(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    first, second = CountingRetriever(), CountingRetriever()
    envs = [
        gymnasium.make(ID, corpus=corpus, questions=questions, topk=topk).unwrapped
        for corpus, topk in ((first, 3), (first, 3), (first, 2), (second, 3))
    ]
    members = []
    for env in envs:
        assert isinstance(env, SearchEnv)
        env.reset(seed=1, options={"index": 1})
        members.append((env, "search[Belden]"))
    SearchEnv.prepare(members)
    assert first.calls == [(("Belden",), 3), (("Belden",), 2)]
    assert second.calls == [(("Belden",), 3)]
    assert len(envs[2].step("search[Belden]")[0].split("Doc ")) == 3
    assert len(first.calls) == 2


def test_preparing_asks_for_nothing_where_nothing_is_to_be_searched(tmp_path: Path) -> None:
    retriever = CountingRetriever()
    env = gymnasium.make(
        ID, corpus=retriever, questions=write_questions(tmp_path), horizon=1
    ).unwrapped
    assert isinstance(env, SearchEnv)
    SearchEnv.prepare([(env, "search[x]")])
    env.reset(seed=1)
    SearchEnv.prepare([(env, "search[x]"), (env, 7), (env, "hm")])  # type: ignore[list-item]
    env.step("search[x]")
    SearchEnv.prepare([(env, "search[x]")])
    assert not retriever.calls
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("search[x]")
