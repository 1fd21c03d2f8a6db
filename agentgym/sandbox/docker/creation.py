"""Create containers: image, limits, mounts and labels from a configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.sandbox.base import SandboxConfig, SandboxUnavailable
from agentgym.sandbox.docker import host, orphans
from agentgym.sandbox.docker.engine import DockerEngine
from agentgym.sandbox.docker.images import DockerImage, Images
from agentgym.sandbox.host_paths import covered_places, shown_folders

HOME = host.HOME
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROCESSES_OF_SERVER = 2
"""Number of a container's processes besides commands: process 1, and a fork of it."""
SMALLEST = 1 << 20
"""Minimum size of an in-memory file system, in bytes."""
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")
"""Capabilities of an image's root: use files of the image's other users, and become one of them.
All are among the engines' defaults."""
NPROC = 4096
"""Maximum number of processes of a user under Podman, as its default may exceed the host's."""


@dataclass(frozen=True)
class CreationPlan:
    """The plan by which the containers of a sandbox are created."""

    image: str
    """Id of the image."""
    served: bool
    """Whether process 1 is the server of ``pid1.py``."""
    python: str
    """Its interpreter."""
    user: str
    """User of commands; "" is the image's."""
    home: str
    """Their home folder."""
    environment: Mapping[str, str]
    """Variables of the image."""
    places: tuple[str, ...]
    """Folders in snapshots, besides ``workdir``."""
    host_config: Mapping[str, Any]
    """Limits and mounts of the container."""


def plan_container(
    config: SandboxConfig, engine: DockerEngine, images: Images, without_python: Collection[str]
) -> CreationPlan:
    """Plan the container of a configuration.

    Args:
        config: The configuration.
        engine: The engine that will run it.
        images: Provides the image.
        without_python: Ids of images that cannot run the server.

    Raises:
        ConfigurationError: Containers do not support the configuration.
        SandboxUnavailable: The image is unavailable, or needs the engine of this machine.
    """
    if config.image:
        image, python, home = images.ensure(config.image), "python3", ""
    else:
        _check_local(engine)
        image = DockerImage(host.host_image(engine), {}, str(host.USER), "/")
        python, home = os.path.realpath(sys.executable), HOME
    served = image.id not in without_python
    home = home or image.environment.get("HOME") or _home(image.user)
    limits = config.limits
    limit_options = _ulimits(config, engine, served)
    if engine.limits("PidsLimit"):
        limit_options["pids_limit"] = limits.processes + PROCESSES_OF_SERVER
    if engine.limits("MemoryLimit"):
        # Files in memory count towards this limit, so add their limit to that of processes.
        limit_options["mem_limit"] = limits.memory + limits.disk
        if engine.limits("SwapLimit"):
            limit_options["memswap_limit"] = limit_options["mem_limit"]
    return CreationPlan(
        image=image.id,
        served=served,
        python=python,
        user="" if config.image else f"{host.USER}:{host.USER}",
        home=home,
        environment=image.environment,
        places=("/tmp", home, "/dev/shm", *config.writable),
        host_config=engine.api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=list(CAPABILITIES) if config.image else [],
            security_opt=["no-new-privileges"],
            read_only=not config.image,
            tmpfs=_temporary(config, image, served, home, not engine.is_podman),
            mounts=[] if config.image else list(_mounts(config)),
            log_config={"Type": "none"},
            dns=["127.0.0.1"],  # otherwise the container sees the host's resolv.conf
            auto_remove=True,
            **limit_options,
        ),
    )


def _check_local(engine: DockerEngine) -> None:
    """Raise if an engine on another machine would have to mount this machine's programs."""
    if not engine.is_local:
        raise SandboxUnavailable(
            f"expected an image, because the engine at {engine.address} does not see the programs "
            "of this machine; name one in the configuration (image=...), or use the engine of a "
            "Linux machine through its socket"
        )


def _home(user: str) -> str:
    """Guess the home folder of an image's user from the name, without reading the image."""
    name = user.partition(":")[0]
    if name in ("", "0", "root"):
        return "/root"
    return "/tmp" if name.isdigit() else f"/home/{name}"


