"""``agentgym view``: write records of episodes as one page for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.cli.arguments import View
from agentgym.errors import ConfigurationError
from agentgym.evaluation.suites.suite_folder import evaluation_folders, holds_several
from agentgym.support.folder_links import is_inside
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.viewer import RunFiles

PAGE = "view"
"""Name of the page of a folder. It is in the folder: beside it, a pattern such as ``runs/a-*``
would match the page as well."""


def view(command: View, console: Console) -> int:
    """Write the page and print its path.

    Args:
        command: The arguments.
        console: Where the summary is printed.

    Raises:
        ConfigurationError: There are not one or two inputs, or the page would overwrite one of them
            or a file that is not a page.
        DataError: An input holds no episodes, or cannot be read.
    """
    from agentgym.viewer import render_page

    if not 1 <= len(command.paths) <= 2:
        raise ConfigurationError(
            f"expected one file or folder, or two to compare, got {len(command.paths)}"
        )
    runs = [_run(path) for path in command.paths]
    output = _output(command, runs)
    page = render_page(runs, max_episodes=command.max_episodes)
    _write(output, page)
    console.print(_summary(runs, output, len(page)), markup=False, highlight=False, soft_wrap=True)
    if command.open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())
    return 0


def _run(path: Path) -> RunFiles:
    """Find the episodes at a path; several evaluations are parts of one run."""
    from agentgym.viewer import find_run

    return find_run(path, evaluation_folders(path) if holds_several(path) else ())


def _output(command: View, runs: Sequence[RunFiles]) -> Path:
    """Return the path of the page, after checking that no other file is overwritten."""
    from agentgym.viewer import is_page

    inputs = [source.path for run in runs for source in run.sources]
    if command.out is not None:
        if command.out.exists() and any(
            path.exists() and command.out.samefile(path) for path in inputs
        ):
            raise ConfigurationError(
                f"expected --out to be another file than the episodes, got {command.out}"
            )
        return command.out
    output = _place(command.paths)
    if output.is_symlink() and not is_inside(output, output.parent):
        raise ConfigurationError(
            f"expected a file of its own at {output}, got a link to {output.resolve()}; name the "
            "page with --out"
        )
    if output.exists() and not (output.is_file() and is_page(output)):
        raise ConfigurationError(
            f"expected no file, or an older page, at {output}, but it holds something else; name "
            "the page with --out"
        )
    return output


def _place(paths: Sequence[Path]) -> Path:
    """Return where a page is looked for: in the folder that is shown, or beside the file."""
    first, *other_paths = paths
    folder, name = (first, PAGE) if first.is_dir() else (first.parent, first.stem)
    names = [path.resolve().name if path.is_dir() else path.stem for path in other_paths]
    return folder / ("-vs-".join([name, *names]) + ".html")


def _summary(runs: Sequence[RunFiles], output: Path, size: int) -> str:
    """Print the content of the page, the omissions, and its path."""
    lines = []
    for run in runs:
        episodes = sum(source.episodes for source in run.sources)
        files = f" of {len(run.sources)} files" if len(run.sources) > 1 else ""
        broken = sum(source.broken for source in run.sources)
        broken_note = f", {broken:,} broken" if broken else ""
        lines.append(f"{run.name}: {episodes:,} episode{'s' * (episodes != 1)}{files}{broken_note}")
        for source in run.sources:
            if source.skipped:
                lines.append(
                    f"  {source.path}: {source.skipped:,} line{'s' * (source.skipped != 1)} could "
                    f"not be read and left out; first: {printable(source.reason)}"
                )
            if source.cut:
                lines.append(
                    f"  {source.path}: only the first {source.episodes:,} (--max-episodes)"
                )
    return "\n".join([*lines, f"{output} ({size / 1e6:,.1f} MB): open it in a browser"])


def _write(path: Path, data: bytes) -> None:
    """Write the page whole or not at all; devices and pipes take it as it comes."""
    from agentgym.support.caching import write_atomically

    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            write_atomically(path.resolve(), data)  # a link stays one
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(
            f"expected a file that can be written, got {path}: {reason}; --out names another"
        ) from error
