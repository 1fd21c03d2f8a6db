"""OCI layouts and archives of ``docker save``, written entry by entry, whatever they hold."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.sandbox.images.reading import architecture

KIND = "application/vnd.oci.image."
TIME = 1_700_000_000
Fill = Callable[[tarfile.TarFile], None]


def entry(
    archive: tarfile.TarFile,
    name: str,
    content: bytes = b"",
    *,
    kind: bytes = tarfile.REGTYPE,
    mode: int = 0o644,
    uid: int = 0,
    link: str = "",
    major: int = 0,
) -> None:
    """Add one member to an archive."""
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.uid, member.gid = kind, mode, uid, uid
    member.linkname, member.size, member.mtime = link, len(content), TIME
    member.devmajor = major
    archive.addfile(member, io.BytesIO(content))


def folder(archive: tarfile.TarFile, name: str, mode: int = 0o755) -> None:
    """Add a folder to an archive."""
    entry(archive, name, kind=tarfile.DIRTYPE, mode=mode)


def layer(fill: Fill) -> bytes:
    """Return the archive of a layer."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        fill(archive)
    return buffer.getvalue()


def digest(data: bytes) -> str:
    """Return what content is called by."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def config_of(layers: Iterable[bytes], settings: Mapping[str, Any], **other: Any) -> bytes:
    """Return the config of an image."""
    config = {
        "architecture": architecture(), "os": "linux", "config": dict(settings),
        "rootfs": {"type": "layers", "diff_ids": [digest(archive) for archive in layers]}, **other,
    }  # fmt: skip
    return json.dumps(config).encode()


def write_layout(
    out: Path,
    layers: Sequence[bytes],
    settings: Mapping[str, Any] = {},
    *,
    name: str = "",
    packed: Callable[[bytes], bytes] = lambda data: gzip.compress(data, 1, mtime=0),
    **config: Any,
) -> Path:
    """Write an OCI layout as a folder, and return it."""
    blobs = out / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)

    def put(data: bytes, kind: str) -> dict[str, Any]:
        (blobs / digest(data).removeprefix("sha256:")).write_bytes(data)
        return {"mediaType": KIND + kind, "digest": digest(data), "size": len(data)}

    image_config = put(config_of(layers, settings, **config), "config.v1+json")
    layer_descriptors = [put(packed(archive), "layer.v1.tar+gzip") for archive in layers]
    manifest = {"schemaVersion": 2, "config": image_config, "layers": layer_descriptors}
    top = put(json.dumps(manifest).encode(), "manifest.v1+json")
    if name:
        top["annotations"] = {"org.opencontainers.image.ref.name": name}
    (out / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [top]}))
    return out


def write_saved(
    out: Path, layers: Sequence[bytes], settings: Mapping[str, Any] = {}, *, name: str = "a/b:1"
) -> Path:
    """Write an archive as ``docker save`` did before Docker 25, and return it."""
    config = config_of(layers, settings)
    with tarfile.open(out, "w") as archive:
        entry(archive, "config.json", config)
        places = []
        for data in layers:
            places.append(f"{digest(data)[7:19]}/layer.tar")
            entry(archive, places[-1], data)
        listed = [{"Config": "config.json", "RepoTags": [name], "Layers": places}]
        entry(archive, "manifest.json", json.dumps(listed).encode())
    return out
