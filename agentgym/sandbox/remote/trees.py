"""Cache of the trees that clients sent to a sandbox server, by the digest of their archive."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path

from agentgym.sandbox.archives import unpack_tree

MOST = 1 << 32
"""Maximum total size of the cached archives, in bytes; trees in use are kept beyond it."""


class Trees:
    """Unpacks archives into a temporary folder of the server; thread-safe."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="agentgym-trees-"))
        self._sizes: dict[str, int] = {}  # least recently used first
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, archive: bytes) -> str:
        """Unpack an archive, unless that was done before, and return its digest.

        Raises:
            DataError: It is not an archive of a folder.
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
        """Return the folder of a tree, or None; it is kept until `release` is called."""
        with self._lock:
            if digest not in self._sizes:
                return None
            self._users[digest] += 1
            self._sizes[digest] = self._sizes.pop(digest)
            return self._folder / digest

    def release(self, digest: str) -> None:
        """End one use of a tree."""
        with self._lock:
            self._users[digest] -= 1

    def close(self) -> None:
        """Remove all trees."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make_room(self, size: int) -> None:
        """Remove unused trees until another one fits."""
        for digest in list(self._sizes):
            if sum(self._sizes.values()) + size <= MOST:
                return
            if not self._users[digest]:
                shutil.rmtree(self._folder / digest, ignore_errors=True)
                del self._sizes[digest]
