"""The part of asynchronous rollouts in a step, by their mode."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trainers.grpo.step_part import MakeStepPart
from trainers.methods.async_rollouts.fully_async import FullyAsync
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.methods.async_rollouts.settings import is_fully_async, staleness_of

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy


def rollouts_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of a run's part; a fixed lag of one step without a run."""
    if run is None:
        return partial(RolloutProducer, staleness=1)
    kind = FullyAsync if is_fully_async(run.config) else RolloutProducer
    return partial(kind, staleness=staleness_of(run.config))
