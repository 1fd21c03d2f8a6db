"""Run a study and write its result.

    python -m benchmarks.studies horizon_map --seeds 5 --jobs 2

Each run has a folder named by its settings: finished runs are reused, killed ones resume. A result
never replaces one with runs that it lacks, except with ``--replace``. Exits with 1 if a run failed,
a bar was missed or nothing was measured.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agentgym.errors import AgentGymError
from agentgym.support.redaction import for_others
from benchmarks.studies.runner.blank import train_blank
from benchmarks.studies.runner.keys import runs_of, settle_arm
from benchmarks.studies.runner.pilot import check_chosen, planned
from benchmarks.studies.runner.recorded import record
from benchmarks.studies.runner.results import collect, write
from benchmarks.studies.runner.stored import check_replaceable, ids_of, result_path
from benchmarks.studies.runner.study import (
    Arm,
    Study,
    chosen_arms,
    load_study,
    study_names,
    words_for,
)
from trainers.cli import main as train
from trainers.cli import parse_config
from trainers.phases.multirun.cache import DONE, Run, RunCache
from trainers.phases.multirun.playing import FailedRun, play
from trainers.phases.multirun.process import begin_process

RESULTS = Path(__file__).resolve().parents[1] / "results"


def main(argv: Sequence[str] | None = None) -> int:
    """Run, show or collect a study.

    Args:
        argv: Arguments; None takes those of the process.

    Returns:
        0; 1 if a run failed, a bar was missed or nothing was measured; 2 after bad input.
    """
    options, console = parse(argv), Console()
    try:
        if options.list or options.study is None:
            console.print(_catalogue())
            return 0
        return _carry_out(load_study(options.study), options, console)
    except AgentGymError as error:
        print(f"benchmarks.studies: {error}", file=sys.stderr)
        return 2


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", nargs="?", help="name of the study")
    parser.add_argument("--list", action="store_true", help="name all studies and end")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[3], metavar="SEED",
        help="how many seeds, from 0; or, if there are several numbers, the seeds themselves",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/studies"), help="folder of all runs of all studies"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD",
        help="play only these arms: by name, or AXIS=LABEL; collect all that have been played",
    )  # fmt: skip
    parser.add_argument(
        "--replace", action="store_true",
        help="lose the result that is in the folder, also where it has runs that the new one lacks",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show the runs and end")
    parser.add_argument("--collect", action="store_true", help="play nothing, collect what is done")
    options = parser.parse_args(argv)
    if options.jobs < 1 or min(options.seeds) < 0 or options.seeds == [0]:
        parser.error("expected at least one job, at least one seed, and no negative seed")
    if len(options.seeds) == 1:  # so one seed that is not 0 is named twice
        options.seeds = list(range(options.seeds[0]))
    options.seeds = list(dict.fromkeys(options.seeds))
    return options


def _carry_out(study: Study, options: argparse.Namespace, console: Console) -> int:
    """Execute the missing runs of a study, and write the result of the finished ones."""
    selected, cache = chosen_arms(study, options.only), RunCache(options.out, parse_config)
    planned_runs = planned(study, selected, options.seeds, cache)
    if options.dry_run:
        console.print(_table(study, planned_runs, cache))
        return 0
    # Other arms only contribute runs that are already finished.
    arm_names = {arm.name for arm in study.arms if arm in selected or not arm.needs}
    all_runs = planned(study, study.arms, options.seeds, cache)
    failures: list[FailedRun] = []
    if not options.collect:
        if not options.replace:  # before hours of play
            hoped = [*planned_runs, *(run for run in all_runs if cache.state(run) == DONE)]
            if study.pilot:  # which may choose any of them
                hoped += runs_of(selected, options.seeds, cache.root)
            path = result_path(study.name, options.results)
            check_replaceable(path, ids_of(hoped), "that are cached or will be played")
        failures = _play(study, selected, options, cache)
        all_runs = planned(study, study.arms, options.seeds, cache)
    for failure in failures:
        console.print(f"failed: {failure.run.name}: {failure.why} ({cache.log(failure.run)})")
    finished_runs = [run for run in all_runs if cache.state(run) == DONE]
    if not finished_runs:
        print(
            f"benchmarks.studies: expected at least one of {len(planned_runs)} runs to have ended "
            f"in {options.out}, got none: nothing was measured and no result is written; play "
            "them, or name the folder of the runs by --out",
            file=sys.stderr,
        )
        return 1
    check_chosen(study, all_runs, cache)
    runs = [run for run in all_runs if run.arm in arm_names or run in finished_runs]
    command = _command(study, options, selected, finished_runs)
    result = collect(study, cache, runs, command=command, failures=failures)
    _report(result, len(runs), console)
    console.print(f"{write(study, result, options.results, replace=options.replace)}")
    return 1 if failures or result.get("met") is False else 0


def _play(
    study: Study, selected: Sequence[Arm], options: argparse.Namespace, cache: RunCache
) -> list[FailedRun]:
    """Play the pilot, what it chooses, and then the arms that come after others."""
    begin = partial(begin_process, train if study.pictures else train_blank)

    def carry_out(runs: Sequence[Run]) -> list[FailedRun]:
        return play(cache, runs, options.jobs, begin, share_start=study.share_start)

    runs = planned(study, selected, options.seeds, cache)
    first = [run for run in runs if study.pilot and run.seed == study.pilot.seed]
    failures = carry_out(first) if first else []
    if first:
        runs = planned(study, selected, options.seeds, cache)
    predecessors = {arm.name: arm.after.name for arm in selected if arm.after is not None}
    later_runs = [run for run in runs if run not in first]
    failures += carry_out([run for run in later_runs if run.arm not in predecessors])
    played = {(run.arm, run.seed): run for run in runs if cache.state(run) == DONE}
    following = [run for run in later_runs if (predecessors.get(run.arm), run.seed) in played]
    donors = {run.keys.run: run for run in (played[predecessors[f.arm], f.seed] for f in following)}
    if study.recorded:
        recordings = [record(run, study.recorded, cache) for run in donors.values()]
        failures += [failure for failure in recordings if failure is not None]
    if following:  # whose warm starts may be those of the runs before them
        failures += carry_out([*donors.values(), *following])
    return failures


def _report(result: Mapping[str, Any], count: int, console: Console) -> None:
    """Report what a result lacks."""
    for key in result["of_another_commit"]:
        console.print(f"of another commit: {key}")
    if result["missing"]:
        console.print(f"missing: {len(result['missing'])} of {count} runs")


def _command(
    study: Study, options: argparse.Namespace, selected: Sequence[Arm], finished_runs: Sequence[Run]
) -> str:
    """Return a command that reproduces at least the runs of a result from scratch.

    Args:
        study: The study.
        options: The current command's options.
        selected: Arms selected by the current command.
        finished_runs: Runs in the result. Some may come from earlier commands; with
            ``--collect`` all do.
    """
    names, seeds, jobs = (
        {run.arm for run in finished_runs},
        options.seeds,
        ["--jobs", str(options.jobs)],
    )
    if options.collect:  # executed nothing, so the number of jobs is unknown
        seeds, jobs = [seed for seed in seeds if seed in {run.seed for run in finished_runs}], []
    else:
        names |= {arm.name for arm in selected}
    as_typed = names == {arm.name for arm in selected}
    words = options.only if as_typed else words_for(study, names)
    if seeds == list(range(len(seeds))):
        seeds = [len(seeds)]
    elif len(seeds) == 1:
        seeds = seeds * 2
    only = ["--only", *words] if words else []
    arguments = [options.study, *only, "--seeds", *map(str, seeds), *jobs]
    return shlex.join(["python", "-m", "benchmarks.studies", *arguments])


def _catalogue() -> Table:
    """Return the studies and their questions."""
    table = Table("study", "arms", "asks")
    for name in study_names():
        study = load_study(name)
        table.add_row(name, str(len(study.arms)), study.question)
    return table


def _table(study: Study, runs: Sequence[Run], cache: RunCache) -> Table:
    """Return a table of a study's runs, their state, and the settings in which arms differ.

    Settings are shown as resolved, with every default.
    """
    names = {run.arm for run in runs}
    settings = {arm.name: settle_arm(arm).flat() for arm in study.arms if arm.name in names}
    flags = list(dict.fromkeys(name for values in settings.values() for name in values))
    differing = [
        name for name in flags if len({str(values.get(name)) for values in settings.values()}) > 1
    ]
    table = Table("arm", "seed", "run", "", "warm start", "settings", title=study.question)
    for run in runs:
        values = for_others(settings[run.arm])
        arm_values = ", ".join(f"{name} {values[name]}" for name in differing if name in values)
        state = cache.state(run)
        table.add_row(
            run.arm, str(run.seed), run.keys.run, state, run.keys.start, escape(arm_values)
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
