"""The command ``agentgym-train``."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

PROGRAM = "agentgym-train"
LISTS = (
    "--env-kwargs", "--template-args", "--reward-hooks", "--rl.filters", "--report-to",
    "--health.ignore", "--eval.rivals",
)  # fmt: skip
"""Flags that take a list and may be repeated."""
SWITCHES = (("--", "fit-horizon"), ("--sft.", "only-successes"))
"""Switches that may also be left open: what comes before ``no-``, and after it."""
DISK = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO,
)  # fmt: skip
"""Errors of the operating system that say that a file cannot be written."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``agentgym-train``.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        0 when the run is complete, 2 after bad input or a full disk, 130 after Ctrl-C, else what
        :func:`agentgym.support.exits.run_command` says.
    """
    # One thread per process: small models on few cores lose more at barriers than they gain.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from agentgym.support.exits import run_command
    from trainers.models.torch_setup import quiet_kernels

    quiet_kernels()

    return run_command(
        PROGRAM,
        lambda: _together(lambda: _main(argv)),
        stopped="stopped; repeat the command with --resume to continue",
        explain=_full_disk,
    )


def _together(body: Callable[[], int]) -> int:
    """Carry out a command in every process of a run; one of them says why it fails."""
    from trainers import processes

    try:
        code = body()
    except BaseException:
        if processes.first_to_speak():
            raise
        processes.leave()
    processes.stop()
    return code


def _main(argv: Sequence[str] | None) -> int:
    """Read the arguments and carry out the run."""
    from agentgym.errors import require

    for module in ("pydantic", "annotated_types", "yaml"):  # the settings themselves need these
        require(module, "train")
    from trainers import processes
    from trainers.multirun.seed_flags import SeedFlags

    given = sys.argv[1:] if argv is None else argv
    early = _early(given)
    if early.launch_config is not None:
        print(launch_config(early.launch_config))
        return 0
    if list(given) == ["presets"]:
        from rich.console import Console

        from trainers.config.describe import describe_presets

        Console().print(describe_presets())
        return 0
    if list(given[:1]) == ["merge"]:
        return _merge(given[1:])
    with processes.main_speaks():
        over_seeds = SeedFlags.read(given)
        if over_seeds is not None:
            from trainers.multirun.seeds import describe_seeds, train_over_seeds

            if not early.dry_run:
                train_over_seeds(over_seeds, parse_config, main)
                return 0
            given, said = describe_seeds(over_seeds, parse_config)
            print(said)
        config = parse_config(given)
        if early.dry_run:
            from rich.console import Console

            from trainers.config.describe import describe
            from trainers.models.memory_plan import check_memory, memory_table, plan_memory
            from trainers.phases.start_checks import checked_run

            run, console = checked_run(config), Console()
            plan = plan_memory(run)
            console.print(describe(config, run), memory_table(run, plan), sep="\n")
            if run.config.engine == "vllm-server":
                from trainers.phases.rollout_setup import server_command

                console.print("server:", server_command(run), soft_wrap=True, highlight=False)
            check_memory(plan)
            return 0
    from trainers.run import train

    train(config)
    return 0


def _merge(argv: Sequence[str]) -> int:
    """Merge policies of runs into one."""
    import tyro

    from agentgym.errors import require
    from agentgym.support.helptext import explain_fields
    from trainers.phases.start_checks import PACKAGES
    from trainers.policies.merged_run import MergeSettings, merge_runs

    for module in PACKAGES:
        require(module, "train")
    explain_fields(MergeSettings)
    settings = tyro.cli(MergeSettings, args=list(argv), prog=f"{PROGRAM} merge")
    print(f"{merge_runs(settings)}: merge.json, config.yaml, checkpoints/trained")
    return 0


def launch_config(name: str) -> Path:
    """Return the configuration of ``accelerate launch`` that has a name.

    Raises:
        ConfigurationError: There is none; the message lists those that there are.
    """
    from agentgym.errors import ConfigurationError

    found = {path.stem: path for path in (Path(__file__).parent / "launch").glob("*.yaml")}
    if name not in found:
        raise ConfigurationError(
            f"expected --launch-config to be one of {', '.join(sorted(found))}, got {name!r}"
        )
    return found[name]


def _full_disk(error: Exception) -> str | None:
    """Say what to do if the run's folder cannot be written."""
    problem = storage_problem(error)
    return problem and (
        f"expected to write to the run's folder, but: {problem}; what was written before is "
        "intact: make room and repeat the command with --resume"
    )


