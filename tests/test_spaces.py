from __future__ import annotations

import copy
import pickle

import gymnasium
import pytest
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import batch_space, create_shared_memory

from agentgym.spaces import UnicodeText

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
    for other in (UnicodeText(10, min_length=2), copy.deepcopy(space)):
        assert other == space and hash(other) == hash(space)
    assert pickle.loads(pickle.dumps(space)) == space
    assert space != UnicodeText(10) and space != UnicodeText(11, min_length=2)
    assert space != gymnasium.spaces.Text(10, min_length=2)
    assert repr(space) == "UnicodeText(2, 10)"
    assert len(pickle.dumps(space)) < 10_000


def test_it_has_no_array_form() -> None:
    assert not UnicodeText(10).is_np_flattenable
    assert ("a", "é") in batch_space(UnicodeText(10), 2)
    with pytest.raises(CustomSpaceError, match="shared_memory"):
        create_shared_memory(UnicodeText(10), n=2)
