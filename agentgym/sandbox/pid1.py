"""The server that is process 1 of a sandbox: runs commands, and kills the processes they leave.

It is one long file without imports from agentgym, because a container receives only this text, and
it supports the standard library of Python 3.6 and later, because container images have old
interpreters. ``python3 -I -S pid1.py`` reads requests from standard input and answers on standard
output; :func:`serve` uses open descriptors instead.

A message is its length (four bytes, big endian) and a JSON object. An object with ``"body": true``
is followed by chunks, each with its length, up to an empty one. After the body of an answer comes
one more message, which is empty or contains the error that cut the body short. The first request is
``configure``; the other operations are the methods of :class:`Server` with the prefix ``do_``. One
request is answered at a time. When the stream closes, the server ends, and with process 1 the
kernel ends everything in its namespace.
"""

import binascii
import errno
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import time
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # importing typing would add a tenth to this process's memory
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    Message = dict[str, Any]
    Mark = tuple[Any, ...]
    Running = set[tuple[int, int]]

CHUNK = 1 << 16
LOOK = 0.1
"""Interval between two checks of a command's memory, in seconds, if no cgroup limits it."""
NICE = 5
"""Niceness of commands above that of this process, so that it stays responsive."""
MOST_PIPES = 64
"""Maximum number of pipes of background processes that are read; writing to older ones fails."""
DEPTH = 64
"""Maximum nesting of folders that are inspected; deeper ones are left out."""
REPOSITORY = ".git"
DELETED = "deleted"
"""Member of a snapshot that lists the deleted paths; all others begin with a place's number."""
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38


class PeerGone(Exception):
    """The client has closed the stream."""


class Wire:
    """Messages and bodies on a pair of descriptors."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self._sink = sink
        self._body_left = 0
        self._ended = True

    def receive(self) -> "Message":
        """Wait for the next message."""
        (size,) = struct.unpack(">I", self._exactly(4))
        message = json.loads(self._exactly(size).decode("ascii"))
        self._body_left, self._ended = 0, not message.get("body")
        return dict(message)

    def send(self, message: "Message") -> None:
        """Send one message."""
        data = json.dumps(message).encode("ascii")
        self._put(struct.pack(">I", len(data)) + data)

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes of the body that follows a message; empty at its end."""
        if not self._body_left and not self._ended:
            (self._body_left,) = struct.unpack(">I", self._exactly(4))
            self._ended = not self._body_left
        data = self._exactly(min(size, self._body_left))
        self._body_left -= len(data)
        return data

    def skip(self) -> None:
        """Skip the rest of a body."""
        while self.read(CHUNK):
            pass

    def write(self, data: bytes) -> int:
        """Send a piece of a body."""
        if data:
            self._put(struct.pack(">I", len(data)) + bytes(data))
        return len(data)

    def finish(self, trailer: "Message") -> None:
        """End a body."""
        self._put(struct.pack(">I", 0))
        self.send(trailer)

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self.source, min(size, 1 << 20))
            if not part:
                raise PeerGone
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._sink, view) :]
        except (BrokenPipeError, ConnectionResetError):
            raise PeerGone from None


class Output:
    """The beginning and the end of a command's output, within a size limit."""

    def __init__(self, bound: int) -> None:
        self._half = bound // 2
        self._head = b""
        self._tail = b""
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add the next bytes of output."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        if len(data) > room:
            self._tail = (self._tail + data[room:])[-self._half :] if self._half else b""

    @property
    def left_out(self) -> int:
        """Number of bytes between the two stored ends."""
        return self.total - len(self._head) - len(self._tail)

    def joined(self) -> bytes:
        """Return both ends, with a marker between them if bytes are left out."""
        if not self.left_out:
            return self._head + self._tail
        marker = f"\n[... {self.left_out} bytes left out ...]\n"
        return self._head + marker.encode("ascii") + self._tail


