"""Read images: OCI layouts, as folder or tar, and archives of ``docker save``.

The formats are those of the OCI image specification 1.1 (image-layout, manifest, config) and of
Docker's archives; before Docker 25 these have a ``manifest.json`` and no index.
"""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from agentgym.errors import DataError
from agentgym.sandbox.images.streams import BoundedHeader, read_bounded
from agentgym.support.strict_json import parse_json

LARGEST_JSON = 8 << 20
"""Maximum size of an index, a manifest or a config, in bytes."""
MOST_MEMBERS = 200_000
"""Maximum number of members of an archive of images."""
DEPTH = 4
"""Maximum nesting of indexes."""
MACHINES: Mapping[str, str] = {"x86_64": "amd64", "aarch64": "arm64"}
"""Machine -> its architecture's name in images."""
REFERENCES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
"""Annotations of an index that name an image."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
Opener = Callable[[str], BinaryIO]
"""Opens a blob by its digest, or by its path in an old archive."""


@dataclass(frozen=True)
class PackedLayer:
    """A packed layer in an archive or a registry."""

    place: str
    """Digest of its packed bytes, or its path in an old archive without digests."""
    diff_id: str
    """Digest of its unpacked bytes."""
    size: int
    """Packed size, in bytes, if known; otherwise 0."""


@dataclass(frozen=True)
class PackedImage:
    """An image that can be unpacked."""

    config: Mapping[str, Any]
    """The settings of the image: ``Env``, ``User``, ``WorkingDir`` and others."""
    layers: tuple[PackedLayer, ...]
    """Its layers, lowest first."""
    open: Opener
    """Opens a layer by its ``place``."""


def architecture() -> str:
    """Return the architecture of this machine, by its name in images."""
    machine = os.uname().machine
    return MACHINES.get(machine, machine)


def check_digest(digest: Any) -> str:
    """Check a digest; only SHA-256 is supported.

    Raises:
        DataError: It is not such a digest.
    """
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise DataError(f"expected a digest sha256:<64 hex digits>, got {digest!r:.100}")
    return digest


def read_json(data: bytes, subject: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        DataError: It is not a JSON object.
    """
    try:
        document = parse_json(data)
    except ValueError as error:
        raise DataError(f"expected {subject} as JSON, got {error!s:.120}") from error
    if not isinstance(document, dict):
        raise DataError(f"expected {subject} as a JSON object, got {type(document).__name__}")
    return document


def read_blob(open_blob: Opener, digest: Any, subject: str) -> dict[str, Any]:
    """Return a JSON object after verifying its digest.

    Raises:
        DataError: The digest differs.
    """
    with open_blob(check_digest(digest)) as file:
        data = read_bounded(file, LARGEST_JSON, subject)
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
        raise DataError(f"expected {subject} to be {digest}, got other content; download it again")
    return read_json(data, subject)


def packed_image(manifest: Mapping[str, Any], open_blob: Opener) -> PackedImage:
    """Return the image of a manifest.

    Raises:
        DataError: The manifest or the config is invalid, or for another system or machine.
    """
    try:
        config = read_blob(open_blob, manifest["config"]["digest"], "the config of an image")
        layers = [
            (check_digest(layer["digest"]), int(layer.get("size", 0)))
            for layer in manifest["layers"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"expected the manifest of an image, got one with {error!r:.100}"
        ) from error
    return _with_config(config, layers, open_blob)


def choose_manifest(index: Mapping[str, Any], open_blob: Opener, depth: int = 0) -> dict[str, Any]:
    """Return the manifest for this machine from an index.

    Raises:
        DataError: There is no such manifest.
    """
    for entry in _entries(index):
        platform = entry.get("platform") or {}
        fits = platform.get("os", "linux") == "linux"
        if fits and platform.get("architecture", architecture()) == architecture():
            manifest = read_blob(open_blob, entry.get("digest"), "the manifest of an image")
            if "manifests" not in manifest:
                return manifest
            if depth < DEPTH:
                return choose_manifest(manifest, open_blob, depth + 1)
    raise DataError(
        f"expected an image for linux/{architecture()}, got none; use the variant for this machine"
    )


@contextmanager
def opened_image(source: Path, name: str = "") -> Iterator[tuple[str, PackedImage]]:
    """Yield an image of a folder or file, and its name there (or "").

    Args:
        source: An OCI layout, as folder or tar, or an archive of ``docker save``.
        name: Selects one of several images.

    Raises:
        DataError: It is none of these, or has several images and none of this ``name``.
    """
    if source.is_dir():
        yield _from_index(_index_of(source), lambda digest: _open_blob(source, digest), name)
        return
    try:
        with tarfile.open(source, "r:", tarinfo=BoundedHeader) as archive:
            yield _from_archive(archive, name)
    except (tarfile.TarError, EOFError) as error:
        raise DataError(
            f"expected an OCI layout or an archive of `docker save` in {source}, got {error}; "
            "unpack it first if it is packed (gunzip, unzstd)"
        ) from error
    except FileNotFoundError as error:
        raise DataError(f"expected an image in {source}, got no such file") from error


def _index_of(folder: Path) -> dict[str, Any]:
    try:
        with (folder / "index.json").open("rb") as file:
            return read_json(read_bounded(file, LARGEST_JSON, "index.json"), "index.json")
    except OSError as error:
        raise DataError(
            f"expected an OCI layout with an index.json in {folder}, got {error}"
        ) from (error)


def _open_blob(folder: Path, digest: str) -> BinaryIO:
    path = folder / "blobs" / "sha256" / check_digest(digest).removeprefix("sha256:")
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"expected the blob {digest} in {folder}, got {error}") from error


