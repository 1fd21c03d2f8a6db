"""The command ``agentgym-train``."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

LISTS = ("--env-args", "--template-args")
"""Flags that take a list and may be repeated."""
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
        :func:`agentgym.cli.exits.run_command` says.
    """
    # One thread per process: small models on few cores lose more at barriers than they gain.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from agentgym.cli.exits import run_command

    return run_command(
        "agentgym-train",
        lambda: _main(argv),
        stopped="stopped; repeat the command with --resume to continue",
        explain=_full_disk,
    )


def _main(argv: Sequence[str] | None) -> int:
    """Read the arguments and carry out the run."""
    config = parse_config(argv)
    from trainers.run import train

    train(config)
    return 0


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
    """Read a configuration from command-line arguments; exits with code 2 if they are wrong."""
    import tyro

    from agentgym.making import merge_repeated
    from trainers.config.schema import TrainConfig

    given = merge_repeated(sys.argv[1:] if argv is None else argv, LISTS)
    return tyro.cli(TrainConfig, args=list(_switches(given)), prog="agentgym-train")


def _switches(argv: Sequence[str]) -> Iterator[str]:
    """Let ``--fit`` and ``--no-fit`` be switches, though there is a third state: neither."""
    for position, argument in enumerate(argv):
        following = argv[position + 1] if position + 1 < len(argv) else "--"
        if argument == "--no-fit":
            yield "--fit=False"
        elif argument == "--fit" and following.startswith("--"):
            yield "--fit=True"
        else:
            yield argument


if __name__ == "__main__":
    sys.exit(main())