class Server:
    """Answers requests until the stream closes."""

    def __init__(
        self, wire: Wire, owner: "int | None" = None, oom_score: "int | None" = None
    ) -> None:
        self.wire = wire
        self.owner = owner
        self.config: Message = {}
        self.shell = next(
            (path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh"
        )
        # Handlers that do nothing. An ignored signal would also be ignored by commands, which
        # inherit that; without a SIGCHLD handler, the interpreter would not write to the wake-up
        # descriptor; and SIGINT would end this process.
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._wake, False)
        for number in (
            signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGUSR1,
        ):  # fmt: skip
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(wake, **({"warn_on_full_buffer": False} if _newer(3, 7) else {}))
        for name in os.listdir("/dev/fd"):  # all of them: the connection can have any number
            with suppress(OSError):  # the descriptor of the listing itself is already closed
                if int(name) > 2:
                    os.set_inheritable(int(name), False)
        self._child = 0
        self._pipes: list[int] = []  # pipes that background processes may still write to
        self._services = 0  # number of background processes after the last command
        self._last_look = 0.0  # last check of their memory, between commands
        if os.getpid() != 1:
            _prctl(PR_SET_CHILD_SUBREAPER, 1)  # adopt orphans of commands, as process 1 does
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        self._oom_score = _open_oom_score() if oom_score is None else oom_score
        _prctl(PR_SET_DUMPABLE, 0)  # commands must not read this process's memory

    def run(self) -> "NoReturn":
        """Answer requests; end with the stream or with its owner."""
        try:
            while True:
                self._wait()
                self._answer(self.wire.receive())
        except PeerGone:
            self._kill()
        finally:
            os._exit(0)

    def _wait(self) -> None:
        """Wait for a request or the owner's end; watch background processes in the meantime."""
        while True:
            poller = select.poll()
            for descriptor in (self.wire.source, self.owner, *self._pipes):
                if descriptor is not None:
                    poller.register(descriptor, select.POLLIN)
            memory = self.config["memory"] if self._services else 0
            ready = [descriptor for descriptor, _ in poller.poll(1000 * LOOK if memory else None)]
            if self.owner in ready:
                raise PeerGone
            if memory and time.monotonic() - self._last_look >= LOOK:
                if _exceeds(memory):
                    self._kill()
                    self._services = 0
                self._last_look = time.monotonic()
            if self.wire.source in ready:
                return
            for pipe in ready:
                self._discard(pipe)

    def _discard(self, pipe: int) -> bool:
        """Discard what background processes print; return whether their pipe is still open."""
        with suppress(BlockingIOError):
            if not os.read(pipe, CHUNK):
                self._pipes.remove(pipe)
                os.close(pipe)
                return False
        return True

    def _answer(self, request: "Message") -> None:
        """Execute a request and send the answer; an exception is sent as an answer, too."""
        try:
            answer = getattr(self, "do_" + str(request["op"]))(request)
        except PeerGone:
            raise
        except Exception as error:  # e.g. a path is too deep, or memory runs out
            answer = _failure(error)
        if request.get("body"):
            self.wire.skip()
        if answer is not None:
            self.wire.send(answer)

    def do_configure(self, request: "Message") -> "Message":
        """Store the settings, and record the initial state of the places.

        The settings are ``workdir``, ``environment``, ``rlimits`` (name -> value), ``memory``
        (limit in bytes of all processes together; 0 if it is enforced elsewhere), ``background``
        (whether processes may outlive their command), ``output``, ``kept_output`` and ``places``:
        the writable folders, ``workdir`` first.
        """
        self.config = request
        for place in request["places"]:
            os.makedirs(place, exist_ok=True)
        self.pristine = [dict(_marks(place)) for place in request["places"]]
        return {"python": list(sys.version_info[:3]), "shell": self.shell, "pid": os.getpid()}

    def do_exec(self, request: "Message") -> "Message":
        """Run ``command`` for at most ``timeout`` seconds, in ``cwd``, with ``env``."""
        begin = time.monotonic()
        output = Output(self.config["kept_output"])
        background = self.config.get("background")
        old_processes = _running() if background else set()
        status: int | None
        reader, writer = os.pipe()
        left_open = False
        with suppress(BlockingIOError):  # discard an interrupt that came after the last command
            os.read(self._wake, 4096)
        try:
            self._child = self._start(request, writer)
            os.close(writer)
            status, reason = 126 << 8, ""
            if self._child:
                status, reason = self._watch(reader, output, begin + request["timeout"])
            if background and status is not None:
                killed = 0
            elif background:
                killed, status = self._kill_since(old_processes)
            else:
                killed, status = self._kill(status)
            os.set_blocking(reader, False)
            drained = _drain(reader, output, self.config["output"])
            left_open = bool(background) and not drained
        finally:
            if left_open:
                self._keep_pipe(reader)
            else:
                os.close(reader)
        self._services = len(_running()) if background else 0
        return {
            "exit_code": _exit_code(status),
            "output": _packed(output.joined()),
            "truncated": output.left_out,
            "timed_out": reason == "time",
            "flooded": reason == "output",
            "exhausted": reason == "memory",
            "killed": killed,
            "seconds": time.monotonic() - begin,
            "running": self._services,
        }

    def _keep_pipe(self, reader: int) -> None:
        """Continue to read the output of a command's background processes."""
        self._pipes.append(reader)
        if len(self._pipes) > MOST_PIPES:
            os.close(self._pipes.pop(0))

    def _start(self, request: "Message", writer: int) -> int:
        """Start the command; return its process id, or 0 after printing why it failed to start."""
        variables = {**self.config["environment"], **(request.get("env") or {})}
        environment = {_encoded(name): _encoded(value) for name, value in variables.items()}
        name = os.path.basename(self.shell)
        arguments = [_encoded(name), b"-c", _encoded(request["command"])]
        try:
            # Set inherited limits here and not in the fork, where each step copies memory pages.
            for kind, value in self.config["rlimits"].items():
                _limit(getattr(resource, "RLIMIT_" + kind), value)
            os.chdir(self._path(request.get("cwd") or ""))
            with _offered_to_oom_killer(self._oom_score):
                return _spawn(self.shell, arguments, environment, writer)
        except (OSError, ValueError) as error:
            os.write(writer, _complaint(error))
            return 0
        finally:
            # Else this process would keep a folder of the sandbox busy.
            os.chdir("/")

    def _watch(self, reader: int, output: Output, deadline: float) -> "tuple[int | None, str]":
        """Collect output until the command ends; return its status, or why it must be killed."""
        poller = select.poll()
        for descriptor in (reader, self._wake, self.wire.source, self.owner, *self._pipes):
            if descriptor is not None:
                poller.register(descriptor, select.POLLIN)
        memory = self.config["memory"]
        look = time.monotonic() + LOOK if memory else deadline
        while True:
            now = time.monotonic()
            if now >= deadline:
                return None, "time"
            if output.total > self.config["output"]:
                return None, "output"
            if now >= look:
                if _exceeds(memory):
                    return None, "memory"
                look = time.monotonic() + LOOK
            # 1 ms more: waits that end just before the deadline would spin.
            for descriptor, _ in poller.poll((min(deadline, look) - now) * 1000 + 1):
                if descriptor == self._wake:
                    signals = os.read(self._wake, 4096)
                    # Before the signals: a command that has ended cannot be interrupted.
                    status = _reap(self._child)
                    if status is not None:
                        return status, ""
                    if signal.SIGUSR1 in signals:
                        return None, "interrupt"
                elif descriptor in self._pipes:
                    if not self._discard(descriptor):
                        poller.unregister(descriptor)
                elif descriptor == reader:
                    data = os.read(reader, CHUNK)
                    output.add(data)
                    if not data:
                        poller.unregister(reader)
                else:  # no request may come during a command, so the client has disconnected
                    raise PeerGone

    def _kill(self, status: "int | None" = None) -> "tuple[int, int]":
        """Kill and reap all processes; return their number without the command, and its status."""
        # Count them before killing: a dying shell may still reap some of them itself.
        processes = _list_processes() - {self._child}
        while True:
            if os.getpid() == 1:
                _kill_all()
            else:
                _kill_descendants(self._child)
            try:
                pid, state = os.waitpid(-1, 0)
            except ChildProcessError:
                return len(processes), status or 0
            if pid == self._child:
                status = state

    def _kill_since(self, old_processes: "Running") -> "tuple[int, int]":
        """Kill and reap the command and its descendants; returns the same as :meth:`_kill`.

        Earlier processes and their descendants continue, unless the command starts processes faster
        than they can be killed, or too much memory is still in use.
        """
        status: int | None = None
        killed: Running = set()
        for _ in range(200):
            fresh = _started_since(old_processes)
            killed |= fresh
            for pid, _start in fresh:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            child_status = _reap(self._child)
            status = status if child_status is None else child_status
            if not fresh:
                break
            time.sleep(0.005)
        if status is None or _started_since(old_processes) or _exceeds(self.config["memory"]):
            more, status = self._kill(status)
            return len(killed) + more, status
        return max(len(killed) - 1, 0), status  # without the command itself

    def _path(self, path: str) -> bytes:
        """Return a path; a relative one starts where commands run."""
        return os.path.join(_encoded(self.config["workdir"]), _encoded(path))

    def do_read(self, request: "Message") -> "Message":
        """Return the first ``max_bytes`` of ``path``."""
        descriptor = _open_regular(self._path(request["path"]), os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(request["max_bytes"])
        return {"content": _packed(content)}

    def do_write(self, request: "Message") -> "Message":
        """Write ``content`` (base64) to ``path`` with ``mode``."""
        path = self._path(request["path"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = _open_regular(path, os.O_WRONLY | os.O_CREAT)
        with os.fdopen(descriptor, "wb") as file:
            file.truncate(0)
            os.fchmod(file.fileno(), request["mode"])
            file.write(binascii.a2b_base64(request["content"]))
        return {}

    def do_put(self, request: "Message") -> "Message":
        """Unpack the body, a tar archive, in ``folder``.

        With ``pristine``, the content counts as unchanged; the folder must be one of the places.
        """
        import tarfile

        folder = request["folder"]
        os.makedirs(folder, exist_ok=True)
        with tarfile.open(fileobj=self._body(), mode="r|") as archive:
            for member in archive:
                _unpack(archive, member, lambda name: os.path.join(folder, _checked(name)))
        if request.get("pristine"):
            self.pristine[self.config["places"].index(folder)] = dict(_marks(folder))
        return {}

    def do_changes(self, request: "Message") -> "Message | None":
        """Send the changed regular files of ``workdir`` as a tar archive, and the deleted paths.

        If no file changed, there is no archive, so that ``tarfile`` need not be imported. Files
        over ``file_bytes``, and files beyond ``total_bytes`` in total, are left out.
        """
        workdir, room = self.config["places"][0], request["total_bytes"]
        marks = dict(_marks(workdir))
        paths = []
        for path in sorted(marks):
            kind, size = marks[path][0], marks[path][1]
            if marks[path] == self.pristine[0].get(path) or not stat.S_ISREG(kind):
                continue
            if not _of_repository(path) and size <= min(room, request["file_bytes"]):
                room -= size
                paths.append(path)
        deleted = [
            path
            for path, mark in sorted(self.pristine[0].items())
            if stat.S_ISREG(mark[0]) and not _of_repository(path)
            and not (path in marks and stat.S_ISREG(marks[path][0]))
        ]  # fmt: skip
        if not paths:
            return {"deleted": deleted}
        self._send_archive({"deleted": deleted}, [(path, path) for path in paths], workdir, b"")
        return None

    def do_snapshot(self, request: "Message") -> None:
        """Send all differences from the initial state as a tar archive, for ``restore``."""
        members: list[tuple[str, str]] = []
        deleted: list[str] = []
        for number, place in enumerate(self.config["places"]):
            now, then = dict(_marks(place)), self.pristine[number]
            changed = (path for path in sorted(now) if now[path] != then.get(path))
            members += [(f"{number}/{path}", os.path.join(place, path)) for path in changed]
            missing = (path for path in sorted(then) if path not in now)
            deleted += [f"{number}/{path}" for path in missing]
        self._send_archive({}, members, "/", json.dumps(deleted).encode("ascii"))

    def _send_archive(
        self, head: "Message", members: "list[tuple[str, str]]", folder: str, deleted: bytes
    ) -> None:
        """Send an archive as the body of an answer: the list of deleted paths, then the files."""
        import io
        import tarfile

        self.wire.send({**head, "body": True})
        trailer: Message = {}
        try:
            with tarfile.open(
                fileobj=self._body(), mode="w|", format=tarfile.PAX_FORMAT
            ) as archive:
                if deleted:
                    first = tarfile.TarInfo(DELETED)
                    first.size = len(deleted)
                    archive.addfile(first, io.BytesIO(deleted))
                for name, path in members:
                    _pack(archive, name, os.path.join(folder, path), links=bool(deleted))
        except (OSError, ValueError) as error:
            trailer = _failure(error)
        self.wire.finish(trailer)

    def _body(self) -> "Any":
        """Return the body of a message as a file for ``tarfile``, which only reads or writes."""
        return self.wire

    def do_restore(self, request: "Message") -> "Message":
        """Apply the body, a snapshot; the sandbox must be in its initial state."""
        import tarfile

        with tarfile.open(fileobj=self._body(), mode="r|") as archive:
            for member in archive:
                if member.name == DELETED:
                    content = archive.extractfile(member)
                    for path in json.loads(content.read().decode("ascii") if content else "[]"):
                        _remove(self._placed(path))
                else:
                    _unpack(archive, member, self._placed)
        return {}

    def _placed(self, name: str) -> str:
        """Return the path of a member of a snapshot."""
        number, _, path = _checked(name).partition("/")
        if not number.isdigit() or int(number) >= len(self.config["places"]):
            raise ValueError(f"expected a snapshot of this sandbox, got the member {name!r}")
        return os.path.join(self.config["places"][int(number)], path)


def _marks(folder: str, prefix: str = "", depth: int = 0) -> "Iterator[tuple[str, Mark]]":
    """Yield the entries of a folder with marks that show whether they change.

    A mark includes the inode's change time (ctime), which commands cannot set.
    """
    try:
        names = os.listdir(folder)
    except PermissionError:
        try:
            os.chmod(folder, 0o700)
            names = os.listdir(folder)
        except OSError:
            return
    except OSError:
        return
    device = os.lstat(folder).st_dev
    for name in names:
        path = os.path.join(folder, name)
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            # Other mounts below are not writable.
            if status.st_dev == device:
                yield prefix + name, (status.st_mode, 0)
                if depth < DEPTH:
                    yield from _marks(path, prefix + name + "/", depth + 1)
        else:
            times = (status.st_mtime_ns, status.st_ctime_ns)
            yield prefix + name, (status.st_mode, status.st_size, *times)


def _of_repository(path: str) -> bool:
    """Return whether a path is inside a repository's ``.git``."""
    return REPOSITORY in path.split("/")


def _open_regular(path: bytes, flags: int) -> int:
    """Open a regular file; raise for special files and files about this process."""
    # Without O_NONBLOCK, opening a named pipe could block forever.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o644)
    status = os.fstat(descriptor)
    try:
        is_proc = os.stat("/proc").st_dev == status.st_dev != os.stat("/").st_dev
    except OSError:
        is_proc = False
    if is_proc or not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "expected a regular file", os.fsdecode(path))
    return descriptor


def _pack(archive: "Any", name: str, path: str, links: bool) -> None:
    """Add a file, folder or link to an archive; special and unreadable files are left out.

    A second name of a file is stored as a hard link if ``links``, otherwise as a file.
    """
    member = archive.gettarinfo(path, name)
    if member is None:
        return
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if member.islnk() and not links:
        member.type, member.linkname, member.size = b"0", "", os.lstat(path).st_size
    if not member.isreg():
        if not member.isdev() or member.isfifo():  # device 0:0 can be made without privileges
            archive.addfile(member)
        return
    try:
        file = open(path, "rb")  # noqa: SIM115  (closed below)
    except PermissionError:
        try:
            os.chmod(path, 0o600)
            file = open(path, "rb")  # noqa: SIM115
            os.chmod(path, member.mode)
        except OSError:
            return
    with file:
        archive.addfile(member, file)


def _unpack(archive: "Any", member: "Any", locate: "Callable[[str], str]") -> None:
    """Create one member of an archive at its path; an existing entry is replaced."""
    path = locate(member.name)
    if member.isdir():
        if os.path.islink(path) or not os.path.isdir(path):
            _remove(path)
            os.makedirs(path)
        os.chmod(path, member.mode & 0o7777 | 0o700)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _remove(path)
    if member.issym():
        os.symlink(member.linkname, path)
    elif member.islnk():
        os.link(locate(member.linkname), path)
    elif member.isfifo():
        os.mkfifo(path, member.mode & 0o777)
    elif member.isreg():
        content = archive.extractfile(member)
        with open(path, "xb") as file:
            for data in iter(lambda: content.read(CHUNK), b""):
                file.write(data)
        os.chmod(path, member.mode & 0o777)
        with suppress(OSError, OverflowError):  # a time outside of this system's range
            os.utime(path, (member.mtime, member.mtime))
    else:
        raise ValueError(f"expected files, folders and links, got the special file {member.name!r}")


def _checked(name: str) -> str:
    """Return the name of an archive's member after checking that it stays in the folder."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        raise ValueError(f"expected names that stay in their folder, got {name!r}")
    return "/".join(part for part in parts if part not in ("", "."))


def _remove(path: str) -> None:
    """Remove a file or a folder with its content, if it exists."""
    import shutil

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _memory(limit: int) -> int:
    """Return the memory of the processes of this sandbox, in bytes.

    Shared pages count once. Reading that is expensive, so it is only done if the sum with shared
    pages counted several times exceeds the limit.
    """
    sizes = {}
    for pid in _list_processes():
        with suppress(OSError):
            # Any thread has the numbers, but the first one may have ended.
            for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
                place = f"/proc/{pid}/task/{thread}"
                with open(place + "/statm") as file:
                    sizes[place] = int(file.read().split()[1]) * resource.getpagesize()
                if sizes[place]:
                    break
    if sum(sizes.values()) > limit:
        for place in sizes:
            # If its shared pages cannot be read, count the whole process.
            with suppress(OSError), open(place + "/smaps_rollup") as file:
                pages = [int(line.split()[1]) for line in file if line.startswith("Pss:")]
                sizes[place] = 1024 * sum(pages)
    return sum(sizes.values())


def _exceeds(limit: int) -> bool:
    """Return whether the processes use more memory than a limit; 0: no limit.

    Reads twice, because a process that forks during one reading may be counted twice.
    """
    return limit > 0 and _memory(limit) > limit and _memory(limit) > limit


def _reap(child: int) -> "int | None":
    """Reap ended processes; return the status of the child if it is among them."""
    status = None
    while True:
        try:
            pid, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if not pid:
            return status
        if pid == child:
            status = state


def _kill_all() -> None:
    """Kill every process of the namespace except this one."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def _kill_descendants(child: int) -> None:
    """Kill the descendants of this process, for use without a pid namespace.

    Parents come first, so that they cannot react to the end of a child.
    """
    victims = _descendants(os.getpid())
    for pid in victims:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if not victims and child:  # a system without /proc
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)


def _list_processes() -> "set[int]":
    """Return the ids of the processes of this sandbox."""
    if os.getpid() != 1:
        return set(_descendants(os.getpid()))
    return {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1}


def _running() -> "Running":
    """Return id and start time of the running processes of this sandbox.

    The start time is needed because ids are reused.
    """
    processes = set()
    for pid in _list_processes():
        with suppress(OSError, ValueError, IndexError):
            state, _, start = _stat(pid)
            if state not in "ZX":
                processes.add((pid, start))
    return processes


def _started_since(old_processes: "Running") -> "Running":
    """Return the processes that did not run before, without descendants of earlier ones."""
    processes = _running()
    spared = {pid for pid, _start in processes & old_processes}
    spared.update(_descendants(*spared))
    return {(pid, start) for pid, start in processes if pid not in spared}


def _stat(pid: int) -> "tuple[str, int, int]":
    """Return state, parent and start time of a process."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        words = file.read().rpartition(b")")[2].split()
    return words[0].decode("ascii"), int(words[1]), int(words[19])


def _descendants(*pids: int) -> "list[int]":
    """Return the descendants of processes, parents first; empty without ``/proc``."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        with suppress(OSError, ValueError, IndexError):
            children.setdefault(_stat(int(name))[1], []).append(int(name))
    processes = [*pids]
    for parent in processes:  # the list grows during the loop
        processes += [child for child in children.get(parent, []) if child not in processes]
    return processes[len(pids) :]


def _drain(reader: int, output: Output, limit: int) -> bool:
    """Read the rest of a command's pipe; return whether all writers have closed it."""
    with suppress(BlockingIOError):
        while output.total <= limit:
            data = os.read(reader, CHUNK)
            if not data:
                return True
            output.add(data)
    return False


def _exit_code(status: int) -> int:
    """Return an exit status, or minus the number of a signal."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _failure(error: Exception) -> "Message":
    """Describe an error to the other side."""
    return {"error": str(error) or type(error).__name__, "errno": getattr(error, "errno", None)}


def _limit(kind: int, value: int) -> None:
    """Lower a limit of this process, which its children inherit."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _open_oom_score() -> "int | None":
    """Open this process's ``oom_score_adj``, or return None."""
    _prctl(PR_SET_DUMPABLE, 1)  # otherwise the file belongs to root
    try:
        return os.open("/proc/self/oom_score_adj", os.O_RDWR)
    except OSError:
        return None


@contextmanager
def _offered_to_oom_killer(score: "int | None") -> "Iterator[None]":
    """Let processes started in the block be killed before process 1 if memory runs out."""
    if score is None:
        yield
        return
    own_score = os.pread(score, 16, 0)
    os.write(score, b"1000")
    try:
        yield
    finally:
        os.write(score, own_score)


def _spawn(
    path: str, arguments: "list[bytes]", environment: "dict[bytes, bytes]", writer: int
) -> int:
    """Start a program in a new process group, with its output to ``writer``."""
    if hasattr(os, "posix_spawn"):
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_DUP2, writer, 2),
        ]
        child = os.posix_spawn(path, arguments, environment, file_actions=actions, setpgroup=0)
        _lower_priority(child)
        return child
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            _lower_priority(0)
            os.execve(path, arguments, environment)
        except BaseException as error:
            os.write(2, _complaint(error))
        finally:
            os._exit(126)
    return child


