"""Run the driver of held-out questions in a box, and parse its output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgym.envs.swe.held_out.answers import read_answer
from agentgym.envs.swe.held_out.driver import LONGEST_ANSWER

if TYPE_CHECKING:  # the judge of exported tasks contains this module, but no sandboxes
    from agentgym.sandbox.base import ExecResult, Sandbox

DRIVER, REQUESTS = "driver.py", "requests"
"""Names of the driver and of its input file."""


class Pace(NamedTuple):
    """Time limits of programs."""

    seconds: float = 1.0
    """CPU time of one program in seconds; the limit of wall time is several times as much."""
    late: int = 0
    """Number of programs that may exceed the limit before the driver stops."""
    together: int = 25
    """Number of programs per process."""


def driver_files(packages: Sequence[str], programs: Sequence[str], pace: Pace) -> dict[str, bytes]:
    """Return the files that the driver needs in a box: content by name.

    Args:
        packages: Packages that the driver imports.
        programs: Sources of the programs to run.
        pace: Time limits.
    """
    settings = {"packages": [*packages], **pace._asdict()}
    lines = [json.dumps(request) + "\n" for request in (settings, *programs)]
    source = Path(__file__).with_name("driver.py").read_bytes()
    return {DRIVER: source, REQUESTS: "".join(lines).encode("ascii")}


def run_driver(
    box: Sandbox, place: str, timeout: float, hash_seed: int = 0, script: str = DRIVER
) -> ExecResult:
    """Run the driver in a box.

    Args:
        box: The box.
        place: Folder with the files of :func:`driver_files`.
        timeout: Time limit of all programs, in seconds.
        hash_seed: ``PYTHONHASHSEED``, which determines the order of sets of strings.
        script: Name of the driver, or of a script in the same folder that uses it.

    Raises:
        SandboxDied: The box died.
    """
    # Not -I, which would ignore the seed. -S, -s and an empty PYTHONPATH leave only the standard
    # library on the import path.
    return box.exec(
        f"exec python3 -S -s {place}/{script} {place}/{REQUESTS}",
        timeout=timeout,
        env={"PYTHONPATH": "", "PYTHONHASHSEED": str(hash_seed)},
    )


def read_answers(result: ExecResult, count: int) -> list[Any] | str:
    """Parse the answers of the driver.

    Args:
        result: Result of :func:`run_driver`.
        count: Number of programs.

    Returns:
        The answer to each program, or None for an invalid one; a text that says why there are no
        answers, if the run as a whole is invalid.
    """
    if result.timed_out:
        return "it took too long"
    if result.flooded or result.truncated:
        return "it printed more than was asked for"
    if result.exit_code:
        return f"the driver ended with {result.exit_code}"
    lines = result.text.split("\n")
    if len(lines) != count + 2 or lines[-2:] != [f"{count} programs", ""]:
        return "it printed other lines than was asked for"
    if max(map(len, lines)) > LONGEST_ANSWER:
        return "it printed more than was asked for"
    return [read_answer(line) for line in lines[:-2]]
