"""The image of a namespace sandbox: find or pull it, read its user, and prepare its settings."""

from __future__ import annotations

import os
import stat
import threading
from typing import Any, NamedTuple

from agentgym.core import options
from agentgym.errors import ConfigurationError, DataError
from agentgym.sandbox.base import SandboxConfig, SandboxUnavailable
from agentgym.sandbox.images.layers import Layers
from agentgym.sandbox.images.pulling import PulledImages, how_to_bring
from agentgym.sandbox.images.store import Image, ImageStore
from agentgym.support.text_lines import split_lines

POLICIES = ("missing", "never", "always")
"""When images are pulled; ``"always"`` means once in each process."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Default ``PATH`` of images without one."""
LARGEST_LIST = 1 << 20
"""Maximum number of bytes read of an image's ``/etc/passwd`` and ``/etc/group``."""
HIGHEST_ID = (1 << 32) - 2

_pulling = threading.Lock()
_pulled: set[tuple[str, str]] = set()


class User(NamedTuple):
    """The user that runs an image's commands."""

    uid: int
    gid: int
    home: str


class ImageRoot:
    """The image of one sandbox.

    Args:
        config: The configuration of the sandbox.
        store: The store of images.
        pull: One of :data:`POLICIES`.
        mirror: Registry to pull images of the Docker Hub from.

    Raises:
        ConfigurationError: An argument is invalid, or the configuration shows folders of the host,
            which is not supported together with an image.
    """

    def __init__(self, config: SandboxConfig, store: ImageStore, pull: str, mirror: str) -> None:
        host_options = [name for name in ("visible", "mounts", "hidden") if getattr(config, name)]
        if host_options:
            raise ConfigurationError(
                f"expected nothing of the host in a box of the image {config.image}, got "
                f"{' and '.join(host_options)}; leave that out, or put it into the image"
            )
        self._config, self._store = config, store
        self._pull = options.choice(pull, "pull", POLICIES)
        self._mirror = options.text(mirror, "mirror")
        self._image: Image | None = None
        self._user: User | None = None
        self._lease = -1

    @property
    def image(self) -> Image:
        """The image; pulled if it is missing.

        Raises:
            SandboxUnavailable: It is unavailable; the message gives the remedy.
        """
        if self._image is None:
            self._image = self._ensure()
        return self._image

    @property
    def user(self) -> User:
        """The user that runs commands."""
        if self._user is None:
            self._user = _user_of(self.image)
        return self._user

    def stage_settings(self) -> dict[str, Any]:
        """Return the settings for ``stage.py``; protects the image from removal until `release`."""
        try:
            self.release()
            self._lease = self._store.hold(self.image)
        except DataError:  # removed in the meantime
            self._image = self._user = None
            self._lease = self._store.hold(self.image)
        image, user = self.image, self.user
        return {
            "layers": [str(layer) for layer in reversed(image.layers)],
            "made": _list_parents(image, self._config),
            "uid": user.uid,
            "gid": user.gid,
        }

    def completed(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the server's settings, completed by the image's ``Env`` and user."""
        listed = self.image.config.get("Env") or ()
        variables = dict(str(entry).partition("=")[::2] for entry in listed)
        path = ":".join((*self._config.path, variables.get("PATH") or PATH))
        home = variables.get("HOME") or self.user.home
        environment = {**variables, **settings["environment"], "PATH": path, "HOME": home}
        environment |= self._config.environment
        return {**settings, "places": ["/", "/dev/shm"], "environment": environment}

    def release(self) -> None:
        """End the protection of the image from removal."""
        lease, self._lease = self._lease, -1
        if lease >= 0:
            os.close(lease)

    def _ensure(self) -> Image:
        """Find or pull the image."""
        name, key = self._config.image, (str(self._store.folder), self._config.image)
        image = None
        if self._pull != "always" or key in _pulled:
            image = self._store.find(name)
        if image is not None:
            return image
        if self._pull == "never":
            raise SandboxUnavailable(
                f"expected the image {name} among those in {self._store.folder}, but it is not "
                f"there and pull is 'never'. {how_to_bring(name)}"
            )
        with _pulling:  # one at a time, because many sandboxes may need the same image
            image = self._store.find(name) if key in _pulled or self._pull == "missing" else None
            image = image or PulledImages(self._store, self._mirror).pull(name)
            _pulled.add(key)
        return image


def _list_parents(image: Image, config: SandboxConfig) -> list[tuple[str, int]]:
    """Return the folders on the path to ``workdir`` that must be created, each with its mode.

    Empty if the image has ``workdir``.
    """
    layers = Layers(image.layers[::-1])
    try:
        parts = layers.resolve(config.workdir)
    except DataError as error:
        raise ConfigurationError(f"{error}; choose another workdir") from error
    folders = [layers.find(parts[: number + 1]) for number in range(len(parts))]
    for path in folders:
        if path is not None and not stat.S_ISDIR(os.lstat(path).st_mode):
            raise ConfigurationError(
                f"expected a folder, or nothing, at {config.workdir} of the image {image.name}, "
                "got a file; choose another workdir"
            )
    if folders and folders[-1] is not None and config.tree is None:
        return []
    modes = [0o755 if path is None else stat.S_IMODE(os.lstat(path).st_mode) for path in folders]
    return list(zip(parts, modes, strict=True))


def _user_of(image: Image) -> User:
    """Resolve an image's ``User`` (a name or id, optionally with ``:group``) by its own lists."""
    layers = Layers(image.layers[::-1])
    user, _, group = str(image.config.get("User") or "0").partition(":")
    uid, gid, home = (_number(user), 0, "/") if user.isdigit() else (-1, 0, "/")
    for fields in _lines(layers, "etc/passwd", 6):
        if (user in (fields[0], fields[2])) and fields[2].isdigit():
            uid, gid, home = _number(fields[2]), _number(fields[3]), fields[5] or "/"
            break
    else:
        home = "/root" if user in ("0", "root") else home
        uid = 0 if user == "root" else uid
    if group:
        gid = _number(group) if group.isdigit() else -1
        for fields in _lines(layers, "etc/group", 3):
            if group == fields[0]:
                gid = _number(fields[2])
                break
    if min(uid, gid) < 0 or max(uid, gid) > HIGHEST_ID:
        raise SandboxUnavailable(
            f"expected the user of the image {image.name} in its /etc/passwd and /etc/group, got "
            f"{image.config.get('User')!r:.80}, which is not there; make the image anew"
        )
    return User(uid, gid, home)


def _lines(layers: Layers, path: str, least: int) -> list[list[str]]:
    text = layers.read(path, LARGEST_LIST).decode("utf-8", "replace")
    rows = [line.split(":") for line in split_lines(text)]
    return [fields for fields in rows if len(fields) >= least]


def _number(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < 12 else -1
