"""``agentgym images``: manage the container images of namespace sandboxes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import ListImages, LoadImage, PruneImages, PullImages
from agentgym.errors import ConfigurationError
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.sandbox.images.store import Image, ImageStore, Watch


def load(command: LoadImage, console: Console) -> int:
    """Unpack an image from a file."""
    with _show_progress(console) as watch:
        image = _store().load(command.source, command.name, watch)
    say(console, f"loaded {_describe_image(image)}")
    return 0


def pull(command: PullImages, console: Console) -> int:
    """Pull images; return 1 if one failed."""
    from agentgym.errors import AgentGymError
    from agentgym.sandbox.images.pulling import pull as pull_image

    store, failed = _store(), 0
    for name in command.names:
        try:
            with _show_progress(console) as watch:
                image = pull_image(name, store, mirror=command.mirror, watch=watch)
        except AgentGymError as error:
            say(console, f"failed: {error}")
            failed += 1
        else:
            say(console, f"pulled {_describe_image(image)}")
    return int(bool(failed))


def show(command: ListImages, console: Console) -> int:
    """List the images."""
    from rich.table import Table

    store = _store()
    images = store.images()
    table = Table("image", "layers", "size", "last used")
    for image in images:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(image.used))
        table.add_row(cell(image.name), str(len(image.layers)), _size(image.size), used)
    if images:
        console.print(table)
    say(
        console,
        f"{len(images)} image(s) in {store.folder}, {_size(store.size())}; layers that they share "
        "count once there",
    )
    return 0


def prune(command: PruneImages, console: Console) -> int:
    """Remove images; return 1 if a named image does not exist."""
    from agentgym.support.sizes import parse_size

    store, missing = _store(), 0
    if not command.names and command.max_size is None:
        raise ConfigurationError("expected names of images, or --max-size SIZE, got neither")
    for name in command.names:
        removed = store.remove(name)
        say(
            console, f"removed {name}" if removed else f"expected {name} to be there, but it is not"
        )
        missing += not removed
    if command.max_size is not None:
        store.prune(
            parse_size(command.max_size),
            lambda image: say(console, f"removed {image.name} ({_size(image.size)})"),
        )
    say(console, f"{_size(store.size())} are left")
    return int(bool(missing))


def _store() -> ImageStore:
    from agentgym.sandbox.namespace.box import own_store

    return own_store()


@contextmanager
def _show_progress(console: Console) -> Iterator[Watch]:
    """Show the progress of an image, and yield the function to report it to."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    silent = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=silent) as progress:
        bar = progress.add_task("image", total=None)

        def watch(description: str, done_count: int, total: int) -> None:
            progress.update(bar, description=description, completed=done_count, total=total or None)

        yield watch


def _describe_image(image: Image) -> str:
    return f"{image.name}: {len(image.layers)} layer(s), {_size(image.size)}"


def _size(size: int) -> str:
    return f"{size / 1e9:,.2f} GB"


ACTIONS: Mapping[type, Callable[[Any, Console], int]] = {
    LoadImage: load,
    PullImages: pull,
    ListImages: show,
    PruneImages: prune,
}
"""Implementation of each subcommand."""
