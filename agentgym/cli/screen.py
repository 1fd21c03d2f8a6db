"""Where the subcommands print."""

from __future__ import annotations

from rich.console import Console


class Screen(Console):
    """A rich console that tells the command when nobody reads its output any more."""

    def on_broken_pipe(self) -> None:
        """Pass the error on; rich would exit with code 1, which means a failed check here."""
        raise
