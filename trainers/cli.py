"""The command ``agentgym-train``."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.support.program_name import program_name

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

DISK = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO,
)  # fmt: skip
"""Operating-system errors that mean that a file cannot be written."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``agentgym-train``.

    Args:
        argv: Arguments without the program's name; None uses the arguments of the process.

    Returns:
        0 when the run is complete, 2 after bad input or a full disk, 130 after Ctrl-C, else the
        code of :func:`agentgym.support.exits.run_command`.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from agentgym.support.exits import run_command
    from trainers.models.torch_setup import quiet_libraries

    quiet_libraries()

    return run_command(
        program_name(_subcommand(sys.argv[1:] if argv is None else argv)),
        lambda: _together(lambda: _main(argv)),
        stopped="stopped; repeat the command with --resume to continue",
        explain=_full_disk,
    )


def _together(body: Callable[[], int]) -> int:
    """Run a command in every process of a launch; one of them reports why it fails."""
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
    from agentgym.support.common_flags import log_to_terminal, take_common_flags, version_line

    words = list(sys.argv[1:] if argv is None else argv)
    common = take_common_flags(words)
    if common.version:
        print(version_line(program_name()))
        return 0
    for module in ("pydantic", "annotated_types", "yaml"):  # the settings themselves need these
        require(module, "train")
    log_to_terminal(common.log_level, ("agentgym", "trainers"))
    name = _subcommand(common.remaining)
    if name != "train":
        return {"presets": _presets, "merge": _merge}[name](common.remaining[1:])
    return _train(words, common.quiet)


def _subcommand(argv: Sequence[str]) -> str:
    """Return ``presets`` or ``merge`` if the first argument is one of them, else ``train``."""
    return argv[0] if argv and argv[0] in ("presets", "merge") else "train"


def _train(argv: Sequence[str], quiet: bool) -> int:
    """Read the flags of a training; show the help, a launch's configuration, or carry it out."""
    from agentgym.support.flag_parsing import asks_help
    from agentgym.support.help_page import ALL
    from agentgym.trust import trusting
    from trainers.config.command import read_flags, train_help

    if asks_help(argv):
        print(train_help(program_name(), everything=ALL in argv), end="")
        return 0
    typed = read_flags(argv, program_name())
    if typed.get("launch_config") is not None:
        print(launch_config(typed["launch_config"]))
        return 0
    with trusting(*typed.get("trust", ())):
        _carry_out(argv, typed, quiet)
    return 0


def _carry_out(argv: Sequence[str], typed: Mapping[str, Any], quiet: bool) -> None:
    """Execute a run, or one per seed, or show what would be run."""
    from trainers import processes
    from trainers.config.command import read_flags
    from trainers.phases.multirun.seed_flags import SeedFlags

    dry_run = typed.get("dry_run", False)
    with processes.main_speaks():
        over_seeds = SeedFlags.read(argv)
        if over_seeds is not None:
            from trainers.phases.multirun.seeds import describe_seeds, train_over_seeds

            if not dry_run:
                train_over_seeds(over_seeds, parse_config, main, quiet=quiet)
                return
            argv, sentence = describe_seeds(over_seeds, parse_config)
            print(sentence)
        config = parse_config(argv)
        if dry_run:
            from trainers.phases.dry_run import show_settings

            show_settings(config, read_flags(argv, program_name()))
            return
    from trainers.phases.run import train

    train(config, quiet=quiet)


def _presets(argv: Sequence[str]) -> int:
    """List the presets, or describe those that are named."""
    from agentgym.support.flag_parsing import asks_help
    from trainers.config.command import presets_help

    if asks_help(argv):
        print(presets_help(program_name("presets")), end="")
        return 0
    from rich.console import Console

    from trainers.config.describe import describe_preset, describe_presets

    console = Console()
    for name in argv:
        for line in describe_preset(name):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not argv:
        console.print(describe_presets())
        console.print(f"{program_name('presets')} NAME shows the parts of one.", markup=False)
    return 0


def _merge(argv: Sequence[str]) -> int:
    """Merge policies of runs into one."""
    from agentgym.errors import require
    from agentgym.support.flag_parsing import asks_help, parse_arguments
    from agentgym.support.help_page import help_page
    from agentgym.trust import trusting
    from trainers.phases.start_checks import PACKAGES
    from trainers.policies.merged_run import MergeSettings, merge_runs

    program = program_name("merge")
    if asks_help(argv):
        print(help_page(MergeSettings, program), end="")
        return 0
    settings = parse_arguments(MergeSettings, argv, program)
    for module in PACKAGES:
        require(module, "train")
    with trusting(*settings.trust):
        merged = merge_runs(settings)
    print(f"{merged}: merge.json, config.yaml, checkpoints/trained")
    return 0


