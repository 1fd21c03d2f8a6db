"""One engine for several threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agentgym.errors import PolicyFailure
from tests.trainers import tiny_policy
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.policies.shared_engine import SharedEngine
from trainers.rollouts.engines.base import Sampling, generate
from trainers.rollouts.engines.hf import HFEngine

THREADS = 6


def together(work: Callable[[int], Any]) -> list[Any]:
    """What the threads return, or the errors that they raise."""
    results: list[Any] = [None] * THREADS
    start = threading.Barrier(THREADS)

    def run(index: int) -> None:
        start.wait()
        try:
            results[index] = work(index)
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    return results


def test_threads_get_what_each_would_get_alone() -> None:
    chat, model = tiny_policy.chat(), tiny_policy.model()
    sampling = Sampling(max_tokens=6, stop_ids=chat.stop_ids)
    prompts = [
        chat.start([{"role": "user", "content": text}])
        for text in ("press red", "press gold then blue", "next is green", "click", "red", "blue")
    ]
    shared = SharedEngine(HFEngine(model, chat.pad_id), sampling)
    all_ids = together(
        lambda i: [shared.complete(i, prompts[i], 6, 10 * i + t).ids for t in range(5)]
    )
    shared.close()
    alone = HFEngine(model, chat.pad_id)
    for index, ids in enumerate(all_ids):
        seeds = [10 * index + turn for turn in range(5)]
        expected = [generate(alone, [prompts[index]], sampling, seeds=[seed]) for seed in seeds]
        assert ids == [completion.ids for (completion,) in expected]


def test_requests_that_come_meanwhile_are_generated_together() -> None:
    chat = tiny_policy.chat()
    started, go_on = threading.Event(), threading.Event()

    class Slow(ScriptedEngine):
        def advance(self, timeout: float | None = None) -> Any:
            started.set()
            go_on.wait(timeout=60)
            return super().advance(timeout)

    engine = Slow(chat, lambda prompt: "press red")
    shared = SharedEngine(engine, Sampling())
    first = threading.Thread(target=shared.complete, args=(THREADS, [1], 8, 0))
    first.start()
    assert started.wait(timeout=60)

    def work(index: int) -> list[int]:
        if index:
            return shared.complete(index, [1, 2, index], 8, 0).ids
        while len(shared._submitted) < THREADS - 1:
            time.sleep(0.001)
        go_on.set()
        return chat.encode_action("press red")

    results = together(work)
    first.join(timeout=60)
    assert all(chat.action_text(ids) == "press red" for ids in results)
    assert [len(prompts) for prompts in engine.calls] == [1, THREADS - 1]


def test_an_engine_that_fails_costs_the_requests_that_it_had() -> None:
    chat = tiny_policy.chat()

    class Failing(ScriptedEngine):
        failed = False

        def advance(self, timeout: float | None = None) -> Any:
            if not self.failed:
                self.failed = True
                raise RuntimeError("out of memory")
            return super().advance(timeout)

    shared = SharedEngine(Failing(chat, lambda prompt: "press red"), Sampling())
    results = together(lambda index: shared.complete(index, [1, 2], 8, 0))
    failed = [result for result in results if isinstance(result, PolicyFailure)]
    assert failed and "RuntimeError: out of memory" in str(failed[0])
    assert shared.complete(0, [1, 2], 8, 0).stopped, "the next request finds it at work"


def test_keys_of_policies_that_are_gone_are_used_again() -> None:
    shared = SharedEngine(ScriptedEngine(tiny_policy.chat(), []), Sampling())
    first, second = shared.take_key(), shared.take_key()
    assert first != second
    shared.return_key(first)
    assert shared.take_key() == first


@pytest.mark.parametrize("count", [50])
def test_a_policy_gives_its_key_back_when_it_is_gone(count: int) -> None:
    from agentgym.conversation import BARE, Prompt
    from trainers.policies.model_policy import ModelPlayer, ModelPolicy
    from trainers.rollouts.budget import TokenBudget

    chat = tiny_policy.chat()
    shared = SharedEngine(ScriptedEngine(chat, []), Sampling())
    policy = ModelPolicy(ModelPlayer(shared, chat, Prompt(BARE), TokenBudget()))
    for _ in range(count):
        policy.copy()
    assert shared.take_key() <= 2
