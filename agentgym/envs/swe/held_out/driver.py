"""Runs in the box: ask the submitted package, and print what came back as JSON.

``python3 -S -s driver.py REQUESTS`` with nothing of the repository on the path. The first line of
the file holds settings, each further one a program as a JSON string, which calls ``_o(value)`` for
what is to be looked at and ``_x(error)`` for an exception. A line is printed for each program, and
one that counts them.

The first process imports nothing of the repository. A worker of it imports the packages once and
forks a child for every few programs. None of the three holds an answer, so none has to be trusted:
whoever forges one has to know it. The module imports nothing but the standard library and is valid
from Python 3.10 on, since a box may run another Python than the host.
"""

from __future__ import annotations

import enum
import gc
import json
import linecache
import os
import re
import resource
import select
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_ANSWER = 32_000
"""Characters of an answer; of a longer one only its length is told."""
MOST_ITEMS = 300
"""Entries of a container that are told."""
DEPTH = 6
"""How deep containers and objects are told."""
LONGEST_MESSAGE = 200
MEMORY = 1 << 29
IMPORT_SECONDS = 10.0
PATIENCE = 6
"""How many times as long as its processor time a program may take, on a machine with other work."""
STANDARD = ("fractions", "decimal", "datetime", "pathlib", "uuid", "ipaddress")
PROGRAM = "<program>"
DONE, GONE = 71, 72
"""How a child ends that has answered all that it shall, and one that is asked no more."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def encode(value: Any, depth: int = DEPTH) -> Any:
    """Return a value as JSON: numbers and constants bare, all else a list headed by its kind."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if abs(value) < 1 << 53 else ["int", hex(value)]
    if kind is float:
        return ["f", repr(value)]
    if kind is complex:
        return ["c", repr(value.real), repr(value.imag)]
    if kind is str:
        return ["s", spelled(value)]
    if kind in (bytes, bytearray, memoryview):
        return ["b", bytes(value).hex()]
    if isinstance(value, BaseException):
        return fault("!", value)
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return ["name", value.__qualname__]
    if isinstance(value, enum.Enum):
        return ["enum", kind.__name__, value.name]
    if depth == 0:
        return ["deep"]
    return _structure(value, kind, depth - 1)


def spelled(text: str) -> Any:
    """Return a text as JSON tells it apart from all others, without addresses.

    JSON joins two surrogates into one character. A text that holds some is told by its bytes.
    """
    text = _ADDRESS.sub("0x", text)
    if _SURROGATE.search(text):
        return ["u", text.encode("utf-8", "surrogatepass").hex()]
    return text


def _structure(value: Any, kind: type, depth: int) -> Any:
    """Tell a value that holds others."""
    if isinstance(value, (list, tuple)):
        entries = [encode(part, depth) for part in value[:MOST_ITEMS]]
        return ["t" if isinstance(value, tuple) else "l", len(value), *entries]
    if isinstance(value, (set, frozenset)):
        return ["set", *sorted((encode(part, depth) for part in value), key=json.dumps)]
    if isinstance(value, dict):
        pairs = [[encode(k, depth), encode(v, depth)] for k, v in list(value.items())[:MOST_ITEMS]]
        return ["d", len(value), *sorted(pairs, key=json.dumps)]
    plain_types: tuple[Any, ...] = (int, float, str, bytes)
    for base in plain_types:  # the value is of a class of the package below it
        if isinstance(value, base):
            return encode(base(value), depth)
    if kind.__module__.split(".")[0].lstrip("_") in STANDARD:
        return ["std", kind.__name__.replace("Posix", ""), spelled(str(value))]
    if hasattr(value, "__next__") or kind is range:
        return ["iter", *_items(value, depth)]
    return ["o", kind.__name__, _attributes(value, kind, depth)]


def _items(value: Any, depth: int) -> list[Any]:
    items: list[Any] = []
    for part in value:
        if len(items) == MOST_ITEMS:
            break
        items.append(encode(part, depth))
    return items


def _attributes(value: Any, kind: type, depth: int) -> dict[str, Any]:
    """Tell the public attributes and properties of an object, what it holds, and its text."""
    names = set(getattr(value, "__dict__", ()))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
        names |= {
            name for name, attribute in base.__dict__.items() if isinstance(attribute, property)
        }
    attributes: dict[str, Any] = {}
    for name in sorted(name for name in names if not name.startswith("_")):
        attributes[name] = _attempt(lambda name=name: encode(getattr(value, name), depth))
    defined = {name for base in kind.__mro__[:-1] for name in base.__dict__}
    if "__str__" in defined:
        attributes["str()"] = _attempt(lambda: ["s", spelled(str(value))])
    if "__iter__" in defined:
        attributes["iter()"] = _attempt(lambda: _items(iter(value), depth))
    return attributes


def _attempt(tell: Any) -> Any:
    try:
        return tell()
    except Exception as error:
        return ["!", type(error).__name__]


