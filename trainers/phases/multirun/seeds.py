"""One training over several seeds: ``agentgym-train --seeds 0 1 2``.

Layout of the folder: ``seeds.yaml`` (the seeds), ``seed<N>/`` (a whole run each), ``seed<N>.log``
(its output), and once all are finished ``curve.png``, ``report.html`` and ``summary.json``.

The policies that no seed changes (random actions, the demonstrator, the oracle) are played once, in
the folder of the first seed, and copied to the others before they start.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.support.caching import write_atomically
from agentgym.support.folder_lock import holds_other_files, lock_folder
from agentgym.support.structured_files import read_structured
from agentgym.support.terminal import printable, say
from agentgym.vector.backends import backend_session
from trainers import processes
from trainers.config.config_file import CONFIG_FILE
from trainers.config.resolve import ResolvedRun, default_out, resolve
from trainers.models.memory_plan import Device, check_memory, plan_memory
from trainers.models.threads import thread_limit
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.output.seed_report import seeds_table, write_seeds
from trainers.output.seed_summary import seeds_sentences
from trainers.phases.multirun.cache import DONE, OPEN, Keys, Parse, Run, RunCache
from trainers.phases.multirun.playing import FailedRun, play
from trainers.phases.multirun.process import Main, begin_process
from trainers.phases.multirun.seed_flags import SEEDS_FILE, SeedFlags
from trainers.phases.policy_comparison import REFERENCES, PolicyComparison
from trainers.phases.start_checks import checked_run

__all__ = ["SeedsFailed", "describe_seeds", "train_over_seeds"]


class SeedsFailed(AgentGymError, RuntimeError):
    """The runs of some seeds did not end."""


def train_over_seeds(
    flags: SeedFlags,
    parse: Parse,
    main: Main,
    console: Console | None = None,
    *,
    quiet: bool = False,
) -> dict[str, Any]:
    """Execute a run for every seed, and combine their results.

    Args:
        flags: The command.
        parse: Reads the arguments of a run.
        main: Executes ``agentgym-train``, in the process of a seed.
        console: Where progress is shown; None: standard error.
        quiet: Whether results and failures alone are shown.

    Returns:
        The content of ``summary.json``.

    Raises:
        AgentGymError: A setting is wrong, the folder cannot be used, or a seed's run failed;
            finished work is kept for ``--resume``.
    """
    console = console or Console(stderr=True)
    folder, seeds = _folder_and_seeds(flags, parse)
    cache, runs = RunCache(folder, parse), _runs(flags, seeds)
    first = checked_run(parse(_arguments(cache, runs[0])))
    _check_together(first, flags)
    _check_room(first, flags.jobs)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, "the runs"):
        extended = [run for run in runs if _extends(cache, run, parse)]
        _write_seeds_file(folder, seeds)
        if extended or not all(cache.state(run) == DONE for run in runs):
            for name in ("summary.json", "report.html", "curve.png"):  # They are outdated.
                (folder / name).unlink(missing_ok=True)
        _share_baselines(cache, runs, first, parse, Display(console, progress=not quiet))
        begin = partial(begin_process, main, threads=max(1, thread_limit() // flags.jobs))
        failures = play(
            cache, runs, flags.jobs, begin, share_start=False, extended=extended, console=console,
            quiet=quiet,
        )  # fmt: skip
        _check_ended(failures, cache)
        summary = write_seeds(folder, [RunFolder(cache.folder(run)) for run in runs])
    console.print(seeds_table(summary))
    for sentence in (*seeds_sentences(summary), f"open {folder / 'report.html'}"):
        say(console, printable(sentence))
    return summary


def describe_seeds(flags: SeedFlags, parse: Parse) -> tuple[list[str], str]:
    """Return the arguments of the first seed's run, and a sentence about all of them.

    Raises:
        ConfigurationError: The folder cannot be used.
    """
    folder, seeds = _folder_and_seeds(flags, parse)
    run = _runs(flags, seeds)[0]
    count, named = len(seeds), " ".join(map(str, seeds))
    sentence = f"seeds: {named} ({count} runs, {min(flags.jobs, count)} at a time, in {folder})"
    return _arguments(RunCache(folder, parse), run), sentence


def _arguments(cache: RunCache, run: Run) -> list[str]:
    """Return the arguments of a run, which is resumed if it was started."""
    if cache.state(run) == OPEN and not run.settings:
        raise ConfigurationError(
            f"expected the settings of the runs, because those in {cache.root} never started; "
            "repeat the whole command with --resume"
        )
    return cache.begin(run, on=cache.state(run) != OPEN)


def _folder_and_seeds(flags: SeedFlags, parse: Parse) -> tuple[Path, tuple[int, ...]]:
    """Return the folder of the runs, and all their seeds; writes nothing."""
    seeds, folder = flags.seeds, flags.out or _default_folder(flags, parse)
    path = folder / SEEDS_FILE
    if not path.exists():
        if folder.exists() and (not folder.is_dir() or holds_other_files(folder)):
            raise ConfigurationError(
                f"expected --out to be empty or a folder of several seeds, but {folder} is "
                "something else; choose another --out"
            )
        if flags.resume:
            raise ConfigurationError(
                f"expected runs over seeds to resume in {folder}, but there are none; leave out "
                "--resume to start them"
            )
        return folder, seeds
    if not flags.resume:
        raise ConfigurationError(
            f"expected --out to hold no other runs, but {folder} does; pass --resume to continue "
            "them, or choose another --out"
        )
    stored = _read_seeds(path)
    return folder, (*stored, *(seed for seed in seeds if seed not in stored))


def _default_folder(flags: SeedFlags, parse: Parse) -> Path:
    """Return the default folder of runs."""
    single = default_out(parse(flags.settings))
    return single.with_name(f"{single.name.rpartition('-')[0]}-seeds")


def _read_seeds(path: Path) -> tuple[int, ...]:
    """Read the seeds of a folder."""
    content = read_structured(path, "the seeds of a folder")
    seeds = content.get("seeds") if isinstance(content, dict) else None
    if not (seeds and all(isinstance(seed, int) for seed in seeds)):
        raise ConfigurationError(f"expected {path} to hold seeds, got {content!r:.80}")
    return tuple(seeds)


def _write_seeds_file(folder: Path, seeds: Sequence[int]) -> None:
    """Mark the folder as that of several seeds, before anything else is written."""
    import yaml

    text = yaml.safe_dump({"seeds": list(seeds)}, default_flow_style=None)
    write_atomically(folder / SEEDS_FILE, text.encode())


def _runs(flags: SeedFlags, seeds: Sequence[int]) -> list[Run]:
    """Return the run of every seed."""
    names = [(seed, f"seed{seed}") for seed in seeds]
    return [Run("", seed, flags.settings, Keys(name, name)) for seed, name in names]


def _check_together(run: ResolvedRun, flags: SeedFlags) -> None:
    """Check that the settings allow several runs side by side."""
    config, several = run.config, flags.jobs > 1
    for flaw, expectation in (
        (processes.world() > 1, "a single process with --seeds, which starts one for each run"),
        (config.push_to_hub is not None, "no --push-to-hub with --seeds: push one of the runs"),
        (several and config.engine.endswith("-server"), f"--jobs 1 with --engine {config.engine}, "
         "which serves one run"),
    ):  # fmt: skip
        if flaw:
            raise ConfigurationError(
                f"expected {expectation}; got {len(flags.seeds) or 'several'} seeds"
            )


def _check_room(run: ResolvedRun, jobs: int) -> None:
    """Check that the runs fit the device side by side.

    Raises:
        ConfigurationError: They do not.
    """
    device = Device.current()
    if device is not None and jobs > 1:
        device = device.shared_by(jobs)
    plan = plan_memory(run, device)
    if plan.share is not None and jobs > 1:
        raise ConfigurationError(
            "expected --jobs 1 with --engine vllm, which takes what a run leaves of the GPU, got "
            f"--jobs {jobs}"
        )
    check_memory(plan)


def _extends(cache: RunCache, run: Run, parse: Parse) -> bool:
    """Return whether a finished run must be extended by more steps or minutes.

    Raises:
        ConfigurationError: Its settings differ from the requested ones.
    """
    if cache.state(run) == OPEN:
        return False
    config = parse(_arguments(cache, run))
    run_folder = RunFolder(cache.folder(run))
    run_folder.check(config, resolve(config).resolved())
    return run_folder.extends and cache.state(run) == DONE


def _share_baselines(
    cache: RunCache, runs: Sequence[Run], first: ResolvedRun, parse: Parse, display: Display
) -> None:
    """Play the seed-independent policies in the first run's folder, and copy them to the others."""
    run = runs[0]
    if cache.state(run) != DONE:
        config = parse(_arguments(cache, run))
        reference_folder = RunFolder.open(cache.folder(run), config, first.resolved())
        reference_folder.lock()
        try:
            comparison = PolicyComparison(first, reference_folder)
            if planned := comparison.reference_episodes:
                with backend_session(first.config.backend), display as live_display:
                    comparison.add_references(live_display.episodes("references", planned))
        finally:
            reference_folder.close()
    # A resuming command need not repeat the settings.
    has_config = any(word.partition("=")[0] == "--config" for word in run.settings)
    defaults = () if has_config else ("--config", str(cache.folder(run) / CONFIG_FILE))
    for other_run in runs[1:]:
        if cache.state(other_run) == OPEN:
            cache.begin_from(run, other_run, REFERENCES, defaults=defaults)


def _check_ended(failures: Sequence[FailedRun], cache: RunCache) -> None:
    """Raise an error that says which runs failed, and why."""
    if failures:
        named = "; ".join(
            f"seed {failure.run.seed}: {failure.why} (see {cache.log(failure.run)})"
            for failure in failures
        )
        raise SeedsFailed(
            f"expected the runs of all seeds to finish, got {len(failures)} that did not: {named}; "
            "repeat the command with --resume"
        )
