"""The trees that clients sent to a sandbox server, by the digest of their archive."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path

from agentgym.sandbox.archives import unpack_tree

MOST = 1 << 32
"""Bytes of archives whose trees are kept while no box uses them."""


class Trees:
    """Unpacks archives into a folder of the server's own; safe for threads."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="agentgym-trees-"))
        self._sizes: dict[str, int] = {}  # the longest unused first
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, archive: bytes) -> str:
        """Unpack an archive, unless that was done before, and return its digest.

        Raises:
            DataError: It is no archive of a folder.
        """
        digest = hashlib.sha256(archive).hexdigest()
        with self._lock:
            if digest not in self._sizes:
                self._make_room(len(archive))
                folder = self._folder / digest
                folder.mkdir()
                try:
                    unpack_tree(archive, folder)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
                self._sizes[digest] = len(archive)
        return digest

    def hold(self, digest: str) -> Path | None:
        """Return the folder of a tree, which stays until it is released, or None."""
        with self._lock:
            if digest not in self._sizes:
                return None
            self._users[digest] += 1
            self._sizes[digest] = self._sizes.pop(digest)
            return self._folder / digest

    def release(self, digest: str) -> None:
        """Say that a tree is used once less."""
        with self._lock:
            self._users[digest] -= 1

    def close(self) -> None:
        """Remove all."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make_room(self, size: int) -> None:
        """Remove trees that nobody uses, until another fits."""
        for digest in list(self._sizes):
            if sum(self._sizes.values()) + size <= MOST:
                return
            if not self._users[digest]:
                shutil.rmtree(self._folder / digest, ignore_errors=True)
                del self._sizes[digest]