def fault(head: str, error: BaseException) -> list[Any]:
    """Tell an exception: its class, message, whether a ``raise`` of ours made it, and its bases."""
    trace, deepest = error.__traceback__, None
    while trace is not None:
        deepest, trace = trace, trace.tb_next
    is_own = False
    if deepest is not None:
        file = deepest.tb_frame.f_code.co_filename
        line = linecache.getline(file, deepest.tb_lineno).strip()
        is_own = (file == PROGRAM or file.startswith(os.getcwd() + "/")) and line.startswith(
            "raise"
        )
    try:
        message = spelled(_ADDRESS.sub("0x", str(error))[:LONGEST_MESSAGE])
    except Exception:
        message = "?"
    bases = [base.__name__ for base in type(error).__mro__[1:-2]]
    return [head, type(error).__name__, message, is_own, bases]


def answer(program: str) -> bytes:
    """Run one program; return the line that tells what it looked at."""
    lines = [line + "\n" for line in program.split("\n")]  # a form feed ends none
    linecache.cache[PROGRAM] = (len(program), None, lines, PROGRAM)
    looks: list[Any] = []
    space = {
        "__name__": "program",
        "_o": lambda value: looks.append(encode(value)),
        "_x": lambda error: looks.append(fault("!", error)),
    }
    try:
        exec(compile(program, PROGRAM, "exec", dont_inherit=True), space)
    except BaseException as error:
        looks.append(fault("end", error))
    try:
        line = json.dumps(looks)
    except (ValueError, RecursionError):
        line = '[["none"]]'
    if len(line) > LONGEST_ANSWER:
        line = json.dumps([["long", len(line)]])
    return line.encode("ascii") + b"\n"


def work(requests: int, answers: int, settings: dict[str, Any]) -> None:
    """Import the packages once, and answer programs in a fresh child for every few of them."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.path[:1] = [os.getcwd(), os.path.join(os.getcwd(), "src")]
    reader = os.fdopen(requests, "rb")
    for name in settings["packages"]:
        try:
            __import__(name)
        except BaseException:
            sys.modules.pop(name, None)  # every program will say so
    gc.freeze()
    os.write(answers, b"ready\n")
    limit = settings["seconds"]
    while True:
        child = os.fork()
        if not child:
            for _ in range(settings["together"]):
                line = reader.readline()  # the next one comes only after an answer
                if not line:
                    os._exit(GONE)
                signal.setitimer(signal.ITIMER_PROF, limit)
                answer_line = answer(json.loads(line))
                signal.setitimer(signal.ITIMER_PROF, 0)
                os.write(answers, answer_line)
            os._exit(DONE)
        status = os.waitpid(child, 0)[1]
        if status == GONE << 8:
            return
        if status != DONE << 8:
            os.write(answers, b'[["died"]]\n')


class Worker:
    """A process that answers programs one after the other.

    Args:
        settings: The first line of the requests.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._seconds = settings["seconds"]
        (child_requests, self._requests), (self._answers, child_answers) = os.pipe(), os.pipe()
        self._pid, self._unread = os.fork(), b""
        if not self._pid:
            os.close(self._requests)
            os.close(self._answers)
            os.setpgid(0, 0)
            try:
                work(child_requests, child_answers, settings)
            finally:
                os._exit(0)
        os.close(child_requests)
        os.close(child_answers)
        self.ready = self._line(IMPORT_SECONDS) == b"ready"

    def ask(self, request: bytes) -> bytes | None:
        """Return the answer to a line of the requests; None if there is none in time."""
        try:
            os.write(self._requests, request)
        except OSError:
            return None
        return self._line(self._seconds * PATIENCE + 2)

    def _line(self, seconds: float) -> bytes | None:
        """Read a line; None if it is late, too long, or none will come."""
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            seconds_left = end - time.monotonic()
            if seconds_left <= 0 or not select.select([self._answers], [], [], seconds_left)[0]:
                return None
            piece = os.read(self._answers, 1 << 16)
            self._unread += piece
            if not piece or len(self._unread) > 4 * LONGEST_ANSWER:
                return None
        line, _, self._unread = self._unread.partition(b"\n")
        # Nothing was asked yet that a second line could answer.
        return None if self._unread else line

    def end(self) -> None:
        """Kill it with what it started."""
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._requests)
        os.close(self._answers)


def main(path: str) -> None:
    """Answer the requests of a file.

    Args:
        path: The file.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    with open(path, "rb") as file:
        settings, *requests = file.read().splitlines(True)
    options = json.loads(settings)
    worker, late = Worker(options), 0
    for request in requests:
        answer_line = None
        if late <= options["late"] and worker.ready:
            answer_line = worker.ask(request)
            if answer_line is None or answer_line == b'[["died"]]':
                late += 1
                answer_line = None
                worker.end()
                if late <= options["late"]:
                    worker = Worker(options)
        plain_values = (
            answer_line is not None and answer_line.isascii() and len(answer_line) <= LONGEST_ANSWER
        )
        sys.stdout.write(answer_line.decode("ascii") if plain_values and answer_line else "null")
        sys.stdout.write("\n")
    sys.stdout.write(f"{len(requests)} programs\n")
    sys.stdout.flush()
    if late <= options["late"]:
        worker.end()


if __name__ == "__main__":
    main(sys.argv[1])
