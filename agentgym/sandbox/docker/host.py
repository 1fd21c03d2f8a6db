"""The host-root image: an empty root folder with the host's programs mounted below.

It needs no registry and no base image: a few kilobytes of folders and links. The programs of this
machine are mounted read-only.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from agentgym.sandbox import served
from agentgym.sandbox.docker.engine import DockerEngine

USER = 61000
"""User and group of commands: not root, and usually unused on the host."""
HOME = served.HOME
LABEL = "agentgym.image"
"""Label of the images built by agentgym; its value identifies them."""
PREFIX = "host-"
"""Prefix of the label's value for images of this module."""
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Folders that are links into ``/usr`` on most systems."""
SHARED = ("/etc/alternatives", "/etc/ld.so.cache")
"""Files in ``/etc`` that programs in ``/usr`` need and that contain no secrets."""
FOLDERS = ("dev", "etc", "home", "opt", "proc", "run", "sys", "tmp", "usr", "var", "var/tmp")
FILES = {
    "etc/passwd": f"root:x:0:0:root:/:/bin/sh\nagent:x:{USER}:{USER}:agent:{HOME}:/bin/bash\n",
    "etc/group": f"root:x:0:\nagent:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def host_image(engine: DockerEngine) -> str:
    """Return the id of the image on an engine; build it if it is missing."""
    data = _tar()
    digest = hashlib.sha256(data).hexdigest()[:24]
    images = engine.api.images(filters={"label": f"{LABEL}={PREFIX}{digest}"}, quiet=True)
    if images:
        return str(images[0])
    engine.api.import_image_from_data(
        data, repository="agentgym/host", tag=digest, changes=[f"LABEL {LABEL}={PREFIX}{digest}"]
    )
    # By label, because Podman changes the requested name.
    [image, *_] = engine.api.images(filters={"label": f"{LABEL}={PREFIX}{digest}"}, quiet=True)
    return str(image)


def system_folders() -> Iterator[str]:
    """Yield the paths of this machine to mount for its programs."""
    yield "/usr"
    yield from (f"/{name}" for name in SYSTEM if _is_folder(name))
    yield from (place for place in SHARED if Path(place).exists())


def _is_folder(name: str) -> bool:
    """Return whether a system folder is a real folder and not a link into ``/usr``."""
    return Path(f"/{name}").is_dir() and not Path(f"/{name}").is_symlink()


def _tar() -> bytes:
    """Write the image's content; the same bytes on every call."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in (*FOLDERS, *(name for name in SYSTEM if _is_folder(name))):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in SYSTEM:
            if Path(f"/{name}").is_symlink():
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(f"/{name}").lstrip("/")
                archive.addfile(entry)
        for name, text in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