def storage_problem(error: BaseException) -> str | None:
    """Return what is wrong with the disk, if that is what an error comes from.

    Libraries in other languages wrap the operating system's error in one of their own: torch says
    that a writer failed, safetensors quotes the number.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in DISK:
            where = f" ({seen.filename})" if seen.filename else ""
            return f"{os.strerror(seen.errno)}{where}"
        for number in DISK:
            if f"(os error {number})" in str(seen):
                return os.strerror(number)
        if "PytorchStreamWriter" in str(seen) or "iostream error" in str(seen):
            return "torch could not write a file, the disk may be full"
        seen = seen.__cause__ or seen.__context__
    return None


def parse_config(argv: Sequence[str] | None = None) -> TrainConfig:
    """Read a configuration from command-line arguments; exits with code 2 if they are wrong.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The settings: those of the command line, then those of ``--config`` or, with ``--resume``,
        of the run's folder.

    Raises:
        ConfigurationError: A file of settings cannot be read, or holds a wrong one.
    """
    from agentgym.errors import ConfigurationError
    from agentgym.making import merge_repeated
    from trainers.config.config_file import CONFIG_FILE
    from trainers.config.resolve import default_out

    given = list(_switches(merge_repeated(sys.argv[1:] if argv is None else argv, LISTS)))
    early = _early(given)
    # With a file besides, the run's own settings are not read but compared with what is asked.
    if early.config or not early.resume:
        return _parse(given, early.config)
    if not (early.out or early.env):
        raise ConfigurationError(
            "expected --resume with --out, the folder of the run, or with --env; got neither"
        )
    out = early.out or default_out(_parse(given, None))
    if not (out / CONFIG_FILE).exists():
        raise ConfigurationError(
            f"expected a run to resume in {out}, but there is none; leave out --resume to start one"
        )
    return _parse(given, out / CONFIG_FILE)


def _early(argv: Sequence[str]) -> argparse.Namespace:
    """Read the flags that decide how the others are read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--env")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--launch-config")
    for switch in ("--resume", "--dry-run"):
        parser.add_argument(switch, action="store_true")
    early, _ = parser.parse_known_args(argv)
    return early


def _parse(argv: Sequence[str], path: Path | None) -> TrainConfig:
    """Read arguments; what they leave open is taken from a file, if one is given."""
    import tyro

    from agentgym.errors import ConfigurationError
    from trainers.config.config_file import read_config
    from trainers.config.schema import TrainConfig

    Arguments = _arguments()
    default: Any = tyro.MISSING_NONPROP
    if path is not None:
        stored = read_config(path)
        default = Arguments(**{item.name: getattr(stored, item.name) for item in fields(stored)})
    read = tyro.cli(Arguments, args=list(argv), prog=PROGRAM, default=default)
    if not read.env:
        raise ConfigurationError(f"expected --env, because {path} names no environment")
    return TrainConfig(**{item.name: getattr(read, item.name) for item in fields(TrainConfig)})


@cache
def _arguments() -> type[TrainConfig]:
    """Return the settings and the flags that are none, with their help."""
    from agentgym.support.helptext import explain_fields
    from trainers.config.schema import TrainConfig

    @dataclass(frozen=True)
    class Arguments(TrainConfig):
        """Train an agent: warm start, reinforcement learning over a horizon of turns, evaluation.

        ``agentgym-train presets`` lists what --preset may be, ``agentgym-train merge`` makes one
        policy of several. A setting is what the first of
        these says (--dry-run shows the outcome):

        1. a flag
        2. the file of --config, or the run of --resume
        3. the preset
        4. the default of the environment's family
        """

        seeds: tuple[int, ...] = ()
        """Train once for each of these seeds, in a folder each, and make one report of all, with
        intervals over the seeds. Policies that no seed changes are played once. Takes the place of
        --seed; --out is ``runs/<env>-<model>-seeds`` by default, and --resume goes on in it."""
        jobs: int = 1
        """Runs at the same time, each in a process of one thread; with --seeds."""
        config: Path | None = None
        """YAML file of settings, complete or not, such as the config.yaml of a run; a flag wins
        over it."""
        dry_run: bool = False
        """Show every setting as it would be used, and end."""
        launch_config: str | None = None
        """Print the path of a configuration of ``accelerate launch``, to run on several GPUs, and
        end: ddp, fsdp2, zero2 or zero3."""

    explain_fields(Arguments)
    return Arguments


def _switches(argv: Sequence[str]) -> Iterator[str]:
    """Let some flags be switches, though they have a third state: neither on nor off."""
    off = {prefix + "no-" + name: prefix + name for prefix, name in SWITCHES}
    on = {prefix + name for prefix, name in SWITCHES}
    for position, argument in enumerate(argv):
        following = argv[position + 1] if position + 1 < len(argv) else "--"
        name = argument.replace("_", "-")
        if name in off:
            yield f"{off[name]}=False"
        elif name in on and following.startswith("--"):
            yield f"{name}=True"
        else:
            yield argument


if __name__ == "__main__":
    sys.exit(main())
