"""Start the driver in a box, and read what it printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgym.envs.swe.held_out.answers import read_answer
from agentgym.envs.swe.held_out.driver import LONGEST_ANSWER

if TYPE_CHECKING:  # the judge of exported tasks has no sandboxes, and brings a box of its own
    from agentgym.sandbox.base import ExecResult, Sandbox

DRIVER, REQUESTS = "driver.py", "requests"
"""Names of the files that the driver needs."""


class Pace(NamedTuple):
    """How long programs may take."""

    seconds: float = 1.0
    """Processor time of one; several times as much wall time."""
    late: int = 0
    """Programs that may take longer before no more is asked."""
    together: int = 25
    """Programs that share a process."""


def driver_files(packages: Sequence[str], programs: Sequence[str], pace: Pace) -> dict[str, bytes]:
    """Return what has to lie in a box, by name.

    Args:
        packages: What the driver imports.
        programs: What it runs.
        pace: How long they may take.
    """
    settings = {"packages": [*packages], **pace._asdict()}
    lines = [json.dumps(request) + "\n" for request in (settings, *programs)]
    source = Path(__file__).with_name("driver.py").read_bytes()
    return {DRIVER: source, REQUESTS: "".join(lines).encode("ascii")}


def run_driver(
    box: Sandbox, place: str, timeout: float, hash_seed: int = 0, script: str = DRIVER
) -> ExecResult:
    """Run the driver on what a box holds.

    Args:
        box: The box.
        place: Folder with the files of :func:`driver_files`.
        timeout: Seconds that it may take.
        hash_seed: Decides the order of sets of texts inside.
        script: The driver, or what lies beside it and uses it.

    Raises:
        SandboxDied: The box ended.
    """
    # Not -I, which would ignore the seed. -S and an empty path keep out all but the standard
    # library, and -s the folder of a user.
    return box.exec(
        f"exec python3 -S -s {place}/{script} {place}/{REQUESTS}",
        timeout=timeout,
        env={"PYTHONPATH": "", "PYTHONHASHSEED": str(hash_seed)},
    )


def read_answers(done: ExecResult, count: int) -> list[Any] | str:
    """Return an answer to each program, None for those without, or why there are none.

    Args:
        done: How the driver ended.
        count: Programs that were asked.
    """
    if done.timed_out:
        return "it took too long"
    if done.flooded or done.truncated:
        return "it printed more than was asked for"
    if done.exit_code:
        return f"the driver ended with {done.exit_code}"
    lines = done.text.split("\n")
    if len(lines) != count + 2 or lines[-2:] != [f"{count} programs", ""]:
        return "it printed other lines than was asked for"
    if max(map(len, lines)) > LONGEST_ANSWER:
        return "it printed more than was asked for"
    return [read_answer(line) for line in lines[:-2]]
