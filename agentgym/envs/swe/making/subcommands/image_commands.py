"""``agentgym swe image``, ``prefetch`` and ``cache``: the container images of published tasks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentgym.core.options import integer
from agentgym.envs.swe.making.subcommands.progress import counted
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import cell, printable, say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.envs.swe.instance import Instance
    from agentgym.envs.swe.official import OfficialInstances
    from agentgym.envs.swe.official.prefetch import Fetched, Pulling
    from agentgym.sandbox.docker.images import Images


class RowsOptions(Protocol):
    """The common base of commands on rows of published sets."""

    @property
    def data(self) -> Path | None:
        """File or folder of rows, name of a set, or its id on the hub."""
        ...

    @property
    def data_set(self) -> str | None:
        """The set of the rows; None recognises it."""
        ...

    @property
    def image_mirror(self) -> str:
        """Registry and namespace to pull the images from instead of the original ones."""
        ...

    @property
    def skip_broken_rows(self) -> bool:
        """Whether rows that cannot be used are left out."""
        ...


@dataclass(frozen=True)
class ShowImage:
    """Print the container image of a task of a published set."""

    id: Positional[str]
    """Id of the instance, such as django__django-11099."""
    data: Path | None = None
    """File or folder of rows, name of a set, or its id on the hub."""
    data_set: str | None = None
    """Set of the rows, such as swe-gym. None: recognised by their fields. Without --data the image
    is named by the set's rule."""
    image_mirror: str = ""
    """Registry and namespace to pull the images from instead of the original ones."""
    skip_broken_rows: bool = False
    """Skip and count unusable rows instead of stopping at the first."""


@dataclass(frozen=True)
class Prefetch:
    """Pull the container images of a published set in advance."""

    data: Path
    """File or folder of rows, name of a set, or its id on the hub."""
    split: str | None = None
    """Split of the tasks. None: all of them."""
    max_images: int | None = None
    """Maximum number of images, in the order of the tasks. None: all of them."""
    max_size: str | None = None
    """Total size at which pulling stops, such as 50GB."""
    sandbox: Literal["auto", "namespace", "docker"] = "auto"
    """Back end of the sandboxes that use the images: docker, or namespace, which needs no daemon;
    auto: docker if its daemon runs."""
    data_set: str | None = None
    """Set of the rows, such as swe-gym. None: recognised by their fields."""
    image_mirror: str = ""
    """Registry and namespace to pull the images from instead of the original ones."""
    skip_broken_rows: bool = False
    """Skip and count unusable rows instead of stopping at the first."""


@dataclass(frozen=True)
class Cache:
    """Show the container images that agentgym pulled or made, or remove some."""

    max_size: str | None = None
    """Size to keep, such as 50GB: the least recently used of these images are removed until the
    others fit. Images from elsewhere are never removed."""


def image(command: ShowImage, console: Console) -> int:
    """Print only the name of an instance's image to standard output."""
    if command.data is None:
        say(console, _by_rule(command))
        return 0
    instances = open_rows(command)
    place = instances.find(command.id)
    if place is None:
        example = next(instances_of(instances)).id
        raise TaskNotFound(
            f"expected the id of an instance of {command.data}, such as {example}; "
            f"got {command.id!r:.200}"
        )
    say(console, _image_of(instances.instance(*place)))
    return 0


def prefetch(command: Prefetch, console: Console) -> int:
    """Pull the images of instances; 1 if one could not be pulled."""
    from agentgym.envs.swe.official.prefetch import prefetch
    from agentgym.support.sizes import parse_size

    instances = open_rows(command)
    names = list(
        dict.fromkeys(_image_of(instance) for instance in instances_of(instances, command.split))
    )
    if command.max_images is not None:
        names = names[: integer(command.max_images, "--max-images", 1)]
    budget = None if command.max_size is None else parse_size(command.max_size)
    images = _pulling(command.sandbox)
    with counted(console, "images", len(names), -1) as show:
        watch = lambda name: show(description=name, advance=1)  # noqa: E731
        fetched = prefetch(names, images, budget, watch)
    say(console, _describe_pulls(fetched, len(names)))
    return int(bool(fetched.failed))


