"""Images on this machine: unpacked layers, and names for stacks of them.

``layers/<chain id>/fs`` is a layer, ``layer.json`` beside it describes it. The chain id [OCI image
specification: config] identifies a layer together with all layers below it, on which its archive
depends. ``images/<name>.json`` names a stack. Every entry is complete: it is written under another
name, synced to disk and renamed; writers hold the lock of the store, and the next writer removes
what a killed process left. Only its user can access the folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tarfile import TarError
from tarfile import open as open_tar
from typing import Any

from filelock import FileLock, Timeout

from agentgym.errors import DataError
from agentgym.sandbox.archives import check_end
from agentgym.sandbox.images.layers import Layers
from agentgym.sandbox.images.names import canonical
from agentgym.sandbox.images.reading import PackedImage, PackedLayer, opened_image
from agentgym.sandbox.images.streams import BoundedHeader, HashedStream, plain_stream
from agentgym.sandbox.images.unpacking import Bounds, LayerWriter
from agentgym.support.caching import SCRATCH, cache_folder, write_atomically

LOCK = ".lock"
BOUNDS = Bounds()
Watch = Callable[[str, int, int], None]
"""Called with the current operation, and the number of processed and total bytes."""


@dataclass(frozen=True)
class Image:
    """An image from which sandboxes can be opened."""

    name: str
    """Its name, with a tag."""
    layers: tuple[Path, ...]
    """Folders of its layers, lowest first."""
    config: Mapping[str, Any]
    """``Env``, ``User``, ``WorkingDir`` and other settings."""
    size: int
    """Size of its files, in bytes, including shared layers."""
    used: float
    """Time of its last use, or when it was loaded."""


class ImageStore:
    """Images unpacked on this machine.

    Args:
        folder: Folder of the images; in the cache of agentgym if left out.
        bounds: Limits of an image.
        owner: User that will own the files; None: the current user. If root opens sandboxes, it is
            the user of commands on the host.
    """

    def __init__(
        self, folder: Path | None = None, *, bounds: Bounds = BOUNDS, owner: int | None = None
    ) -> None:
        self.folder = cache_folder() / "sandbox" / "images" if folder is None else folder
        self.bounds, self.owner = bounds, owner

    def load(self, source: Path, name: str = "", watch: Watch | None = None) -> Image:
        """Unpack an image from a file or folder.

        Args:
            source: An OCI layout, as folder or tar, or an archive of ``docker save``.
            name: Name of the image; its name in the archive if left out.
            watch: Called with the progress.

        Raises:
            DataError: It is not an image, or is damaged, hostile, or for another machine.
        """
        with opened_image(source, name) as (label, packed):
            # An OCI layout may contain only a tag without the image's name.
            full_name = name or (label if "/" in label or ":" in label else "")
            if not full_name:
                raise DataError(
                    f"expected a name for the image of {source}, which has {label!r:.80}; pass one"
                )
            return self.add(packed, full_name, watch)

    def add(self, packed: PackedImage, name: str, watch: Watch | None = None) -> Image:
        """Unpack the missing layers of an image, and name it.

        Raises:
            DataError: A layer is damaged, hostile or too large.
        """
        if len(packed.layers) > self.bounds.layers:
            raise DataError(
                f"expected an image of at most {self.bounds.layers} layers, got "
                f"{len(packed.layers)}; merge some (docker build --squash, or docker export)"
            )
        full_name = canonical(name)
        with self._locked():
            below: list[str] = []
            size = files = 0
            for number, (layer, chain) in enumerate(self.chained(packed.layers), 1):
                bounds_left = Bounds(self.bounds.size - size, self.bounds.files - files)
                entry = self._entry(chain)
                if entry is None:
                    title = f"layer {number} of {len(packed.layers)}"
                    entry = self._unpack(packed, layer, chain, below, bounds_left, title, watch)
                size, files = size + entry["size"], files + entry["files"]
                below.append(chain)
            record = {
                "name": full_name,
                "layers": below,
                "config": dict(packed.config),
                "size": size,
            }
            write_atomically(self._record(full_name), json.dumps(record).encode())
        image = self.find(full_name)
        if image is None:
            raise DataError(
                f"expected the image {full_name} in {self.folder}, which was removed again"
            )
        return image

    def find(self, name: str) -> Image | None:
        """Return an image; None if it is missing.

        Raises:
            DataError: The store belongs to another user.
        """
        try:
            full_name = canonical(name)
        except DataError:
            return None
        if self.folder.is_dir() and not os.access(self.folder, os.R_OK | os.X_OK):
            raise DataError(
                f"expected a store of this user, got {self.folder} of another user; set "
                "AGENTGYM_CACHE to one of your folders"
            )
        return self._read_record(self._record(full_name))

    def has_layer(self, chain: str) -> bool:
        """Return whether a layer is unpacked."""
        return self._entry(chain) is not None

    def images(self) -> list[Image]:
        """Return all images, most recently used first."""
        records = sorted(self.folder.glob("images/*.json"))
        images = [image for image in map(self._read_record, records) if image is not None]
        return sorted(images, key=lambda image: (-image.used, image.name))

    def hold(self, image: Image) -> int:
        """Return a descriptor that protects the layers until it is closed or this process ends.

        Raises:
            DataError: The image was removed before.
        """
        top = image.layers[-1].parent
        try:
            descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except OSError as error:
            raise DataError(
                f"expected the layers of {image.name}, got {error}; load it again"
            ) from (error)
        if not image.layers[-1].is_dir():  # removed while this process waited for the lock
            os.close(descriptor)
            raise DataError(
                f"expected the layers of {image.name}, which were removed; load it again"
            )
        with suppress(OSError):  # in a read-only store the last use cannot be recorded
            os.utime(self._record(image.name))
        return descriptor

    def size(self) -> int:
        """Return the total size of all layers, in bytes."""
        return sum(entry["size"] for _, entry in self._entries())

    def prune(self, budget: int, watch: Callable[[Image], None] = lambda image: None) -> None:
        """Remove the least recently used images until the rest fits; images in use stay.

        Args:
            budget: Total size, in bytes.
            watch: Called with each removed image.
        """
        if not self.folder.is_dir():
            return
        with self._locked():
            images = self.images()
            while images and self._size_of(images) > budget:
                oldest = images.pop()
                watch(oldest)
                self._record(oldest.name).unlink(missing_ok=True)
            self._remove_layers({layer.parent.name for image in images for layer in image.layers})
            self._remove_downloads()

    def remove(self, name: str) -> bool:
        """Remove a name, and the layers that no other name needs; return whether it existed."""
        if self.find(name) is None:
            return False
        with self._locked():
            self._record(canonical(name)).unlink(missing_ok=True)
            needed = {layer.parent.name for image in self.images() for layer in image.layers}
            self._remove_layers(needed)
        return True

    @staticmethod
    def chained(layers: Sequence[PackedLayer]) -> Iterator[tuple[PackedLayer, str]]:
        """Yield layers with their chain ids: sha256(chain id below + " " + diff id)."""
        chain = ""
        for layer in layers:
            text = f"{chain} {layer.diff_id}"
            digest = hashlib.sha256(text.encode()).hexdigest()
            chain = f"sha256:{digest}" if chain else layer.diff_id
            yield layer, chain.removeprefix("sha256:")

    def _unpack(
        self,
        packed: PackedImage,
        layer: PackedLayer,
        chain: str,
        below: Iterable[str],
        bounds: Bounds,
        title: str,
        watch: Watch | None,
    ) -> dict[str, Any]:
        """Unpack a layer to a temporary folder, and rename that to its final name."""
        scratch = self.folder / "layers" / f"{SCRATCH}{chain}"
        (scratch / "fs").mkdir(mode=0o755, parents=True)
        lower = Layers([self._layer(name) for name in reversed(list(below))])
        writer = LayerWriter(str(scratch / "fs"), lower, bounds)
        try:
            with closing(packed.open(layer.place)) as raw:
                _write(raw, layer, writer, bounds, lambda n: watch and watch(title, n, layer.size))
            writer.finish(self.owner)
            entry = {**asdict(writer.counts), "below": list(below)}
            (scratch / "layer.json").write_text(json.dumps(entry))
            os.sync()  # once for everything: fsync of ten thousand files would be slow
            os.rename(scratch, self._layer(chain).parent)
        except (TarError, zlib.error, EOFError, UnicodeError, RecursionError) as error:
            raise DataError(f"expected a readable layer ({title}), got {error}") from error
        except OSError as error:
            raise DataError(
                f"expected to unpack an image in {self.folder} ({title}), got {error}; make room "
                "with `agentgym images prune`, or set AGENTGYM_CACHE to a folder on a larger disk"
            ) from error
        finally:
            _remove_folder(scratch)
        return entry

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the store for writing, and remove leftovers of killed processes."""
        try:
            for name in ("layers", "images"):
                (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            lock = FileLock(self.folder / LOCK)
            lock.acquire()
        except OSError as error:
            raise DataError(
                f"expected to write to {self.folder}, got {error}; set AGENTGYM_CACHE to a "
                "writable folder"
            ) from error
        try:
            for scratch in (self.folder / "layers").glob(f"{SCRATCH}*"):
                _remove_folder(scratch)
            yield
        finally:
            lock.release()

    def downloads(self, name: str) -> Path:
        """Return the folder of an image's packed layers."""
        return self.folder / "downloads" / hashlib.sha256(name.encode()).hexdigest()[:24]

    def _remove_downloads(self) -> None:
        """Remove the downloads of interrupted pulls."""
        for folder in self.folder.glob("downloads/*/"):
            with suppress(Timeout), FileLock(lock_of(folder), timeout=0):
                _remove_folder(folder)

    def _layer(self, chain: str) -> Path:
        return self.folder / "layers" / chain / "fs"

    def _record(self, name: str) -> Path:
        # Escape slashes, so that a name is a single file name.
        return self.folder / "images" / f"{name.replace('%', '%25').replace('/', '%2F')}.json"

    def _entry(self, chain: str) -> dict[str, Any] | None:
        try:
            entry = json.loads((self.folder / "layers" / chain / "layer.json").read_bytes())
        except (OSError, ValueError):
            return None
        return dict(entry)

    def _entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in sorted(self.folder.glob("layers/*/layer.json")):
            entry = self._entry(path.parent.name)
            if entry is not None:
                yield path.parent.name, entry

    def _read_record(self, record: Path) -> Image | None:
        """Return the image of a record; None if the record or a layer is missing or damaged."""
        try:
            entry = json.loads(record.read_bytes())
            layers = tuple(self._layer(str(chain)) for chain in entry["layers"])
            image = Image(
                entry["name"], layers, entry["config"], entry["size"], record.stat().st_mtime
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return image if layers and all(layer.is_dir() for layer in layers) else None

    def _size_of(self, images: Iterable[Image]) -> int:
        needed = {layer.parent.name for image in images for layer in image.layers}
        return sum(entry["size"] for chain, entry in self._entries() if chain in needed)

    def _remove_layers(self, needed: set[str]) -> None:
        """Remove the layers that no image needs and no sandbox uses."""
        entries, opened = dict(self._entries()), {}
        try:
            for chain, entry in entries.items():
                if chain in needed:
                    continue
                descriptor = os.open(self._layer(chain).parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    opened[chain] = descriptor
                except OSError:  # a sandbox uses this layer, and so all layers below it
                    os.close(descriptor)
                    needed |= {chain, *entry["below"]}
            for chain in opened.keys() - needed:
                scratch = self.folder / "layers" / f"{SCRATCH}{chain}"
                os.rename(self._layer(chain).parent, scratch)
                _remove_folder(scratch)
        finally:
            for descriptor in opened.values():
                os.close(descriptor)


def _write(
    raw: Any,
    layer: PackedLayer,
    writer: LayerWriter,
    bounds: Bounds,
    watch: Callable[[int], Any],
) -> None:
    """Write a layer, and verify the digests of its packed and unpacked bytes."""
    packed = HashedStream(raw, bounds.size + (64 << 20))
    # A tar archive has the size of its files plus one or two kilobytes per header.
    unpacked = HashedStream(plain_stream(packed), bounds.size + bounds.files * 2048 + (1 << 20))
    with open_tar(fileobj=unpacked, mode="r|", tarinfo=BoundedHeader, errorlevel=2) as archive:  # type: ignore[call-overload]
        for member in archive:
            writer.add(archive, member)
            archive.members = []  # tarfile would keep every header in memory
            if writer.counts.files % 64 == 0:
                watch(packed.bytes_read)
    digest = unpacked.digest()
    check_end(archive, unpacked.bytes_read)
    watch(packed.bytes_read)
    if digest != layer.diff_id:
        raise DataError(
            f"expected a layer with content {layer.diff_id}, got {digest}; download the image again"
        )
    if layer.place.startswith("sha256:") and packed.digest() != layer.place:
        raise DataError(f"expected the blob {layer.place}, got other bytes; download it again")


def lock_of(downloads: Path) -> Path:
    """Return the lock of a download folder, which a pull holds."""
    return downloads.with_suffix(LOCK)


def _remove_folder(folder: Path) -> None:
    """Remove a folder, even if its entries' modes forbid it."""

    def retry(function: Callable[..., Any], path: str, _: Any) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            function(path)

    shutil.rmtree(folder, onerror=retry)
