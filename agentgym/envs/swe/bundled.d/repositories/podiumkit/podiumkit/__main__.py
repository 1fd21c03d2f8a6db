"""Run the command."""

import sys

from podiumkit.cli import run

answer = run(sys.argv[1:])
sys.stdout.write(answer.output)
sys.exit(answer.code)
