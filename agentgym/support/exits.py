"""Run a command so that it always ends with an exit code and at most one sentence."""

from __future__ import annotations

import os
import select
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress

from agentgym.errors import AgentGymError
from agentgym.support.terminal import printable

BAD_INPUT = 2
INCOMPLETE = 3
"""Of ``agentgym eval``: too many episodes are broken, or some are missing."""
INTERNAL_ERROR = 70
"""As ``EX_SOFTWARE`` of sysexits.h."""
INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""Exit code if the reader of the output has closed the pipe, as in ``agentgym list | head -1``."""

Explain = Callable[[Exception], "str | None"]


def run_command(
    program: str,
    body: Callable[[], int],
    *,
    stopped: str = "stopped",
    explain: Explain = lambda error: None,
    words: Callable[[str], str] = str,
) -> int:
    """Carry out a command.

    Args:
        program: Its name, with which sentences begin.
        body: The command; returns the exit code.
        stopped: Message after Ctrl-C.
        explain: Returns a sentence that explains an error of this program, or None.
        words: Puts the advice of an error into the words of the program.

    Returns:
        What ``body`` returns; 2 after bad input or a file that cannot be used, 70 after an
        unexpected error, whose traceback is kept in a file, 130 after Ctrl-C, 141 if nobody reads
        the output any more.

    Raises:
        SystemExit: The arguments cannot be read, or help was asked for.
    """
    _open_streams()
    try:
        try:
            code = body()
        except SystemExit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say(stopped)
        return INTERRUPTED
    except AgentGymError as error:
        return _fail(program, explain(error) or words(str(error)))
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            _drop_output()
            return OUTPUT_CLOSED
        return _fail(program, *_reason(error, explain))


def _reason(error: Exception, explain: Explain) -> tuple[str, int]:
    """Put an error that is none of agentgym's into a sentence."""
    explanation = explain(error)
    if explanation is not None:
        return explanation, BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        file_note = f" ({error.filename})" if error.filename else ""
        problem = f"expected files and an output that can be used, but: {error.strerror}{file_note}"
        return problem, BAD_INPUT
    return f"unexpected {type(error).__name__}: {error}; {_keep_traceback(error)}", INTERNAL_ERROR


def _keep_traceback(error: Exception) -> str:
    """Write the traceback to a file and say what to do with it."""
    text = "".join(traceback.format_exception(error))
    try:
        handle, name = tempfile.mkstemp(prefix="agentgym-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return "there is no room for its traceback"
    return f"if it does not come from code of your own, please report it with {name}"


def _fail(program: str, message: str, code: int = BAD_INPUT) -> int:
    """Print an error in one line."""
    _say(f"{program}: {' '.join(message.split())}")
    return code


def _say(text: str) -> None:
    """Write to standard error, if anybody listens there."""
    with suppress(OSError, ValueError):
        print(printable(text), file=sys.stderr, flush=True)
    _drop_output()


def _open_streams() -> None:
    """Give a process without standard streams empty ones, and let no character be unprintable."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started the process
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            errors = "backslashreplace" if name == "stderr" else "replace"
            with suppress(OSError, ValueError):  # the stream has already been read from
                stream.reconfigure(errors=errors)


def _nobody_reads() -> bool:
    """Return whether the reader of an output has gone; other pipes may break, too."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _drop_output() -> None:
    """Discard unwritten output, so that the interpreter does not fail to flush it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