def _lower_priority(pid: int) -> None:
    """Lower the priority of a process and its future children below this process's."""
    with suppress(OSError):
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, min(priority + NICE, 19))


def _complaint(error: BaseException) -> bytes:
    """Return the output of a command that cannot be started."""
    return f"cannot run the command: {error}\n".encode("utf-8", "replace")


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process, if system and interpreter support it."""
    if _prctl_function is not None:
        _prctl_function(option, value, 0, 0, 0)


def _packed(data: bytes) -> str:
    """Encode bytes for a message, in base64."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _find_prctl() -> "Callable[..., int] | None":
    """Return the function of the C library, if there is one."""
    try:
        import ctypes

        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        return prctl
    except (ImportError, OSError, AttributeError):
        return None


_prctl_function = _find_prctl()


def _newer(*version: int) -> bool:
    """Return whether the interpreter is at least of this version."""
    return sys.version_info >= version


def _encoded(text: str) -> bytes:
    """Encode text for system calls, independent of the locale."""
    return text.encode("utf-8", "surrogateescape")


def serve(
    source: int, sink: int, owner: "int | None" = None, oom_score: "int | None" = None
) -> "NoReturn":
    """Answer requests on open descriptors.

    Args:
        source: Descriptor to read requests from.
        sink: Descriptor to write answers to; may be the same.
        owner: Descriptor of a process; the server ends with it, even if the stream stays open.
        oom_score: Descriptor of its own ``oom_score_adj``, if ``/proc`` is read-only.
    """
    Server(Wire(source, sink), owner, oom_score).run()


def main() -> None:
    """Serve on standard input and output, which commands do not inherit.

    The optional argument is the descriptor of the process that owns the sandbox.
    """
    source, sink = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(source, sink, *map(int, sys.argv[1:2]))


if __name__ == "__main__":
    main()
