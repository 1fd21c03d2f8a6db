"""The parity probe, on engines that lie in known ways."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
import torch

from agentgym.errors import AgentGymError, ConfigurationError
from trainers.rollouts.engines.base import Completion, Request, Sampling, generate
from trainers.rollouts.engines.parity import ParityError, completion_logprobs, probe_parity

VOCABULARY = 11
PROMPTS = [[1, 2, 3], [4]]


class Bigram(torch.nn.Module):
    """Logits that depend on the last token and, lightly, on dropout."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.table = torch.nn.Parameter(torch.randn(VOCABULARY, VOCABULARY, generator=generator))
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, input_ids: Any, use_cache: bool) -> Any:
        output = torch.nn.Module()
        output.logits = self.dropout(self.table[input_ids])
        return output


class Engine:
    """Samples from the bigram model and adds ``error`` to what it reports."""

    name, exact, version = "bigram", True, 3

    def __init__(self, model: Bigram, error: float = 0.0) -> None:
        self.model, self.error = model, error
        self.sampling: Sampling | None = None
        self.requests: list[Request] = []

    @property
    def running(self) -> int:
        return len(self.requests)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        self.requests, self.sampling = list(requests), sampling

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        request, sampling = self.requests.pop(), self.sampling
        assert sampling is not None
        generator = torch.Generator().manual_seed(request.seed)
        ids, logprobs, last = [], [], request.prompt[-1]
        for _ in range(request.max_tokens):
            logp = (self.model.table[last].detach() / sampling.temperature).log_softmax(-1)
            last = int(torch.multinomial(logp.exp(), 1, generator=generator))
            ids.append(last)
            logprobs.append(float(logp[last]) + self.error)
        return [(request.key, Completion(ids, logprobs, stopped=False))]

    def abort(self) -> None:
        self.requests.clear()

    def sync(self, named_params: Iterable[Any], version: int) -> None:
        raise AssertionError("the probe must not sync")

    def close(self) -> None:
        pass


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_equal_policies_pass(temperature: float) -> None:
    model = Bigram()
    report = probe_parity(Engine(model), model, PROMPTS, Sampling(6, temperature))
    assert report.tokens == 12
    assert report.version == 3
    assert 0 <= report.mean_abs <= report.max_abs < 1e-5


def test_probe_opens_the_nucleus_and_samples() -> None:
    model = Bigram()
    engine = Engine(model)
    probe_parity(engine, model, PROMPTS, Sampling(4, 0.7, top_p=0.5, stop_ids=(9,), greedy=True))
    assert engine.sampling == Sampling(4, 0.7, top_p=1.0, stop_ids=(9,), greedy=False)


def test_gap_is_measured_and_refused() -> None:
    model = Bigram()
    engine = Engine(model, error=0.25)
    report = probe_parity(engine, model, PROMPTS, Sampling(6), tolerance=None)
    assert report.max_abs == pytest.approx(0.25, abs=1e-5)
    assert report.mean_abs == pytest.approx(0.25, abs=1e-5)
    with pytest.raises(ParityError, match=r"'bigram' \(weights version 3\).*1e-05.*0.25") as caught:
        probe_parity(engine, model, PROMPTS, Sampling(6), tolerance=1e-5)
    assert isinstance(caught.value, AgentGymError)


@pytest.mark.parametrize("error", [math.nan, math.inf, -math.inf])
def test_logprobs_that_are_not_finite_are_refused(error: float) -> None:
    model = Bigram()
    with pytest.raises(ParityError, match="inf"):
        probe_parity(Engine(model, error), model, PROMPTS, Sampling(3))


def test_no_prompts_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="at least one prompt"):
        probe_parity(Engine(Bigram()), Bigram(), [], Sampling())


def test_dropout_is_off_and_the_mode_restored() -> None:
    model = Bigram()
    completions = generate(Engine(model), PROMPTS, Sampling(4))
    for training in (True, False):
        model.train(training)
        rows = completion_logprobs(model, PROMPTS, completions)
        assert model.training is training
        for row, completion in zip(rows, completions, strict=True):
            assert row == pytest.approx(completion.logprobs, abs=1e-5)


def test_every_probe_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    model = Bigram()
    with caplog.at_level(logging.INFO, logger="trainers"):
        probe_parity(Engine(model), model, PROMPTS, Sampling(2))
    assert "logp parity of engine bigram" in caplog.text
