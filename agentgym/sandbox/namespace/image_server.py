"""Process 1 of an image's sandbox, which finds changes in the overlay's writable layer.

So it need not record the initial state or walk the whole tree: a snapshot contains everything
written anywhere in the root, and takes time in proportion to it.
"""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentgym.sandbox import pid1
    from agentgym.sandbox.namespace import image_root
    from agentgym.sandbox.pid1 import Message
else:
    import image_root
    import pid1


class ImageServer(pid1.Server):
    """Answers requests; see :class:`pid1.Server`.

    Args:
        wire: The connection.
        owner: Descriptor of the process that owns the sandbox.
        oom_score: Descriptor of its own ``oom_score_adj``.
        folders: Descriptors of the writable layer, of ``/dev/shm``, and of the unchanged image.
    """

    def __init__(
        self, wire: pid1.Wire, owner: int | None, oom_score: int, folders: tuple[int, int, int]
    ) -> None:
        super().__init__(wire, owner, oom_score)
        self._changes, self._pristine = folders[:2], folders[2]
        self._root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def do_configure(self, request: Message) -> Message:
        """Store the settings; the initial state need not be recorded."""
        self.config, self.pristine = request, [{} for _ in request["places"]]
        self._workdir = os.path.realpath(request["workdir"]).strip("/")
        return {"shell": self.shell, "pid": os.getpid()}

    def do_changes(self, request: Message) -> Message | None:
        """Send the changed regular files of ``workdir``, like `pid1.Server.do_changes`."""
        workdir, room = self._workdir, request["total_bytes"]
        cut = len(workdir) + 1 if workdir else 0
        files: list[tuple[str, str]] = []
        hidden, inside = self._above(workdir)
        try:
            for path, status in self._walk(0, workdir or ".") if inside else ():
                if pid1._of_repository(path[cut:]):
                    continue
                if not stat.S_ISDIR(status.st_mode) or image_root._is_opaque(path):
                    hidden.append(path)  # of another type, or with other content
                fits = stat.S_ISREG(status.st_mode) and status.st_size <= min(
                    room, request["file_bytes"]
                )
                if fits and not self._is_same(path, status):
                    room -= status.st_size
                    files.append((path[cut:], path))
            old_files = {file for path in hidden for file in self._files_before(path)}
            deleted = [
                file[cut:]
                for file in sorted(old_files)
                if not pid1._of_repository(file[cut:]) and not stat.S_ISREG(_kind(self._root, file))
            ]
            if not files:
                return {"deleted": deleted}
            os.fchdir(self._changes[0])
            self._send_archive({"deleted": deleted}, files, "", b"")
        finally:
            os.chdir("/")
        return None

    def do_snapshot(self, request: Message) -> None:
        """Send everything written as a tar archive, for ``restore``."""
        deleted: list[str] = []
        members: list[tuple[int, str]] = []
        self.wire.send({"body": True})
        trailer: Message = {}
        try:
            for number in (0, 1):
                for path, status in self._walk(number, "."):
                    folder = stat.S_ISDIR(status.st_mode)
                    hides = stat.S_ISCHR(status.st_mode) or not folder
                    if hides or image_root._is_opaque(path):
                        deleted.append(f"{number}/{path}")
                    if not stat.S_ISCHR(status.st_mode):
                        members.append((number, path))
            with tarfile.open(
                fileobj=self._body(), mode="w|", format=tarfile.PAX_FORMAT
            ) as archive:
                data = json.dumps(deleted).encode("ascii")
                first = tarfile.TarInfo(pid1.DELETED)
                first.size = len(data)
                archive.addfile(first, io.BytesIO(data))
                for number, path in members:
                    os.fchdir(self._changes[number])
                    pid1._pack(archive, f"{number}/{path}", path, links=True)
        except (OSError, ValueError) as error:
            trailer = pid1._failure(error)
        finally:
            os.chdir("/")
        self.wire.finish(trailer)

    def _walk(self, number: int, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the entries written below a folder; changes the current directory."""
        os.fchdir(self._changes[number])  # a detached mount has no absolute paths
        waiting = [(folder, 0)]
        while waiting:  # not recursive: a command can nest thousands of folders
            parent, depth = waiting.pop()
            for name in sorted(_names_of(parent)):
                path = os.path.join(parent, name).removeprefix("./")
                status = os.lstat(path)
                yield path, status
                if stat.S_ISDIR(status.st_mode) and depth < pid1.DEPTH:
                    waiting.append((path, depth + 1))

    def _above(self, workdir: str) -> tuple[list[str], bool]:
        """Return the paths that hide the image's ``workdir``, and whether it is in the changes."""
        os.fchdir(self._changes[0])
        hidden: list[str] = []
        parts = workdir.split("/") if workdir else []
        for number in range(1, len(parts) + 1):
            path = "/".join(parts[:number])
            try:
                status = os.lstat(path)
            except OSError:
                return hidden, False
            if not stat.S_ISDIR(status.st_mode):
                return [workdir], False
            if image_root._is_opaque(path):
                hidden = [workdir]
        return hidden, True

    def _is_same(self, path: str, status: os.stat_result) -> bool:
        """Return whether the image has the same content at a path of the writable layer."""
        descriptor = _open_inside(self._pristine, path, os.O_RDONLY | os.O_NONBLOCK)
        if descriptor is None:
            return False
        with open(descriptor, "rb") as old:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size != status.st_size:
                return False
            try:
                with open(path, "rb") as new:
                    while data := old.read(pid1.CHUNK):
                        if data != new.read(pid1.CHUNK):
                            return False
            except OSError:
                return False
        return True

    def _files_before(self, path: str) -> Iterator[str]:
        """Yield the image's regular files at and below a path."""
        kind = _kind(self._pristine, path)
        if stat.S_ISREG(kind):
            yield path
        if not stat.S_ISDIR(kind):
            return
        descriptor = _open_inside(self._pristine, path, os.O_RDONLY | os.O_DIRECTORY)
        if descriptor is None:
            return
        try:
            for parent, _, names, folder in os.fwalk(dir_fd=descriptor):
                for name in names:
                    if stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode):
                        yield os.path.normpath(os.path.join(path, parent, name))
        finally:
            os.close(descriptor)


