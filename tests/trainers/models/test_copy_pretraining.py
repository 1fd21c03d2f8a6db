from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import weights
from trainers.config.sections import TinyConfig
from trainers.models.copy_pretraining import CopySettings, _sequences, pretrain_copying

QUICK = CopySettings(steps=20, batch_size=8, shortest=4, longest=6, lr=1e-2, warmup=2)
SPECIAL = 6
"""Special tokens of the tiny tokenizer."""


def equal(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def taught(settings: CopySettings) -> list[torch.Tensor]:
    model = tiny_policy.model()
    pretrain_copying(model, settings, first_id=SPECIAL)
    return weights(model)


def test_sequences_say_everything_twice_without_special_tokens():
    generator = torch.Generator().manual_seed(0)
    lengths = set()
    for _ in range(40):
        ids = _sequences(QUICK, SPECIAL, 20, generator)
        half = ids.shape[1] // 2
        lengths.add(half)
        assert ids.shape[0] == 8
        assert torch.equal(ids[:, :half], ids[:, half:])
        assert int(ids.min()) >= SPECIAL
        assert int(ids.max()) < 20
    assert lengths == {4, 5, 6}


@pytest.mark.slow
def test_a_small_model_learns_to_copy():
    """Guessing among 16 words costs ln 16 = 2.8 nats; induction makes the second half cheap."""
    model = tiny_policy.model(size=TinyConfig(hidden=32, layers=2, heads=2, intermediate=64))
    losses: list[float] = []
    settings = replace(QUICK, steps=240, batch_size=24, lr=8e-3, warmup=10)
    last = pretrain_copying(
        model, settings, first_id=SPECIAL, progress=lambda step, loss: losses.append(loss)
    )
    assert losses[0] > 2.3
    assert last < 1.2
    assert last == losses[-1]


def test_progress_is_told_every_ten_steps():
    steps: list[int] = []
    pretrain_copying(
        tiny_policy.model(),
        replace(QUICK, steps=25),
        first_id=SPECIAL,
        progress=lambda step, loss: steps.append(step),
    )
    assert steps == [10, 20]


def test_no_steps_leave_the_weights_as_they_are():
    assert equal(taught(replace(QUICK, steps=0)), weights(tiny_policy.model()))


def test_equal_seeds_teach_equally():
    assert equal(taught(QUICK), taught(QUICK))
    assert not equal(taught(QUICK), taught(replace(QUICK, seed=1)))


def test_the_global_generator_is_neither_read_nor_moved():
    torch.manual_seed(1)
    state_before = torch.get_rng_state()
    first = taught(QUICK)
    assert torch.equal(torch.get_rng_state(), state_before)
    torch.manual_seed(2)
    assert equal(taught(QUICK), first)


def test_a_vocabulary_of_special_tokens_only_is_refused():
    with pytest.raises(ConfigurationError, match="below the vocabulary's size"):
        pretrain_copying(tiny_policy.model(), QUICK, first_id=1000)


def test_the_model_is_left_ready_to_generate():
    model = tiny_policy.model()
    pretrain_copying(model, replace(QUICK, steps=1), first_id=SPECIAL)
    assert not model.training
