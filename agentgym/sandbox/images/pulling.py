"""Pull images from a registry into the store without a daemon [OCI distribution specification 1.1].

Blobs are first written to the store's download folder. An interrupted transfer is resumed, even
after the process was killed; unpacked layers are not downloaded again; every blob is verified by
its digest.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import ipaddress
import json
import os
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import IO, Any, BinaryIO

from filelock import FileLock

from agentgym.errors import DataError
from agentgym.sandbox.base import SandboxUnavailable
from agentgym.sandbox.images.names import HUB_SERVER, canonical, reference
from agentgym.sandbox.images.reading import (
    LARGEST_JSON,
    PackedImage,
    check_digest,
    choose_manifest,
    packed_image,
    read_json,
)
from agentgym.sandbox.images.store import Image, ImageStore, Watch, lock_of
from agentgym.sandbox.images.streams import read_bounded

KINDS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
"""Accepted media types of manifests."""
TRIES = 6
"""Maximum number of attempts of a request or transfer."""
LONGEST_WAIT = 30.0
"""Maximum number of seconds between two attempts."""
TIMEOUT = 60.0
"""Timeout of a registry's answer, in seconds."""
BLOCK = 1 << 20


def pull(name: str, store: ImageStore, *, mirror: str = "", watch: Watch | None = None) -> Image:
    """Pull an image from its registry into a store.

    Args:
        name: The image.
        store: The store to unpack it into.
        mirror: Registry, optionally with a path, to pull images of the Docker Hub from.
        watch: Called with the progress.

    Raises:
        SandboxUnavailable: The registry cannot be reached, or refuses the image.
        DataError: The image is damaged, hostile, or for another kind of machine.
    """
    full_name = canonical(name)
    place = reference(full_name)
    if mirror and place.server == HUB_SERVER:
        place = reference(f"{mirror.strip('/')}/{place.repository}{_ending(place.version)}")
    registry = _Registry(name, place.server, place.repository)
    folder = store.downloads(full_name)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"expected to write to {folder}, got {error}; set AGENTGYM_CACHE to a writable folder"
        ) from error
    with FileLock(lock_of(folder)):
        image = _described(registry, place.version, folder)
        missing = [
            layer for layer, chain in store.chained(image.layers) if not store.has_layer(chain)
        ]
        total, offset = sum(layer.size for layer in missing), 0
        for layer in missing:
            registry.download(
                layer.place, layer.size, folder,
                lambda count, offset=offset: watch and watch("download", offset + count, total),
            )  # fmt: skip
            offset += layer.size
        stored_image = store.add(image, full_name, watch)
        shutil.rmtree(folder, ignore_errors=True)
    return stored_image


class PulledImages:
    """Provides images of a store on demand.

    Args:
        store: The store.
        mirror: As for `pull`.
    """

    def __init__(self, store: ImageStore, mirror: str = "") -> None:
        self._store, self._mirror = store, mirror

    def find(self, name: str) -> Image | None:
        """Return an image of the store, if it exists."""
        return self._store.find(name)

    def ensure(self, name: str) -> Image:
        """Return an image; pull it if it is missing.

        Raises:
            SandboxUnavailable: It is unavailable; the message gives the remedy.
        """
        image = self.find(name)
        return self.pull(name) if image is None else image

    def pull(self, name: str) -> Image:
        """Pull an image, even if the store has it.

        Raises:
            SandboxUnavailable: It is unavailable; the message gives the remedy.
        """
        try:
            return pull(name, self._store, mirror=self._mirror)
        except (SandboxUnavailable, DataError) as error:
            raise SandboxUnavailable(f"{error}. {how_to_bring(name)}") from error

    def total_size(self) -> int:
        """Return the total size of the store's images, in bytes."""
        return self._store.size()


def how_to_bring(name: str) -> str:
    """Explain how to add an image to the store."""
    return (
        f"Bring it with `agentgym images pull {name}`, or where no registry can be reached with "
        f"`docker save {name} -o FILE` elsewhere and `agentgym images load FILE` here"
    )


def _ending(version: str) -> str:
    return f"@{version}" if version.startswith("sha256:") else f":{version}"