class CopyServer(pid1.Server):
    """The server if the image was copied, because the kernel does not support the overlay."""

    def do_changes(self, request: Message) -> Message | None:
        """Send the changed regular files of ``workdir``, by comparison with the recorded state."""
        config, pristine = self.config, self.pristine
        workdir = os.path.realpath(config["workdir"])
        start = f"{workdir}/".lstrip("/")
        marks = {
            path[len(start) :]: mark
            for path, mark in pristine[0].items()
            if path[: len(start)] == start
        }
        self.config, self.pristine = {**config, "places": [workdir]}, [marks]
        try:
            return super().do_changes(request)
        finally:
            self.config, self.pristine = config, pristine


def _open_inside(root: int, path: str, flags: int) -> int | None:
    """Open a path below a folder without following links; return None if that fails."""
    descriptor = os.dup(root)
    try:
        *parents, last = path.split("/")
        for name in parents:
            folder = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            above, descriptor = descriptor, os.open(name, folder, dir_fd=descriptor)
            os.close(above)
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _kind(root: int, path: str) -> int:
    """Return the file type at a path below a folder, without following links; 0: none."""
    descriptor = _open_inside(root, path, os.O_PATH)
    if descriptor is None:
        return 0
    try:
        return os.fstat(descriptor).st_mode
    finally:
        os.close(descriptor)


def _names_of(folder: str) -> list[str]:
    """List a folder of the sandbox's user, even if a command removed its permissions."""
    try:
        return os.listdir(folder)
    except PermissionError:
        os.chmod(folder, 0o700)
        return os.listdir(folder)
