"""Run commands one by one in a container without Python, by calls of the engine.

It answers the requests of :class:`~agentgym.sandbox.channel.Channel`, like the server. Its
guarantees are weaker: a process killed by a signal looks like one that exited with 128 or more,
leftover processes are killed but not counted, a command that kills or stops the shell around it
runs into its timeout, and there are no snapshots.
"""

from __future__ import annotations

import io
import posixpath
import shlex
import tarfile
import time
from collections.abc import Callable
from typing import Any

from agentgym.errors import NotSupported
from agentgym.sandbox.base import SandboxDied
from agentgym.sandbox.channel import CHUNK, LARGEST, Channel, packed, unpacked
from agentgym.sandbox.docker import orphans
from agentgym.sandbox.docker.attached import AttachedStream
from agentgym.sandbox.docker.engine import DockerEngine
from agentgym.sandbox.pid1 import Output

KEEPER = """\
while read -r line; do
  kill -9 -1
  sleep 0
  kill -9 -1
  echo
done 2>/dev/null"""
"""Process 1: for each line that it reads it kills and reaps all other processes, and reports it.

Process 1 of a namespace cannot be killed or stopped from within. It ends with its input, and the
container with it.
"""
AROUND = 'exec 3>&1 2>/dev/null; "$0" -c "$1" >&3 2>&3 3>&-; status=$?; kill -9 -1; exit $status'
"""Runs a command, and kills leftover processes, which could keep its output open."""
KEEPING = 'exec 3>&1 2>/dev/null; exec "$0" -c "$1" >&3 2>&3 3>&-'
"""Runs a command, and lets leftover processes live."""
LOOK = 0.2
"""Interval in seconds at which to check whether a command has ended, if its processes may outlive
it."""
GONE = 2
"""Kind of a change: the image has a file or folder that the container lacks."""
KILLED = -9
"""Exit code of a command that was killed for its duration or output."""