def _described(registry: _Registry, version: str, folder: Path) -> PackedImage:
    """Return a registry's description of an image; its layers are opened from downloads."""

    def opened(place: str) -> BinaryIO:
        path = folder / check_digest(place).removeprefix("sha256:")
        if not path.exists():
            registry.download(place, 0, folder, lambda now: None)
        return path.open("rb")

    manifest = registry.manifest(version)
    if "manifests" in manifest:
        # The manifest for this machine is read from a list of manifests by its digest.
        def part(digest: str) -> BinaryIO:
            registry.keep_manifest(check_digest(digest), folder)
            return opened(digest)

        manifest = choose_manifest(manifest, part)
    return packed_image(manifest, opened)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to blob storage, without sending the registry's token there."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str,
        headers: Any, newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        new_request = super().redirect_request(req, fp, code, msg, headers, newurl)
        old_url, new_url = (urllib.parse.urlsplit(url) for url in (req.full_url, newurl))
        if old_url.scheme == "https" and new_url.scheme != "https":
            raise urllib.error.URLError(f"a redirect from https to {new_url.scheme}")
        if new_request is not None and old_url.netloc != new_url.netloc:
            new_request.headers.pop("Authorization", None)
        return new_request


class _Registry:
    """One repository of a registry."""

    def __init__(self, name: str, server: str, repository: str) -> None:
        self._name, self._server = name, server
        scheme = "http" if _is_loopback(server) else "https"
        self._base = f"{scheme}://{server}/v2/{repository}"
        self._repository = repository
        self._authorization = ""
        self._open_url = urllib.request.build_opener(_Redirects).open

    def manifest(self, version: str) -> dict[str, Any]:
        """Return the manifest of a tag or digest."""
        return read_json(self._manifest_bytes(version), "a manifest")

    def keep_manifest(self, digest: str, folder: Path) -> None:
        """Store a manifest of a digest among the blobs."""
        (folder / digest.removeprefix("sha256:")).write_bytes(self._manifest_bytes(digest))

    def download(self, digest: str, size: int, folder: Path, watch: Any) -> None:
        """Download a blob into a folder; resumes an interrupted transfer.

        Args:
            digest: Digest of the blob.
            size: Size in bytes; 0 if unknown, for small blobs.
            folder: The folder.
            watch: Called with the number of downloaded bytes.
        """
        check_digest(digest)
        target = folder / digest.removeprefix("sha256:")
        part = target.with_name(f"{target.name}.part")
        max_bytes, problem = size or LARGEST_JSON, "it ended too early"
        for number in range(TRIES):
            if target.exists():
                return
            if number:
                time.sleep(min(LONGEST_WAIT, 0.1 * 4**number))
            try:
                complete = self._continue(digest, part, max_bytes, watch)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise self._refused(error) from error
                problem = str(error) or type(error).__name__
                continue  # the next attempt resumes after the received bytes
            if (size and part.stat().st_size < size) or not complete:
                continue
            if _digest_of(part) != digest:
                part.unlink()
                raise DataError(
                    f"expected the blob {digest} of {self._name}, got other bytes from "
                    f"{self._server}; pull again, or from another registry"
                )
            os.replace(part, target)
        if not target.exists():
            raise SandboxUnavailable(
                f"expected to download {digest} of {self._name} from {self._server}, got: "
                f"{problem:.200}; run the command again to resume"
            )

    def _continue(self, digest: str, part: Path, max_bytes: int, watch: Any) -> bool:
        """Download the missing rest of a blob; return whether the response was complete."""
        with part.open("ab") as file:
            have = file.tell()
            if have == max_bytes:
                return True
            headers = {"Range": f"bytes={have}-"} if have else {}
            with self._get(f"/blobs/{digest}", headers) as answer:
                if have and answer.status != 206:  # no partial content: the server starts over
                    file.truncate(0)
                    have = 0
                while data := answer.read(BLOCK):
                    have += file.write(data)
                    watch(have)
                    if have > max_bytes:
                        raise DataError(
                            f"expected a blob of {max_bytes:,} bytes from {self._server}, got more"
                        )
                return not answer.length

    def _manifest_bytes(self, version: str) -> bytes:
        try:
            with self._get(f"/manifests/{version}", {"Accept": ", ".join(KINDS)}) as answer:
                data = read_bounded(answer, LARGEST_JSON, "a manifest")
        except urllib.error.HTTPError as error:
            raise self._refused(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise SandboxUnavailable(
                f"expected to reach the registry {self._server} for {self._name}, got: {error}; "
                "check the name and the network"
            ) from error
        if (
            version.startswith("sha256:")
            and version != f"sha256:{hashlib.sha256(data).hexdigest()}"
        ):
            raise DataError(f"expected the manifest {version} of {self._name}, got other bytes")
        return data

    def _get(self, path: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Send a GET request; log in if the registry requires it, and wait if it asks for that."""
        for number in range(TRIES):
            request = urllib.request.Request(self._base + path, headers=dict(headers))
            if self._authorization:
                request.add_header("Authorization", self._authorization)
            try:
                response: http.client.HTTPResponse = self._open_url(request, timeout=TIMEOUT)
                return response
            except urllib.error.HTTPError as error:
                last = number == TRIES - 1
                if error.code == 401 and not self._authorization:
                    self._authorization = self._login(error.headers)
                elif (error.code == 429 or error.code >= 500) and not last:
                    time.sleep(_wait(error.headers, number))
                else:
                    raise
        raise AssertionError  # the last try returns or raises

    def _login(self, headers: Message) -> str:
        """Return the Authorization header: a bearer token, or user name and password."""
        challenge = headers.get("WWW-Authenticate", "")
        kind, _, parameters = challenge.partition(" ")
        credentials = _credentials(self._server)
        if kind.lower() == "basic":
            return f"Basic {credentials}"
        fields = dict(re.findall(r'(?<!\w)(\w+)="([^"]*)"', parameters))
        realm = urllib.parse.urlsplit(fields.get("realm", ""))
        if realm.scheme != "https" and not _is_loopback(realm.netloc):
            raise SandboxUnavailable(
                f"expected {self._server} to name its token server by https, got {challenge!r:.200}"
            )
        scope = fields.get("scope") or f"repository:{self._repository}:pull"
        query = urllib.parse.urlencode({"service": fields.get("service", ""), "scope": scope})
        request = urllib.request.Request(f"{fields['realm']}?{query}")
        if credentials:
            request.add_header("Authorization", f"Basic {credentials}")
        with self._open_url(request, timeout=TIMEOUT) as answer:
            reply = read_json(read_bounded(answer, LARGEST_JSON, "a token"), "a token")
        return f"Bearer {reply.get('token') or reply.get('access_token', '')}"

    def _refused(self, error: urllib.error.HTTPError) -> SandboxUnavailable:
        """Explain why a registry refused the request, with the remedy."""
        remedies = {
            401: "log in with `docker login`, whose file is read here (DOCKER_CONFIG)",
            403: "log in with `docker login`, whose file is read here (DOCKER_CONFIG)",
            404: "see that the name is right, and private images need `docker login`",
            429: "the registry limits pulls: wait, log in with `docker login`, or name a mirror",
        }
        remedy = remedies.get(
            error.code, "try again, name a mirror, or bring the image with `agentgym images load`"
        )
        return SandboxUnavailable(
            f"expected the registry {self._server} to give {self._name}, got {error.code} "
            f"{error.reason}; {remedy}"
        )


def _is_loopback(server: str) -> bool:
    """Return whether a registry runs on this machine; like other engines, use no TLS then."""
    host = server.rpartition(":")[0] or server
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _credentials(server: str) -> str:
    """Return user name and password in base64, from the file of `docker login`; or ""."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        auths = json.loads((folder / "config.json").read_bytes())["auths"]
        names = [server, f"https://{server}"]
        names += ["https://index.docker.io/v1/", "docker.io"] if server == HUB_SERVER else []
        credentials = next((str(auths[name]["auth"]) for name in names if name in auths), "")
        base64.b64decode(credentials, validate=True)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return ""
    return credentials


def _wait(headers: Message, number: int) -> float:
    """Return the seconds to wait before the next attempt: ``Retry-After``, or exponential."""
    seconds = headers.get("Retry-After", "")
    return min(LONGEST_WAIT, float(seconds) if seconds.isdigit() else 0.5 * 2**number)


def _digest_of(path: Path) -> str:
    result = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            result.update(data)
    return f"sha256:{result.hexdigest()}"
