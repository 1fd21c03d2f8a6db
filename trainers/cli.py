"""The command ``agentgym-train``."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainers.config import TrainConfig

BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``agentgym-train``.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        0 when the run is complete, 2 after bad input or a full disk, 130 after Ctrl-C.
    """
    # One thread per process: small models on few cores lose more at barriers than they gain.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from agentgym.errors import AgentGymError

    config = parse_config(argv)
    try:
        from trainers.run import train

        train(config)
    except AgentGymError as error:
        return _fail(str(error))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        where = f" {error.filename}" if error.filename else ""
        return _fail(
            f"expected to write{where}, but: {error.strerror}; the run so far is intact, make room "
            "and repeat the command with --resume"
        )
    except KeyboardInterrupt:
        print("stopped; repeat the command with --resume to continue", file=sys.stderr)
        return INTERRUPTED
    return 0


def parse_config(argv: Sequence[str] | None = None) -> TrainConfig:
    """Read a configuration from command-line arguments; exits with code 2 if they are wrong."""
    import tyro

    from trainers.config import TrainConfig

    return tyro.cli(TrainConfig, args=argv, prog="agentgym-train")


def _fail(message: str) -> int:
    """Say in one sentence what is wrong."""
    print(f"agentgym-train: {message}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