def cache(command: Cache, console: Console) -> int:
    """Show the images that agentgym has pulled or made; remove some if a budget is given."""
    from rich.table import Table

    from agentgym.support.sizes import parse_size

    records = _images().records
    if command.max_size is not None:
        for removed_image in records.prune(parse_size(command.max_size)):
            say(console, f"removed {removed_image['name']} ({_size(removed_image['size'])})")
    images = records.list_images()
    table = Table("image", "size", "last used")
    for record in reversed(images):
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(record["used"]))
        table.add_row(cell(record["name"]), _size(record["size"]), used)
    if images:
        console.print(table)
    total = sum(record["size"] for record in images)
    say(
        console,
        f"{len(images)} image(s) that agentgym pulled or made, {_size(total)}; shared "
        "layers count for each. Images from elsewhere are never removed.",
    )
    return 0


def _by_rule(command: ShowImage) -> str:
    """Return the image of an id by the rule of a set, without rows."""
    from agentgym.envs.swe.official.images import image_name
    from agentgym.envs.swe.official.sets import data_set

    if command.data_set is None:
        raise ConfigurationError(
            "expected --data FILE with the row, or --data-set NAME for the set's rule; got neither"
        )
    dataset = data_set(command.data_set)
    repo = command.id.rpartition(".")[0]  # of SWE-smith: owner__repo.commit.kind__hash
    row = {"repo": repo} if dataset.name == "swe-smith" else {}
    return image_name(dataset, row, command.id, command.image_mirror)


def open_rows(command: RowsOptions) -> OfficialInstances:
    """Read the rows that a command names, and detect their set if it is not given."""
    from agentgym.envs.swe.official import OfficialInstances

    instances = OfficialInstances(
        str(command.data),
        data_set=command.data_set,
        image_mirror=command.image_mirror,
        skip_broken_rows=command.skip_broken_rows,
    )
    if instances.recognised and instances.data_set is not None:
        name = instances.data_set.name
        sys.stderr.write(f"rows of {name}, by their fields (--data-set says otherwise)\n")
    if instances.left_out:
        sys.stderr.write(
            f"{len(instances.left_out):,} row(s) left out; the first: "
            f"{printable(instances.left_out[0])}\n"
        )
    return instances


def instances_of(instances: OfficialInstances, split: str | None = None) -> Iterator[Instance]:
    """Yield the instances of a split, or of all of them."""
    for name in instances.splits if split is None else (split,):
        for index in range(instances.len(name)):
            yield instances.instance(name, index)


def _image_of(instance: Instance) -> str:
    image: Any = getattr(instance.source, "image", "")
    return str(image)


def _images() -> Images:
    """Return the source of images for the engine of this machine."""
    from agentgym.sandbox.docker.engine import find_engine
    from agentgym.sandbox.docker.images import Images

    return Images(find_engine())


def _pulling(sandbox: str) -> Pulling:
    """Return the source of images for a back end."""
    from agentgym.sandbox import probe
    from agentgym.sandbox.images.pulling import PulledImages
    from agentgym.sandbox.namespace.box import own_store

    if sandbox == "namespace" or (sandbox == "auto" and probe("docker")):
        return PulledImages(own_store())
    return _images()


def _describe_pulls(fetched: Fetched, total: int) -> str:
    """Describe the outcome for images."""
    lines = [
        f"{len(fetched.pulled)} image(s) pulled, {len(fetched.existing)} already present, "
        f"of {total}"
    ]
    lines += [f"failed: {reason}" for reason in fetched.failed.values()]
    if fetched.untried:
        lines.append(
            f"{len(fetched.untried)} not tried: {fetched.why}; repeat the command to resume"
        )
    return "\n".join(lines)


def _size(size: int) -> str:
    return f"{size / 1e9:,.2f} GB"
