"""Runs inside the independent judge's sandbox: call the questions and record the results.

Questions are read as JSON, pairs of a name and a module. Each module runs in a separate process,
and the printing process imports nothing of the repository.
"""

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress

SECONDS, CALL = 12.0, 0.5
"""Maximum seconds of a module, and processor seconds of a call."""
LARGEST = 4 << 20
"""Maximum bytes of a module's answer."""


class Late(BaseException):
    """A call took too long."""


def show(value, depth=5):
    """Serialize a value by its exact type, without calling methods of the library's classes."""
    kind = type(value)
    if value is None or kind in (bool, int, bytes, complex):
        return f"{kind.__name__}:{repr(value)[:2000]}"
    if kind is str:
        return "str:" + ascii(value[:4000])  # JSON would merge two surrogates into one character
    if kind is float:
        return f"float:{value:.9g}"
    if depth == 0:
        return "..."
    if kind in (list, tuple):
        return f"{kind.__name__}[{_joined(show(member, depth - 1) for member in value[:300])}]"
    if kind in (set, frozenset):
        return f"{kind.__name__}<{_joined(sorted(show(member, depth - 1) for member in value))}>"
    if kind is dict:
        rows = [
            show(key, depth - 1) + "=" + show(member, depth - 1) for key, member in value.items()
        ]
        return f"dict<{_joined(sorted(rows[:300]))}>"
    for base in (bool, int, float, str, bytes, tuple, list, dict):
        if isinstance(value, base):
            convert = {dict: dict.copy, list: list.copy}.get(base, base)
            return f"{kind.__name__}~{show(convert(value), depth - 1)}"
    if isinstance(value, BaseException):
        return "!" + kind.__name__
    if kind.__module__ in ("datetime", "decimal", "fractions", "pathlib"):
        return f"{kind.__name__}:{value}"
    if callable(value) and hasattr(value, "__qualname__"):
        return "callable"
    if hasattr(kind, "__next__"):
        items = []
        for member in value:
            items.append(show(member, depth - 1))
            if len(items) == 200:
                break
        return f"iterator[{_joined(items)}]"
    return show_object(value, kind, depth)


def _joined(parts):
    return ", ".join(parts)


def show_object(value, kind, depth):
    """Serialize an object of the library: its class and its public attributes."""
    names = set(getattr(value, "__dict__", ()))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
        names |= {
            key for key, attribute in base.__dict__.items() if isinstance(attribute, property)
        }
    rows = []
    for name in sorted(names):
        if not name.startswith("_"):
            try:
                rows.append(name + "=" + show(getattr(value, name), depth - 1))
            except Exception as error:
                rows.append(name + "=!" + type(error).__name__)
    if any("__str__" in base.__dict__ for base in kind.__mro__[:-1]):
        rows.append("str=" + str(value)[:1000])
    return f"{kind.__name__}({_joined(rows)})"


class Caught:
    """A stand-in for the result of ``pytest.raises``."""

    def __init__(self, error):
        self.value, self.type = error, type(error)

    def match(self, pattern):
        """Accept any message: the host compares it."""
        return True


class Marks:
    """A stand-in for ``pytest.mark``: keeps parametrizations, ignores other marks."""

    def parametrize(self, names, rows, **options):
        """Store a parametrization with its function."""
        names = (
            [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        )

        def keep(function):
            table = getattr(function, "_rows", [{}])
            cells = [row if len(names) > 1 else (row,) for row in rows]
            function._rows = [
                {**case, **dict(zip(names, row, strict=False))} for case in table for row in cells
            ]
            return function

        return keep

    def __getattr__(self, name):
        """Return a mark that changes nothing."""
        return lambda *words, **options: words[0] if words and callable(words[0]) else lambda f: f


class Pytest:
    """A stand-in for the parts of pytest that test files use outside of assertions."""

    mark = Marks()

    def param(self, *values, **options):
        """Return a case of a parametrization."""
        return values if len(values) > 1 else values[0]

    def approx(self, value, **options):
        """Return a number unchanged."""
        return value

    def fixture(self, *words, **options):
        """Return a function unchanged."""
        return words[0] if words else lambda function: function


def late(number, frame):
    """Interrupt a call."""
    raise Late


def ask(function, row):
    """Call a question; return the observed values."""
    looks = []
    function.__globals__["_see"] = lambda value: looks.append(show(value))
    function.__globals__["_raised"] = lambda error, words: looks.append(
        "!" + type(error).__name__ + (":" + str(error)[:300] if words else "")
    )
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    signal.setitimer(signal.ITIMER_PROF, CALL)
    try:
        function(**{name: value for name, value in row.items() if name in names})
    except BaseException as error:
        looks.append("!" + type(error).__name__)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return looks


def module(name, text, out):
    """Run a module of questions, and write a line for each."""
    sys.path[:0] = [os.getcwd(), os.getcwd() + "/src"]
    sys.modules["pytest"] = pytest = Pytest()
    space = {"__name__": "questions", "_Caught": Caught, "pytest": pytest}
    exec(compile(text, "<question>", "exec"), space)
    signal.signal(signal.SIGPROF, late)
    questions = [(key, member) for key, member in space.items() if key.startswith("ask_")]
    for key, member in list(space.items()):
        if isinstance(member, type) and key.startswith("Test"):
            instance = member()
            questions += [
                (key + "." + part, getattr(instance, part))
                for part in vars(member)
                if part.startswith("ask_")
            ]
    for key, question in questions:
        function = getattr(question, "__func__", question)
        extra = {} if function is question else {"self": question.__self__}
        for number, row in enumerate(getattr(function, "_rows", [{}])):
            looks = json.dumps(ask(function, {**row, **extra}))
            line = f"{name}::{key}[{number}]\t{looks}\n"
            os.write(out, line.encode())


def answers(name, text):
    """Return the output of a separate process, within limits of time and size."""
    source, out = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        try:
            module(name, text, out)
        finally:
            os._exit(0)
    os.close(out)
    output, end = b"", time.monotonic() + SECONDS
    while len(output) < LARGEST:
        if not select.select([source], [], [], max(0, end - time.monotonic()))[0]:
            break
        piece = os.read(source, 1 << 16)
        if not piece:
            break
        output += piece
    os.close(source)
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return output


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for name, text in json.load(sys.stdin):
        sys.stdout.buffer.write(answers(name, text))
        sys.stdout.buffer.flush()
