"""Provide images: present, pulled according to the policy, or an error with the remedy."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.core import options
from agentgym.sandbox.base import SandboxUnavailable
from agentgym.sandbox.docker.container_records import ImageRecords
from agentgym.sandbox.docker.engine import DockerEngine
from agentgym.support.sizes import parse_size

POLICIES = ("missing", "never", "always")
"""When images are pulled; ``"always"`` means once in each process."""
HUB = "docker.io"

_pulling = threading.Lock()
_pulled: set[tuple[str, str]] = set()


class DockerImage(NamedTuple):
    """An image on the engine."""

    id: str
    """Identifies its content, independent of names."""
    environment: dict[str, str]
    """Variables of its commands."""
    user: str
    """User of its commands; "" is root."""
    workdir: str
    """Working folder of its commands."""


class Images:
    """Provides images on an engine.

    Args:
        engine: The engine.
        pull: One of :data:`POLICIES`.
        mirror: Registry, optionally with a path, to pull images of the Docker Hub from, such as
            ``"mirror.example.org/hub"``; they keep their names.
        budget: Disk space for images pulled or built by agentgym, in bytes or as text such as
            ``"50GB"``: after a pull, the least recently used ones are removed. None: no limit.

    Raises:
        ConfigurationError: An argument is out of range.
    """

    def __init__(
        self,
        engine: DockerEngine,
        *,
        pull: str = "missing",
        mirror: str = "",
        budget: int | str | None = None,
    ) -> None:
        self.engine = engine
        self.pull = options.choice(pull, "pull", POLICIES)
        self.mirror = options.text(mirror, "mirror").strip("/")
        self.budget = None if budget is None else parse_size(budget)
        self.records = ImageRecords(engine)

    def ensure(self, name: str) -> DockerImage:
        """Return an image; pull it if the policy says so.

        Raises:
            SandboxUnavailable: It is missing and cannot be pulled.
        """
        key = (self.engine.name, name)
        image = None if self.pull == "always" and key not in _pulled else self.find(name)
        if image is None:
            if self.pull == "never":
                raise SandboxUnavailable(
                    f"expected the image {name} on the engine at {self.engine.address}, but it is "
                    f"missing and pull is 'never'; fetch it with `docker pull {name}`, load it "
                    "with `docker load`, or set pull to 'missing'"
                )
            with _pulling:  # one at a time, because many sandboxes may need the same image
                image = self.find(name) if key in _pulled else None
                image = image or self._fetch(name)
                _pulled.add(key)
        self.records.used(image.id)
        return image

    def find(self, name: str) -> DockerImage | None:
        """Return an image that is on the engine, or None."""
        try:
            details: dict[str, Any] = self.engine.api.inspect_image(name)
        except self.engine.errors.ImageNotFound:
            return None
        config = details.get("Config") or {}
        variables = (entry.partition("=") for entry in config.get("Env") or ())
        return DockerImage(
            id=details["Id"],
            environment={key: value for key, _, value in variables},
            user=config.get("User") or "",
            workdir=config.get("WorkingDir") or "/",
        )

    def build(self, folder: Path, name: str) -> None:
        """Build an image from a Dockerfile, unless it exists; the engine runs the Dockerfile.

        Args:
            folder: Folder of the Dockerfile and of the files that it copies.
            name: Name of the image.

        Raises:
            SandboxUnavailable: It cannot be built; the message has the engine's error.
        """
        if self.find(name) is not None:
            return
        message = ""
        try:
            for line in self.engine.api.build(path=str(folder), tag=name, rm=True, decode=True):
                message = str(line.get("error") or line.get("stream") or message).strip() or message
                if "error" in line:
                    break
        except (self.engine.errors.DockerException, OSError, TypeError) as error:
            message = str(error)
        image = self.find(name)
        if image is None:
            raise SandboxUnavailable(
                f"expected to build the image {name} from {folder}, got: "
                f"{' '.join(message.split())[-300:]}; check that the engine can reach everything "
                "that its Dockerfile downloads"
            )
        self.records.pulled(image.id, name)

    def total_size(self) -> int:
        """Return the total size of the images pulled or built by agentgym, in bytes."""
        return sum(int(image["size"]) for image in self.records.list_images())

    def _fetch(self, name: str) -> DockerImage:
        """Pull an image, record it, and prune images to the budget."""
        previous = self.find(name)
        source = mirrored(name, self.mirror)
        repository, tag = _split(source)
        api, errors = self.engine.api, self.engine.errors
        try:
            for line in api.pull(repository, tag=tag, stream=True, decode=True):
                if "error" in line:
                    raise SandboxUnavailable(_explain(name, source, str(line["error"])))
            if source != name:
                api.tag(source, *_split(name))
                api.remove_image(source, noprune=True)
        except errors.DockerException as error:
            raise SandboxUnavailable(_explain(name, source, str(error))) from error
        image = self.find(name)
        if image is None:
            raise SandboxUnavailable(_explain(name, source, "the engine does not list it"))
        # An image that was already there belongs to the user and is never pruned.
        if previous is None or previous.id != image.id:
            self.records.pulled(image.id, name)
        if self.budget is not None:
            self.records.prune(self.budget, keep=image.id)
        return image


def mirrored(name: str, mirror: str) -> str:
    """Return the name to pull an image by: images of the Docker Hub come from the mirror."""
    if not mirror:
        return name
    first, _, path = name.partition("/")
    if path and ("." in first or ":" in first or first == "localhost"):
        if first != HUB:
            return name
        name = path
    return f"{mirror}/{name if '/' in name else f'library/{name}'}"


def _split(name: str) -> tuple[str, str | None]:
    """Split a name into the repository and the tag, ``latest`` if it has none."""
    if "@" in name:
        return name, None
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return name, "latest"
    return repository, tag


def _explain(name: str, source: str, problem: str) -> str:
    """Explain why an image could not be pulled, with the remedy."""
    excerpt = " ".join(problem.split())[:300]
    lower = problem.lower()
    # By words: a port, a tag or a digest may contain 429, too.
    if any(words in lower for words in ("toomanyrequests", "too many requests", "rate limit")):
        remedy = (
            "the registry limits pulls: log in with `docker login`, pull from a mirror with "
            "mirror='HOST/PATH', or fetch the images before (pull='missing' uses those)"
        )
    elif "manifest unknown" in lower or "not found" in lower or "denied" in lower:
        remedy = (
            "see that the name is right and that `docker login` was done where the image is private"
        )
    elif "no space left" in lower:
        remedy = "make room, or give images a budget so that those longest unused are removed"
    else:
        remedy = (
            "see that the engine reaches the registry, name a mirror with mirror='HOST/PATH', or "
            "bring the image with `docker save` and `docker load`"
        )
    return f"expected to pull the image {name} from {source}, got: {excerpt}; {remedy}"
