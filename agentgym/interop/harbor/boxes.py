"""The boxes in which tasks of Harbor are played, and how files come into them and out of them."""

from __future__ import annotations

import io
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentgym.envs.swe.runtime import SHOWN, runtime
from agentgym.errors import ConfigurationError
from agentgym.sandbox import Sandbox, SandboxConfig, SandboxLimits
from agentgym.sandbox.archives import pack_tree
from agentgym.sandbox.dockerfile import ImageRecipe

FOLDERS = ("/logs", "/tests", "/solution", "/harbor", "/installed-agent")
"""Folders of the root that Harbor, its agents and its tests write to."""
LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")
LARGEST_TRANSFER = 256 << 20
"""Bytes that are carried from one box to another."""
ARCHIVE = "/tmp/.agentgym-transfer.tar"
COPYING = 300
"""Seconds that packing and unpacking may take."""


def box_config(
    recipe: ImageRecipe,
    limits: SandboxLimits,
    environment: Mapping[str, str] | None = None,
    image: str = "",
    *,
    background: bool = True,
) -> SandboxConfig:
    """Describe the box of a task.

    Args:
        recipe: What its environment is made of.
        limits: What it may use.
        environment: Further variables.
        image: The image that it runs in; empty: with the programs of this machine, this Python and
            its pytest.
        background: Whether services live between commands, as in Harbor's containers.

    Raises:
        ConfigurationError: It needs an image, and none is given.
    """
    if image:
        return SandboxConfig(
            workdir=recipe.workdir,
            image=image,
            environment=environment or {},
            limits=limits,
            background=background,
        )
    if recipe.obstacles:
        raise ConfigurationError(
            "expected an environment that copies files alone, of which a box is made without an "
            f"image; got what needs one: {'; '.join(recipe.obstacles)[:400]}"
        )
    shared = runtime()
    variables = {**recipe.environment, **(environment or {})}
    # In front of whatever the task has there, so that no file of it takes pytest's place.
    roots = (str(shared.folder / "site"), variables.get("PYTHONPATH", ""))
    further = {*FOLDERS, *recipe.writable} - {"/" + recipe.workdir.split("/")[1]}
    return SandboxConfig(
        workdir=recipe.workdir,
        visible=(shared.folder,),
        mounts={SHOWN: shared.folder},
        hidden=shared.hidden,
        path=shared.path,
        environment={**variables, "PYTHONPATH": ":".join(filter(None, roots))},
        writable=tuple(sorted(further)),
        limits=limits,
        background=background,
    )


def send_folder(box: Sandbox, folder: Path, place: str) -> None:
    """Write the files of a folder of this machine into a box, links as links.

    Raises:
        OSError: They cannot be written.
    """
    box.write(ARCHIVE, pack_tree(folder))
    unpack(box, place)


def unpack(box: Sandbox, place: str) -> None:
    """Unpack the archive of a box, and remove it.

    Raises:
        OSError: It cannot be.
    """
    quoted = shlex.quote(place)
    run(box, f"mkdir -p {quoted} && tar --no-same-owner -xf {ARCHIVE} -C {quoted} && rm {ARCHIVE}")


def carry(source: Sandbox, target: Sandbox, path: str, excluded: Sequence[str] = ()) -> bool:
    """Carry a file or folder from one box to another; whatever is there already goes.

    Args:
        source: Where it is.
        target: Where it shall be too.
        path: The absolute path.
        excluded: Patterns of what is left behind, as ``tar --exclude`` takes them.

    Returns:
        Whether it was there.

    Raises:
        OSError: It is too large, or cannot be packed or unpacked.
    """
    quoted, parent = shlex.quote(path), shlex.quote(path.rpartition("/")[0] or "/")
    if source.exec(f"test -e {quoted} || test -L {quoted}").exit_code:
        return False
    options = "".join(f"--exclude={shlex.quote(pattern)} " for pattern in excluded)
    name = shlex.quote(path.rpartition("/")[2])
    run(source, f"tar {options}-C {parent} -cf {ARCHIVE} {name}")
    body = source.read(ARCHIVE, LARGEST_TRANSFER + 1)
    source.exec(f"rm -f {ARCHIVE}")
    if len(body) > LARGEST_TRANSFER:
        raise OSError(f"expected at most {LARGEST_TRANSFER:,} bytes at {path}, got more")
    # The folder itself may be mounted; what it holds goes.
    target.exec(f"rm -rf {quoted} 2> /dev/null || find {quoted} -mindepth 1 -delete")
    target.write(ARCHIVE, _unpacked(body))
    unpack(target, path.rpartition("/")[0] or "/")
    return True


def _unpacked(body: bytes) -> bytes:
    """Return an archive without devices and the like, and without names that lead elsewhere."""
    buffer = io.BytesIO()
    try:
        with (
            tarfile.open(fileobj=io.BytesIO(body), mode="r:") as archive,
            tarfile.open(fileobj=buffer, mode="w") as tar,
        ):
            for member in archive:
                parts = member.name.split("/")
                if not (member.isreg() or member.isdir() or member.issym()) or ".." in parts:
                    continue
                tar.addfile(member, archive.extractfile(member) if member.isreg() else None)
    except (tarfile.TarError, EOFError) as error:
        raise OSError(f"expected an archive out of a box, got: {error}") from error
    return buffer.getvalue()


def run(box: Sandbox, command: str) -> None:
    """Run a command of ours.

    Raises:
        OSError: It failed.
    """
    result = box.exec(command, timeout=COPYING, cwd="/")
    if result.exit_code:
        raise OSError(f"expected {command!r:.200} to succeed, got {result.text[-400:]!r}")
