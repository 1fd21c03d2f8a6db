"""Prefixes that prompts share are found as a tree, and computed once by the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.trainers.rollouts.engines.test_hf import finish, grouped, scored, watched
from trainers.rollouts.engines.base import Request, Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.shared_prefixes import SharedPrefix, shared_length, shared_prefixes

RNG = np.random.default_rng(0)
SYSTEM = RNG.integers(4, 20, 100).tolist()
RULES = RNG.integers(4, 20, 150).tolist()


def prompts(count: int, begin: list[int], size: int = 10) -> list[list[int]]:
    return [[*begin, 4 + number, *RNG.integers(4, 20, size).tolist()] for number in range(count)]


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)))
def test_the_length_that_two_texts_share(
    begin: list[int], first: list[int], second: list[int]
) -> None:
    first, second = begin + first, begin + second
    equal_tokens = [a == b for a, b in zip(first, second, strict=False)]
    assert shared_length(first, second) == [*equal_tokens, False].index(False)


def test_a_tree_is_found_branch_by_branch() -> None:
    family = prompts(3, SYSTEM)
    longer = prompts(3, [*SYSTEM, 3, *RULES])
    texts = [longer[0], family[0], family[1], longer[1], [5] * 40, family[2], longer[2]]
    [first] = shared_prefixes(texts, [0] * 7)
    assert (sorted(first.prompts), first.length) == ([0, 1, 2, 3, 5, 6], 100)
    lengths = [100, 100, 100, 100, 0, 100, 100]
    [second] = shared_prefixes(texts, lengths)
    assert (sorted(second.prompts), second.length) == ([0, 3, 6], 251)
    lengths = [251 if number in (0, 3, 6) else size for number, size in enumerate(lengths)]
    assert shared_prefixes(texts, lengths) == []


def test_little_is_left_alone() -> None:
    assert shared_prefixes(prompts(2, SYSTEM), [0, 0]) == []  # 100 tokens saved
    assert shared_prefixes(prompts(9, SYSTEM[:20]), [0] * 9) == []
    assert shared_prefixes([], []) == []
    # One is the beginning of the other: its last token is fed for its logits.
    assert shared_prefixes([RULES, [*RULES, 1]], [0, 0]) == [SharedPrefix([0, 1], 149)]


def requests(texts: list[list[int]], first: int = 0, limit: int = 3) -> list[Request]:
    return [Request(first + number, text, limit, number) for number, text in enumerate(texts)]


def check(model: Any, batch: list[Request], ended: dict[int, Any]) -> None:
    for request in batch:
        want = torch.tensor(ended[request.key].logprobs)
        assert torch.allclose(scored(model, request.prompt, ended[request.key]), want, atol=1e-5)


@pytest.mark.parametrize("slots", [0, 64])
def test_a_system_prompt_is_computed_once_for_all_tasks(slots: int) -> None:
    model = grouped()
    engine = HFEngine(model, drafts=0, slots=slots)
    tasks = prompts(4, SYSTEM)
    batch = [Request(k, tasks[k // 2], 3, k) for k in range(8)]  # two members a task
    fed = watched(engine)
    engine.submit(batch, Sampling())
    completions = finish(engine)
    assert fed == [(100, 1), (4 * 11, 4), (8, 8), (8, 8)]
    check(model, batch, completions)
    # Later tasks begin with what is kept, members of an earlier group with all but one token.
    fed.clear()
    later = requests([*prompts(2, SYSTEM[:90]), tasks[1]], first=20)
    engine.submit(later, Sampling())
    check(model, later, finish(engine))
    assert fed[0] == (2 * 11 + 1, 3)


def test_new_weights_compute_it_again() -> None:
    model = grouped()
    engine = HFEngine(model, drafts=0)
    for version in range(2):
        engine.sync((), version)
        fed = watched(engine)
        batch = requests(prompts(3, SYSTEM))
        engine.submit(batch, Sampling())
        check(model, batch, finish(engine))
        assert fed[:2] == [(100, 1), (33, 3)]


def test_a_place_that_is_used_anew_is_no_source() -> None:
    """The rows of ended conversations are others' now, while their old texts are still known."""
    model = grouped()
    engine = HFEngine(model, drafts=0)
    other_ids = [3, *RULES]
    for first, second in ((SYSTEM, other_ids), (other_ids, SYSTEM), (SYSTEM, other_ids)):
        batch = requests([*prompts(2, first), *prompts(2, second)])
        batch = [Request(r.key, r.prompt, 3, r.seed) for r in batch]
        engine.submit(batch, Sampling())
        check(model, batch, finish(engine))


def test_families_take_turns_while_others_still_run() -> None:
    model = grouped()
    engine = HFEngine(model)
    batch = requests(prompts(2, SYSTEM), limit=30)
    engine.submit(batch, Sampling())
    completions = dict(engine.advance())
    later = requests([*prompts(3, SYSTEM), *prompts(3, SYSTEM[:50] + RULES)], first=10, limit=5)
    engine.submit(later, Sampling())
    check(model, [*batch, *later], finish(engine, completions))
