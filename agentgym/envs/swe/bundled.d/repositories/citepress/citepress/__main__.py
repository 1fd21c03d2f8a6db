"""Run the command."""

import sys

from citepress.cli import run

answer = run(sys.argv[1:])
sys.stdout.write(answer.output)
sys.exit(answer.code)
