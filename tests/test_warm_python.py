"""What the suite plays in forks is told apart from a new process by nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import renumber

ROOT = Path(__file__).parent.parent
PROGRAM = """
from tests.warm_python import run_warm

for word in ("first", "second"):
    done = run_warm([word], "import sys; print(sys.argv[1]); print('error', file=sys.stderr)")
    assert (done.returncode, done.stdout, done.stderr) == (0, word + "\\n", "error\\n"), done
"""


@pytest.mark.slow
@pytest.mark.parametrize("closed", [(), (0,), (0, 1), (2,)])
def test_a_fork_has_its_streams_where_those_of_the_suite_are_closed(
    closed: tuple[int, ...],
) -> None:
    close = f"import os\nfor number in {closed}: os.close(number)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-c", close + PROGRAM]
    # Another test of this process may have closed its own standard input.
    process = subprocess.run(program, env=environment, stdin=subprocess.DEVNULL, timeout=120)
    assert process.returncode == 0


def test_descriptors_can_change_places() -> None:
    (first, second), numbers = os.pipe(), []
    try:
        with open(os.devnull) as file:
            numbers = [os.dup(file.fileno()) for _ in range(2)]
        for number in numbers:
            os.close(number)
        renumber([first, second], numbers)
        os.write(numbers[1], b"words")
        assert os.read(numbers[0], 10) == b"words"
        renumber(numbers, numbers[::-1])
        os.write(numbers[0], b"again")
        assert os.read(numbers[1], 10) == b"again"
    finally:
        for number in numbers:
            os.close(number)
