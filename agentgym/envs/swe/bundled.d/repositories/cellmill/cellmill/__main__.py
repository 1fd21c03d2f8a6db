"""Run the command."""

import sys

from cellmill.cli import run

answer = run(sys.argv[1:])
sys.stdout.write(answer.output)
sys.exit(answer.code)