def _from_archive(archive: tarfile.TarFile, name: str) -> tuple[str, PackedImage]:
    """Return the image of an archive; links in it can only refer to other members."""
    members: dict[str, tarfile.TarInfo] = {}
    for member in archive:
        members[member.name.removeprefix("./")] = member
        if len(members) > MOST_MEMBERS:
            raise DataError(f"expected at most {MOST_MEMBERS:,} members, got more")

    def opened(place: str) -> BinaryIO:
        kind, _, value = place.partition(":")
        path = f"blobs/sha256/{value}" if kind == "sha256" else place
        try:  # follows links of old archives, to other members only
            file = archive.extractfile(members[path])
        except KeyError:
            file = None
        if file is None:
            raise DataError(f"expected the file {path!r:.120} in the archive, got none")
        return file  # type: ignore[return-value]

    def parsed(place: str) -> Any:
        with opened(place) as file:
            return parse_json(read_bounded(file, LARGEST_JSON, place))

    try:
        if "index.json" in members:
            return _from_index(parsed("index.json"), opened, name)
        return _from_old(parsed("manifest.json"), parsed, opened, name)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"expected the list of an archive's images, got {error!r:.120}") from error


def _from_index(index: Mapping[str, Any], opened: Opener, name: str) -> tuple[str, PackedImage]:
    """Return the image of an index, selected by name if there are several."""
    named: dict[str, list[dict[str, Any]]] = {}
    for entry in _entries(index):
        notes = entry.get("annotations") or {}
        label = next((str(notes[key]) for key in REFERENCES if notes.get(key)), "")
        named.setdefault(label, []).append(entry)
    full_name = _choose_name(tuple(named), name)
    manifest = choose_manifest({"manifests": named[full_name]}, opened)
    return full_name, packed_image(manifest, opened)


def _from_old(
    listed: Any, parsed: Callable[[str], Any], opened: Opener, name: str
) -> tuple[str, PackedImage]:
    """Return the image of an archive of Docker before 25, where only the config has digests."""
    named = {tag: image for image in listed for tag in image.get("RepoTags") or [""]}
    full_name = _choose_name(tuple(named), name)
    entry = named[full_name]
    config = parsed(str(entry["Config"]))
    return full_name, _with_config(config, [(str(place), 0) for place in entry["Layers"]], opened)


def _choose_name(names: tuple[str, ...], name: str) -> str:
    """Return the selected name of an archive's names."""
    if name in names:
        return name
    if len(names) == 1:
        return names[0]
    choices = ", ".join(filter(None, names)) or "nothing"
    raise DataError(f"expected one image, or the name of one, got {name!r} of: {choices[:500]}")


def _entries(index: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries = index.get("manifests")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError("expected an index of images, got one without a list of manifests")
    return entries


def _with_config(
    config: Mapping[str, Any], layers: list[tuple[str, int]], opened: Opener
) -> PackedImage:
    """Return an image after checking that its config fits its layers and this machine."""
    root = config.get("rootfs")
    ids = root.get("diff_ids") if isinstance(root, dict) else None
    system = config.get("os") or "linux", config.get("architecture") or architecture()
    if system != ("linux", architecture()):
        raise DataError(
            f"expected an image for linux/{architecture()}, got {'/'.join(map(str, system))}"
        )
    if not isinstance(ids, list) or len(ids) != len(layers) or not ids:
        raise DataError(
            f"expected a digest (rootfs.diff_ids) for each of {len(layers)} layers, got {ids!r:.90}"
        )
    settings = config.get("config") or {}
    if not isinstance(settings, dict):
        raise DataError(f"expected the settings of an image as an object, got {settings!r:.80}")
    packed = (
        PackedLayer(place, check_digest(diff_id), size)
        for (place, size), diff_id in zip(layers, ids, strict=True)
    )
    return PackedImage(settings, tuple(packed), opened)