class ShellChannel(Channel):
    """Answers requests to a container with the keeper as process 1.

    Args:
        stream: The connection to process 1.
        engine: The engine.
        container: Id of the container.
    """

    def __init__(self, stream: AttachedStream, engine: DockerEngine, container: str) -> None:
        super().__init__(stream)
        self._engine = engine
        self._container = container
        self._settings: dict[str, Any] = {}
        self._tree: list[str] | None = None
        self._shell = "/bin/sh"

    def call(
        self, operation: str, *, seconds: float = 60.0, body: bytes | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Execute a request."""
        operations: dict[str, Callable[..., dict[str, Any]]] = {
            "configure": self._configure, "exec": self._exec, "read": self._read_file,
            "write": self._write, "put": self._put, "changes": self._changes,
        }  # fmt: skip
        if operation not in operations:
            raise NotSupported(
                "expected an image with python3, which snapshots need, got one without; replay the "
                "episode, or use an image with python3"
            )
        try:
            return operations[operation](body=body, **fields)
        except self._engine.errors.DockerException as error:
            self.close()
            raise SandboxDied(
                f"expected the container to execute {operation!r}, got: {str(error)[:300]}; "
                "reset the sandbox"
            ) from error

    def _configure(self, **settings: Any) -> dict[str, Any]:
        """Store the settings, and find out which shell the image has."""
        self._settings = settings
        text = f"mkdir -p {shlex.quote(settings['workdir'])}; command -v bash"
        answer = self._exec(body=None, command=text, timeout=60.0, cwd="/", env={})
        if answer["exit_code"] == 0:
            self._shell = unpacked(answer["output"]).decode().strip()
        return {"python": None, "shell": self._shell, "pid": 1}

    def _exec(
        self, *, body: None, command: str, timeout: float, cwd: str, env: dict[str, str]
    ) -> dict[str, Any]:
        """Run a command."""
        begin = time.monotonic()
        api, settings = self._engine.api, self._settings
        background = settings.get("background", False)
        execution = api.exec_create(
            self._container,
            ["/bin/sh", "-c", KEEPING if background else AROUND, self._shell, command],
            environment={**settings["environment"], **env},
            workdir=posixpath.join(settings["workdir"], cwd),
        )
        stream = AttachedStream(api.exec_start(execution["Id"], socket=True), together=True)
        output = Output(settings["kept_output"])
        try:
            running = execution["Id"] if background else ""
            reason = self._collect(stream, output, begin + timeout, running)
            # The processes of this command cannot be told from earlier background processes.
            if background and reason:
                self._sweep()
        finally:
            # Leftover processes may keep the other end of the stream open.
            if not background:
                self._sweep()
            stream.close()
        status = KILLED if reason else api.exec_inspect(execution["Id"])["ExitCode"]
        return {
            "exit_code": KILLED if status is None else status,
            "output": packed(output.joined()),
            "truncated": output.left_out,
            "timed_out": reason == "time",
            "flooded": reason == "output",
            "exhausted": False,
            "killed": 0,
            "seconds": time.monotonic() - begin,
            "running": 0,
        }

    def _collect(
        self, stream: AttachedStream, output: Output, deadline: float, running: str
    ) -> str:
        """Collect a command's output until it ends.

        Args:
            stream: Stream of the output.
            output: Collects the output.
            deadline: Monotonic time at which the command must end.
            running: The command's id in the engine, if the stream may outlive the command.

        Returns:
            Why the command must be killed; empty if it ended.
        """
        while (seconds_left := deadline - time.monotonic()) > 0:
            if output.total > self._settings["output"]:
                return "output"
            # Background processes keep the stream open: only the engine knows that the command
            # ended.
            stream.settimeout(min(seconds_left, LOOK) if running else seconds_left)
            try:
                data = stream.recv(CHUNK)
            except TimeoutError:
                if not running:
                    break
                if not self._engine.api.exec_inspect(running)["Running"]:
                    return ""
                continue
            if not data:
                return ""
            output.add(data)
        return "time"

    def _sweep(self) -> None:
        """Let process 1 kill all other processes."""
        try:
            self._stream.settimeout(60.0)
            self._stream.sendall(b"\n")
            alive = self._stream.recv(1)
        except OSError:
            alive = b""
        if not alive:
            self.close()
            raise SandboxDied("expected a running container, but it ended; reset the sandbox")

    def _read_file(self, *, body: None, path: str, max_bytes: int) -> dict[str, Any]:
        """Return the beginning of a regular file."""
        name = shlex.quote(posixpath.join(self._settings["workdir"], path))
        status, content = self._run(f"[ -f {name} ] && head -c {int(max_bytes)} -- {name}")
        if status:
            raise FileNotFoundError(2, f"no regular file: {path!r}")
        return {"content": packed(content)}

    def _write(self, *, body: None, path: str, content: str, mode: int) -> dict[str, Any]:
        """Write a file."""
        folder, name = posixpath.split(posixpath.join(self._settings["workdir"], path))
        data = unpacked(content)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo(name)
            # Build tools compare times: a new file must not look older than what was built from it.
            entry.size, entry.mode, entry.mtime = len(data), mode, int(time.time())
            archive.addfile(entry, io.BytesIO(data))
        return self._put(body=buffer.getvalue(), folder=folder)

    def _put(self, *, body: bytes | None, folder: str, pristine: bool = False) -> dict[str, Any]:
        """Unpack an archive in a folder, which is emptied first for the tree (``pristine``)."""
        name, clear = shlex.quote(folder), ""
        if pristine:
            with tarfile.open(fileobj=io.BytesIO(body or b""), mode="r:") as archive:
                self._tree = [member.name for member in archive if member.isreg()]
            clear = f"rm -rf {name} && "
        status, output = self._run(f"{clear}mkdir -p {name}")
        if status or not self._engine.api.put_archive(self._container, folder, body):
            raise OSError(5, f"cannot write to {folder}: {output[:200]!r}")
        return {}

    def _changes(self, *, body: None, file_bytes: int, total_bytes: int) -> dict[str, Any]:
        """Return the changed files below ``workdir``; all files if the client compares a tree."""
        workdir = self._settings["workdir"]
        changes = self._engine.api.diff(self._container) or ()
        changed = {change["Path"] for change in changes if change["Kind"] != GONE}
        present, files = set(), []
        for member, content in self._archive(workdir):
            path = member.name.partition("/")[2]
            present.add(path)
            if ".git" in path.split("/") or len(content) > min(file_bytes, total_bytes):
                continue
            if self._tree is not None or f"{workdir}/{path}" in changed:
                total_bytes -= len(content)
                files.append((path, content))
        old_tree = self._tree
        if old_tree is None:
            prefix = workdir.rstrip("/") + "/"
            deleted = [change["Path"] for change in changes if change["Kind"] == GONE]
            old_tree = self._pristine(
                [path for path in deleted if path.startswith(prefix)], workdir
            )
        deleted = [
            path for path in old_tree if path not in present and ".git" not in path.split("/")
        ]
        return {"deleted": sorted(deleted), "body": _packed_files(files)}

    def _pristine(self, paths: list[str], workdir: str) -> list[str]:
        """Return the files that the image has at or below some paths, relative to ``workdir``."""
        if not paths:
            return []
        api = self._engine.api
        image = api.inspect_container(self._container)["Image"]
        fresh = api.create_container(image, ["/bin/sh"], labels=orphans.labels())["Id"]
        try:
            return [
                posixpath.relpath(posixpath.join(posixpath.dirname(path), member.name), workdir)
                for path in paths
                for member, _ in self._archive(path, fresh)
            ]
        finally:
            orphans.remove(self._engine, fresh)

    def _archive(self, folder: str, container: str = "") -> list[tuple[tarfile.TarInfo, bytes]]:
        """Return the regular files below a folder."""
        blocks, _ = self._engine.api.get_archive(container or self._container, folder)
        data = io.BytesIO()
        for block in blocks:
            data.write(block)
            # What a sandbox holds can be of any size.
            if data.tell() > LARGEST:
                raise OSError(27, f"more than {LARGEST:,} bytes below {folder}")
        data.seek(0)
        files = []
        with tarfile.open(fileobj=data, mode="r:") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None:
                    files.append((member, content.read()))
        return files

    def _run(self, command: str) -> tuple[int, bytes]:
        """Run an internal command; return its status and output."""
        answer = self._exec(body=None, command=command, timeout=60.0, cwd="/", env={})
        return answer["exit_code"], unpacked(answer["output"])


def _packed_files(files: list[tuple[str, bytes]]) -> bytes:
    """Return files as an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in files:
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
