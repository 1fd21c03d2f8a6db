"""Change one token after the other until more tests pass, and in the end all.

Typed by ``BlindMutation`` into a box and run there; nothing on the host imports it. It knows the
tests that fail, and which functions they call: those come first, the rarer in tests that pass the
earlier. A change is kept if fewer tests fail and none that passed does. What was tried is written
down, so that the next call goes on where this one was stopped.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import select
import signal
import sys
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator
from typing import Any

STATE = "/tmp/token_search.json"
SECONDS_PER_RUN = 10  # of the processor; six times as many may pass, for machines under load
Change = tuple[str, tuple[int, int, int, str]]
SWAPS = {
    "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="],
    "==": ["!="], "!=": ["=="], "is": ["is not", "=="], "in": ["not in"], "not": [""],
    "and": ["or"], "or": ["and"], "+": ["-", "*"], "-": ["+", ""], "*": ["/", "+"],
    "/": ["*", "//"], "//": ["/", "%", "*"], "%": ["//"], "&": ["|"], "|": ["&"],
    "<<": [">>"], ">>": ["<<"], "+=": ["-=", "="], "-=": ["+=", "="], "=": ["+="],
    "True": ["False"], "False": ["True"], "break": ["continue"], "continue": ["break"],
    "min": ["max"], "max": ["min"], "any": ["all"], "all": ["any"], "floor": ["ceil"],
    "ceil": ["floor"], "startswith": ["endswith"], "endswith": ["startswith"],
    "lstrip": ["rstrip", "strip"], "rstrip": ["lstrip", "strip"], "strip": ["lstrip", "rstrip"],
    "ljust": ["rjust"], "rjust": ["ljust"], "find": ["rfind"], "rfind": ["find"],
    "partition": ["rpartition"], "rpartition": ["partition"], "split": ["rsplit"],
    "rsplit": ["split"], "lower": ["upper"], "upper": ["lower"], "insert": ["append"],
    "bisect_left": ["bisect_right"], "bisect_right": ["bisect_left"], "isalnum": ["isdigit"],
    "isalpha": ["isalnum"], "pop": ["popleft"], "append": ["appendleft", "extend"],
    "values": ["keys", "items"], "keys": ["values"], "list": ["sorted"], "tuple": ["sorted"],
    "issubset": ["issuperset"], "issuperset": ["issubset"], "union": ["intersection"],
    "intersection": ["union"], "ValueError": ["TypeError", "KeyError"],
    "TypeError": ["ValueError"], "KeyError": ["IndexError"], "IndexError": ["KeyError"],
    "if": ["if not"], "while": ["while not"], "return": ["return not"],
}  # fmt: skip
"""What stands in place of a token in turn."""


def sources() -> Iterator[str]:
    """Yield the Python files of the package, tests left out."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(d for d in folders if d not in ("tests", "test") and d[0] != ".")
        for name in sorted(names):
            if name.endswith(".py") and "test" not in name and name != "setup.py":
                yield os.path.join(folder, name)[2:]


def changes(path: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield line, column, end and new text for every token that has something to try."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER)
    ]
    for n, token in enumerate(tokens):
        line, start = token.start
        end = token.end[1]
        following = tokens[n + 1].string if n + 1 < len(tokens) else ""
        for new in SWAPS.get(token.string, ()):
            yield line, start, end, new
        if token.type == tokenize.NUMBER and token.string.isdigit():
            for value in (int(token.string) + 1, int(token.string) - 1):
                yield line, start, end, str(value)
        if token.type == tokenize.NAME and following in (")", "]", ":"):
            yield line, end, end, " + 1"
            yield line, end, end, " - 1"
        if token.string == "," and 0 < n < len(tokens) - 1:
            left, right = tokens[n - 1], tokens[n + 1]
            if left.start[0] == right.end[0] == line:
                yield line, left.start[1], right.end[1], f"{right.string}, {left.string}"


