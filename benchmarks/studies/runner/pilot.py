"""The runs of a study, whose pilot may choose the arms for all seeds."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.errors import ConfigurationError
from benchmarks.studies.runner.keys import runs_of
from benchmarks.studies.runner.study import Arm, Study
from trainers.phases.multirun.cache import Run, RunCache


def planned(study: Study, arms: Sequence[Arm], seeds: Sequence[int], cache: RunCache) -> list[Run]:
    """Return the runs of arms; with a pilot its runs, then those of the chosen arms.

    Args:
        study: The study.
        arms: Arms of it.
        seeds: Seeds that are compared.
        cache: Folder of runs; only finished pilot runs count.

    Raises:
        AgentGymError: A setting of an arm is wrong, or the pilot's seed is among ``seeds``.
    """
    if study.pilot is None:
        return runs_of(arms, seeds, cache.root)
    if study.pilot.seed in seeds:
        raise ConfigurationError(
            f"expected --seeds without {study.pilot.seed}, with which the pilot of {study.name} "
            f"chooses arms, so that it is no seed to compare them by; got {list(seeds)}"
        )
    pilot = runs_of(arms, [study.pilot.seed], cache.root)
    played = {run.arm: [played_run] for run in pilot if (played_run := cache.find_played(run))}
    going = study.pilot.choose(played)
    going_on = [arm for arm in arms if arm.name in going]
    return [*pilot, *runs_of(going_on, seeds, cache.root)]


def check_chosen(study: Study, runs: Sequence[Run], cache: RunCache) -> None:
    """Check that the pilot has chosen an arm.

    Args:
        study: The study.
        runs: The result of :func:`planned`.
        cache: Folder of runs.

    Raises:
        ConfigurationError: It has not.
    """
    if study.pilot is None or any(run.seed != study.pilot.seed for run in runs):
        return
    n_played = sum(cache.find_played(run) is not None for run in runs)
    raise ConfigurationError(
        f"expected the pilot of {study.name} (seed {study.pilot.seed}) to have ended for all arms "
        f"among which it chooses one, got {n_played} of its {len(runs)} runs in {cache.root}; play "
        "it without --collect and with all of these arms, or name the folder of the runs by --out"
    )
