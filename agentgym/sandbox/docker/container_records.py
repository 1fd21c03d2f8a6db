"""Records of the images that agentgym pulled and of their last use, for the disk budget.

The records are in the cache, by engine. An image without a record and without our label is never
touched.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agentgym.sandbox.docker import host
from agentgym.sandbox.docker.engine import DockerEngine
from agentgym.sandbox.docker.host import LABEL
from agentgym.support.caching import cache_folder, write_atomically

FRESH = 60.0
"""Minimum interval between two recorded uses of an image, in seconds."""

_log = logging.getLogger(__name__)
Entries = dict[str, dict[str, Any]]


class ImageRecords:
    """The images that agentgym pulled to an engine; removes the least recently used ones.

    Args:
        engine: The engine.
        folder: Folder of the records; in the cache if left out.
    """

    def __init__(self, engine: DockerEngine, folder: Path | None = None) -> None:
        self.engine = engine
        self._file = (folder or cache_folder() / "sandbox") / "images.json"

    def pulled(self, image: str, name: str) -> None:
        """Record that an image was pulled."""
        self._change(lambda entries: entries.update({image: {"name": name, "used": time.time()}}))

    def used(self, image: str) -> None:
        """Record the use of an image."""

        def refresh(entries: Entries) -> None:
            if image in entries:
                entries[image]["used"] = time.time()

        entry = self._entries().get(image)
        if entry is not None and time.time() - entry["used"] >= FRESH:
            self._change(refresh)

    def list_images(self) -> list[dict[str, Any]]:
        """Return our images, least recently used first: ``id``, ``name``, ``size``, ``used``.

        Shared layers count in the size of each image.
        """
        entries = self._entries()
        images = []
        for image in self.engine.api.images():
            # The host-root images take a few kilobytes, and every process may be using them.
            label = (image.get("Labels") or {}).get(LABEL, host.PREFIX)
            labelled = not label.startswith(host.PREFIX)
            if labelled or image["Id"] in entries:
                names = [name for name in image.get("RepoTags") or () if name != "<none>:<none>"]
                entry = entries.get(image["Id"], {})
                name = entry.get("name") or (names[0] if names else image["Id"])
                used = float(entry.get("used", image.get("Created", 0)))
                images.append(
                    {"id": image["Id"], "name": name, "size": image["Size"], "used": used}
                )
        return sorted(images, key=lambda image: (image["used"], image["id"]))

    def prune(self, budget: int, keep: str = "") -> list[dict[str, Any]]:
        """Remove our images, least recently used first, until the rest fits into a budget.

        Images of containers stay. If the user gave one of our images another name, only our name is
        removed.

        Args:
            budget: Total size of our images, in bytes.
            keep: Id of an image that is never removed.

        Returns:
            The removed images, in the form of :meth:`list_images`.
        """
        images, removed = self.list_images(), []
        total = sum(image["size"] for image in images)
        for image in images:
            if total <= budget:
                break
            if image["id"] == keep:
                continue
            target = image["name"] if image["id"] in self._entries() else image["id"]
            try:
                self.engine.api.remove_image(target, force=False)
            except self.engine.errors.ImageNotFound:
                pass  # another process removed it first
            except self.engine.errors.APIError as error:
                _log.info("the image %s is not removed: %s", image["name"], error)
                continue
            total -= image["size"]
            removed.append(image)
        removed_ids = {image["id"] for image in removed}
        if removed_ids:
            self._change(lambda entries: [entries.pop(image_id, None) for image_id in removed_ids])
        return removed

    def _entries(self) -> Entries:
        """Read the records of this engine."""
        entries = self._read_all().get(self.engine.name)
        return entries if isinstance(entries, dict) else {}

    def _read_all(self) -> dict[str, Any]:
        """Read the records of all engines; nothing if they cannot be read."""
        with suppress(OSError, ValueError):
            records = json.loads(self._file.read_bytes())
            return records if isinstance(records, dict) else {}
        return {}

    def _change(self, change: Callable[[Entries], object]) -> None:
        """Change the records of this engine; one process at a time."""
        try:
            with self._locked():
                everything = self._read_all()
                change(everything.setdefault(self.engine.name, {}))
                write_atomically(self._file, json.dumps(everything, indent=1).encode())
        except OSError as error:
            _log.warning("cannot record the pulled images in %s: %s", self._file, error)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes out."""
        import fcntl

        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
