from __future__ import annotations

import copy
import pickle
from functools import partial

import gymnasium
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.vector.utils import (
    batch_space,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from agentgym.core.spaces import UnicodeText
from tests.toy import COLOURS, TOY_ID

TEXTS = ["", "plain", "żółć 🙂\n\t\x00", "\ud800", "\u202e" * 10]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_every_text_within_the_bounds_is_a_member(text: str) -> None:
    assert text in UnicodeText(10)


@pytest.mark.parametrize("other", [None, 3, b"bytes", ["list"], "x" * 11], ids=repr)
def test_other_things_are_not(other: object) -> None:
    assert other not in UnicodeText(10)
    assert "" not in UnicodeText(10, min_length=1)


def test_samples_are_short_members_and_follow_the_seed() -> None:
    space = UnicodeText(32768, min_length=5, seed=3)
    samples = [space.sample() for _ in range(200)]
    assert all(sample in space and 5 <= len(sample) <= 69 for sample in samples)
    assert len(set(samples)) > 190
    assert [UnicodeText(32768, min_length=5, seed=3).sample()] == samples[:1]
    tight = UnicodeText(3, min_length=3)
    assert all(len(tight.sample()) == 3 for _ in range(20))
    assert len(space.sample(mask=(7, None))) == 7


def test_equality_and_copies() -> None:
    space = UnicodeText(10, min_length=2)
    for copied in (UnicodeText(10, min_length=2), copy.deepcopy(space)):
        assert copied == space and hash(copied) == hash(space)
    assert pickle.loads(pickle.dumps(space)) == space
    assert space != UnicodeText(10) and space != UnicodeText(11, min_length=2)
    assert space != gymnasium.spaces.Text(10, min_length=2)
    assert repr(space) == "UnicodeText(2, 10)"
    assert len(pickle.dumps(space)) < 10_000


def test_it_has_no_array_form() -> None:
    assert not UnicodeText(10).is_np_flattenable
    assert ("a", "é") in batch_space(UnicodeText(10), 2)


def test_texts_go_through_shared_memory_unchanged() -> None:
    space = UnicodeText(10)
    memory = create_shared_memory(space, n=3)
    shared = read_from_shared_memory(space, memory, n=3)
    assert copy.deepcopy(shared) == ("", "", "")
    for text in [*TEXTS, "x" * 10, "short"]:
        write_to_shared_memory(space, 1, text, memory)
        assert copy.deepcopy(shared) == ("", text, "") and shared[1] == text


@pytest.mark.parametrize("options", [{}, {"shared_memory": False}, {"copy": False}], ids=str)
def test_gymnasiums_own_vector_environments_show_the_present_text(options: dict[str, bool]) -> None:
    """With the default arguments of ``make_vec``, too."""
    kwargs = {"horizon": 4}
    envs = gymnasium.make_vec(
        TOY_ID, num_envs=2, vectorization_mode="async", vector_kwargs=options, **kwargs
    )
    reference = SyncVectorEnv([partial(gymnasium.make, TOY_ID, **kwargs)] * 2)
    assert tuple(envs.reset(seed=3)[0]) == reference.reset(seed=3)[0]
    for colour in (*COLOURS, *COLOURS, "pink"):
        actions = (f"press {colour}", "look é")
        assert tuple(envs.step(actions)[0]) == reference.step(actions)[0]
    envs.close()
    reference.close()