def command_arguments(command: str) -> type:
    """Return the dataclass of the arguments of ``train`` or ``merge``."""
    if command == "merge":
        from trainers.policies.merged_run import MergeSettings

        return MergeSettings
    from trainers.config.command import Arguments

    return Arguments


def launch_config(name: str) -> Path:
    """Return the path of a bundled configuration of ``accelerate launch``.

    Raises:
        ConfigurationError: There is no such configuration; the message lists the available ones.
    """
    from agentgym.errors import ConfigurationError

    configs = {path.stem: path for path in (Path(__file__).parent / "launch").glob("*.yaml")}
    if name not in configs:
        raise ConfigurationError(
            f"expected --launch-config to be one of {', '.join(sorted(configs))}, got {name!r}"
        )
    return configs[name]


def _full_disk(error: Exception) -> str | None:
    """Say what to do if the run's folder cannot be written."""
    problem = storage_problem(error)
    return problem and (
        f"expected to write to the run's folder, but: {problem}; earlier files are intact: make "
        "room and repeat the command with --resume"
    )


def storage_problem(error: BaseException) -> str | None:
    """Return the disk problem that caused an error, or None.

    Libraries in other languages wrap the operating system's error: torch reports that a writer
    failed, safetensors quotes the error number.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in DISK:
            file_note = f" ({cause.filename})" if cause.filename else ""
            return f"{os.strerror(cause.errno)}{file_note}"
        for number in DISK:
            if f"(os error {number})" in str(cause):
                return os.strerror(number)
        if "PytorchStreamWriter" in str(cause) or "iostream error" in str(cause):
            return "torch could not write a file, the disk may be full"
        cause = cause.__cause__ or cause.__context__
    return None


def parse_config(argv: Sequence[str] | None = None) -> TrainConfig:
    """Read a configuration from command-line arguments.

    Args:
        argv: Arguments without the program's name; None uses the arguments of the process.

    Returns:
        The settings: flags first, then the file of ``--config`` or, with ``--resume``, of the run's
        folder.

    Raises:
        ConfigurationError: A flag is unknown, a value is invalid, or a file of settings cannot be
            read.
    """
    from agentgym.errors import ConfigurationError
    from trainers.config.command import COMMAND_FLAGS, read_flags
    from trainers.config.config_file import CONFIG_FILE
    from trainers.config.resolve import default_out

    typed = read_flags(sys.argv[1:] if argv is None else argv, program_name())
    settings = {name: value for name, value in typed.items() if name not in COMMAND_FLAGS}
    file = typed.get("config")
    # With --config as well, the run's stored settings are only compared, not read.
    if file is not None or not typed.get("resume"):
        return _with_file(settings, file and Path(file))
    if not ("out" in typed or "env" in typed):
        raise ConfigurationError(
            "expected --resume with --out, the folder of the run, or with --env; got neither"
        )
    out = Path(typed["out"]) if "out" in typed else default_out(_with_file(settings, None))
    if not (out / CONFIG_FILE).exists():
        raise ConfigurationError(
            f"expected a run to resume in {out}, but there is none; leave out --resume to start one"
        )
    return _with_file(settings, out / CONFIG_FILE)


def _with_file(settings: Mapping[str, Any], path: Path | None) -> TrainConfig:
    """Check settings by field; a file, if given, supplies those that flags leave open."""
    from agentgym.errors import ConfigurationError
    from agentgym.support.nested import nested
    from trainers.config.config_file import read_config
    from trainers.config.file_trust import check_settings
    from trainers.config.schema import from_mapping, to_dict, with_flags

    if path is None:
        if not settings.get("env"):
            raise ConfigurationError(
                "expected an environment, such as webshop (agentgym list shows all), got none; "
                f"{program_name()} --help shows the flags"
            )
        return from_mapping(nested(settings))
    config = read_config(path)
    check_settings(to_dict(config), settings, path)
    if not (settings.get("env") or config.env):
        raise ConfigurationError(f"expected --env, because {path} names no environment")
    return with_flags(config, settings)


if __name__ == "__main__":
    sys.exit(main())
