"""``agentgym-train`` whose runs over seeds are forked from itself, which has imported the trainer.

Forked in turn (see ``forks.py``), a command and its runs import nothing. That runs come from a
process of their own, as they do for a user, is for the tests that start no command.
"""

from __future__ import annotations

import multiprocessing
import sys

from tests.trainers.pictures import drawn
from tests.trainers.words import remembered
from trainers.cli import main

FORK = multiprocessing.get_context("fork")

if __name__ == "__main__":
    multiprocessing.get_context = lambda method=None: FORK  # type: ignore[assignment]
    with drawn(False), remembered():
        code = main(sys.argv[1:])
    sys.exit(code)