def _ulimits(config: SandboxConfig, engine: DockerEngine, served: bool) -> dict[str, Any]:
    """Return the limits of each process that the engine sets; the server sets more of them."""
    limits = config.limits
    values = {"nofile": limits.open_files, "core": 0}
    if not served:
        values["fsize"] = limits.file_size
    if engine.is_podman:
        values["nproc"] = NPROC
    return {"ulimits": [{"Name": name, "Soft": n, "Hard": n} for name, n in values.items()]}


def create(engine: DockerEngine, plan: CreationPlan, command: list[str]) -> str:
    """Create the container of a plan with a command, and return its id.

    Raises:
        ImageNotFound: The image has been removed; raised by the SDK.
        SandboxUnavailable: The engine refuses; the message says why.
    """
    try:
        container = engine.api.create_container(
            plan.image,
            command,
            entrypoint=[],
            user=plan.user or None,
            hostname="sandbox",
            working_dir="/",
            stdin_open=True,
            tty=False,
            labels=orphans.labels(),
            healthcheck={"test": ["NONE"]},
            host_config=dict(plan.host_config),
        )
    except engine.errors.ImageNotFound:
        raise
    except engine.errors.DockerException as error:
        raise SandboxUnavailable(
            f"expected the engine at {engine.address} to create a container, got: "
            f"{str(error)[:400]}; check its limits with `docker info`"
        ) from error
    return str(container["Id"])


def _temporary(
    config: SandboxConfig, image: DockerImage, served: bool, home: str, counted: bool
) -> dict[str, str]:
    """Return the in-memory file systems, which together have the size of the disk limit.

    ``workdir`` gets half of it, plus the size of the tree. In a container of an image, only a tree
    is put into memory, and only if a server can unpack it there. Podman supports neither owners nor
    a number of files for such file systems, so there they are not ``counted``.
    """
    limits = config.limits
    ownership = f"uid={image.user},gid={image.user}," if image.user.isdigit() else ""
    shares = {config.workdir: 2, "/tmp": 4, home: 8, "/dev/shm": 8}
    shares |= dict.fromkeys(config.writable, 8)
    if config.image:
        shares = {config.workdir: 1} if config.tree is not None and served else {}
    result = {}
    for place, share in shares.items():
        more = (0, 0)
        if place == config.workdir and config.tree is not None:
            more = _extent(config.tree)
        size = max(SMALLEST, limits.disk // share) + more[0]
        files = limits.files // share + 1 + more[1]
        mode = "1777" if place in ("/tmp", "/dev/shm") else "0755" if ownership else "0777"
        if not counted:
            result[place] = f"rw,exec,nosuid,nodev,notmpcopyup,size={size},mode=1777"
            continue
        result[place] = f"rw,exec,nosuid,nodev,size={size},nr_inodes={files},{ownership}mode={mode}"
    if not config.image:
        folders = (path for path in _hidden(config) if path.is_dir())
        # By default Podman copies the covered content, which should be hidden, into the tmpfs.
        empty = "ro,size=4096,mode=0555" if counted else "ro,notmpcopyup,size=4096,mode=0555"
        result.update({str(folder): empty for folder in folders})
    return result


def _extent(tree: Path) -> tuple[int, int]:
    """Return the size of a tree, in bytes of whole memory pages, and its number of files."""
    size = files = 0
    for folder, _, names in os.walk(tree):
        files += 1 + len(names)
        for name in names:
            size += (os.lstat(os.path.join(folder, name)).st_size + 8191) & ~4095
    return size, files


def _mounts(config: SandboxConfig) -> Iterator[dict[str, Any]]:
    """Yield the read-only bind mounts of the host's folders, and the mounts that hide files."""
    sources = {folder: folder for folder in host.system_folders()}
    sources.update({str(place): str(source) for place, source in shown_folders(config).items()})
    for place, source in sources.items():
        if not any(Path(place).is_relative_to(source) for source in sources if source != place):
            yield _bound(source, place)
    for file in _hidden(config):
        if not file.is_dir():
            yield _bound("/dev/null", str(file))


def _bound(source: str, target: str) -> dict[str, Any]:
    """Return the mount that shows a file or folder of the host read-only."""
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}


def _hidden(config: SandboxConfig) -> Iterator[Path]:
    """Yield the host paths to hide; paths that do not exist cannot be covered by a mount."""
    yield from (path for path in covered_places(config) if path.exists())