class Watcher:
    """A plugin of pytest: which tests fail, and which functions each calls."""

    def __init__(self, profile: bool) -> None:
        self.failed: set[str] = set()
        self.passed: set[str] = set()
        self.calls: dict[str, set[tuple[str, int]]] = {}
        self.profile = profile

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take down what became of a test."""
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be read fails as a whole."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_setup(self, item: Any) -> None:
        """Begin to take down calls."""
        if self.profile:
            functions = self.calls.setdefault(item.nodeid, set())
            root = os.getcwd() + os.sep

            def note(frame: Any, event: str, argument: Any) -> None:
                code = frame.f_code
                if event == "call" and code.co_filename.startswith(root):
                    functions.add((code.co_filename[len(root) :], code.co_firstlineno))

            sys.setprofile(note)

    def pytest_runtest_teardown(self, item: Any) -> None:
        """End it."""
        sys.setprofile(None)


def run(tests: list[str], profile: bool = False) -> Any:
    """Run tests in a child process; return what failed, what passed and what was called."""
    import pytest  # here, where the folder of the tests is on the path; children inherit it

    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_RUN, SECONDS_PER_RUN))
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        watcher = Watcher(profile)
        flags = ["-q", "-p", "no:cacheprovider", "-x"] if not tests and not profile else ["-q"]
        pytest.main([*flags, *tests], plugins=[watcher])
        calls = {test: sorted(functions) for test, functions in watcher.calls.items()}
        report = json.dumps([sorted(watcher.failed), sorted(watcher.passed), calls])
        with os.fdopen(writing, "w") as file:
            file.write(report)
        os._exit(0)
    os.close(writing)
    until, parts = time.monotonic() + 6 * SECONDS_PER_RUN, []
    while time.monotonic() < until:
        if select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
            part = os.read(reading, 1 << 16)
            if not part:
                break
            parts.append(part)
    os.close(reading)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return json.loads(b"".join(parts))
    except ValueError:
        return [["?"], [], {}]


def ranked(failed: set[str], calls: dict[str, Iterable[Any]]) -> list[list[Any]]:
    """Return the order of functions: called by many tests that fail and few that pass first."""
    bad: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    for test, places in calls.items():
        for place in map(tuple, places):
            counts[place] = counts.get(place, 0) + 1
            bad[place] = bad.get(place, 0) + (test in failed)
    return [
        [path, line, bad[path, line] / (len(failed) * counts[path, line]) ** 0.5]
        for path, line in sorted(bad)
        if bad[path, line]
    ]


def candidates(hot: list[list[Any]]) -> list[Change]:
    """Return all changes, those in functions that failing tests call first."""
    ranked_changes: list[tuple[float, int, str, tuple[int, int, int, str]]] = []
    for path in sources():
        try:
            file_changes = list(changes(path))
        except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
            continue
        starts = sorted((line, score) for file, line, score in hot if file == path)
        for change in file_changes:
            score = next((score for line, score in reversed(starts) if line <= change[0]), 0.0)
            ranked_changes.append((-score, len(ranked_changes), path, change))
    return [
        (path, change) for _, _, path, change in sorted(ranked_changes, key=lambda entry: entry[:2])
    ]


def changed(text: str, change: tuple[int, int, int, str]) -> str:
    """Return a file with one change."""
    line, start, end, new = change
    lines = text.split("\n")
    row = lines[line - 1]
    lines[line - 1] = row[:start] + new + row[end:]
    return "\n".join(lines)


def write(path: str, text: str) -> None:
    """Write a file at once."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def save(state: dict[str, Any]) -> None:
    """Write down how far the search is."""
    write(STATE + ".new", json.dumps(state))
    os.replace(STATE + ".new", STATE)


def load() -> Any:
    """Return how far the search is; a file that a killed call has left changed is put back."""
    if os.path.exists(STATE):
        with open(STATE, encoding="utf-8") as file:
            state = json.load(file)
        if state["open"]:
            write(*state["open"])
        return state
    failed, _passed, calls = run([], profile=True)
    state = {"failed": failed, "hot": ranked(set(failed), calls), "next": 0, "open": None}
    save(state)
    return state


def spent() -> float:
    """Return the seconds of the processor that this process and its children have used."""
    return sum(os.times()[:4])


def search(seconds: float, first: Callable[[list[list[Any]]], list[Change]] | None = None) -> bool:
    """Try changes, those that ``first`` names before others, and return whether all tests pass.

    It ends after so many seconds of the processor.
    ``first`` gets the functions that failing tests call, as `ranked` orders them.
    """
    until = spent() + seconds
    state = load()
    while state["failed"]:
        hot = state["hot"]
        order = [*(first(hot) if first else ()), *candidates(hot)]
        for number in range(state["next"], len(order)):
            if spent() > until:
                return False
            state["next"] = number + 1
            if attempt(state, *order[number]):
                break
        else:
            return False
    return True


def attempt(state: dict[str, Any], path: str, change: tuple[int, int, int, str]) -> bool:
    """Try a change; keep it if fewer tests fail and no other does."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    new = changed(text, change)
    try:
        compile(new, path, "exec")
    except (SyntaxError, ValueError):
        return False
    state["open"] = [path, text]
    save(state)
    write(path, new)
    failed_before = set(state["failed"])
    failed, passed, _ = run(sorted(failed_before))
    if passed and failed_before & set(passed):
        failed, passed, _ = run(["."])
        if set(failed) < failed_before:
            state.update(failed=failed, next=0, open=None)
            save(state)
            return True
    write(path, text)
    state["open"] = None
    save(state)
    return False


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.getcwd())
    print("all tests pass" if search(float(sys.argv[1])) else "searched on")
