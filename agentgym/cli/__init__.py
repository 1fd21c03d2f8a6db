"""The command ``agentgym``: list, play, eval, replay, doctor."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agentgym.errors import AgentGymError

BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``agentgym``.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        0 when all is well, 1 when a check failed, 2 after bad input, 130 after Ctrl-C.
    """
    import tyro
    from rich.console import Console

    from agentgym.cli.arguments import Arguments
    from agentgym.cli.commands import run

    parsed = tyro.cli(Arguments, args=argv, prog="agentgym")
    try:
        return run(parsed.command, Console())
    except AgentGymError as error:
        print(f"agentgym: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
