"""The command ``agentgym``; `agentgym.cli.parsing` parses its command line.

To add one of these, touch these files:

- what optional packages bring: a row in ``PARTS`` of ``agentgym/cli/abilities.py``, for ``agentgym
  doctor``
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentgym.support.common_flags import log_to_terminal, take_common_flags, version_line
from agentgym.support.exits import run_command
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``agentgym``.

    Returns:
        0 on success, 1 if a check failed, otherwise the exit code of `run_command`.
    """
    return run_command(
        "agentgym", lambda: _main(sys.argv[1:] if argv is None else argv), words=_words
    )


def _words(text: str) -> str:
    # Import late: only a message needs it, and it reads the dataclasses of three subcommands.
    from agentgym.cli.advice import in_flags

    return in_flags(text)


def _main(argv: Sequence[str]) -> int:
    """Read the arguments and carry out the subcommand."""
    common = take_common_flags(argv)
    if common.version:
        print(version_line("agentgym"))
        return 0
    if not argv:
        from agentgym.cli.first_steps import show

        return show(_screen())
    from agentgym.cli.commands import run
    from agentgym.cli.parsing import OtherCommand, parse

    command = parse(common.remaining)
    if isinstance(command, OtherCommand):
        return command.main([*command.argv, *common.words])
    log_to_terminal(common.log_level)
    return run(command, _screen(common.quiet))


def _screen(quiet: bool = False) -> Console:
    """Return where the subcommands print; a quiet one shows results alone."""
    from rich.console import Console
    from rich.segment import Segment

    class TerminalConsole(Console):
        """A console that ends the command when its output is closed; escapes control characters."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            """Escape control characters in text; only rich's own control codes are printed."""
            for part in super().render(renderable, options):
                yield part if part.control else Segment(printable(part.text, None), part.style)

        shows_notes = not quiet

        @property
        def is_dumb_terminal(self) -> bool:
            """Whether nothing may move: then rich draws no progress bars."""
            return quiet or super().is_dumb_terminal

        def on_broken_pipe(self) -> None:
            """Pass the error on; rich would exit with code 1, which means a failed check here."""
            raise

    return TerminalConsole()
