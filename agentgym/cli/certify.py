"""``agentgym certify``: run the checks of an environment, and show the certificate."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentgym.cli.advice import in_flags
from agentgym.registration.making import parse_pairs
from agentgym.support.terminal import printable, say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.certification import CheckResult
    from agentgym.cli.arguments import Certify

SHOWN = 5
"""Maximum number of pieces of evidence shown of a check; the files have more."""


def certify(command: Certify, console: Console) -> int:
    """Run the checks, show the results, and return 1 if one fails."""
    from agentgym.certification import CHECKS, certify
    from agentgym.support.progress_bars import FittedProgress

    silent = command.json or not console.is_terminal
    with FittedProgress(console, transient=True, hidden=silent) as bar:
        bar_task = bar.begin("checks", len(command.checks or CHECKS))

        def advance(result: CheckResult) -> None:
            bar.advance(bar_task)

        settings = {name: value for name, value in vars(command).items() if name != "json"}
        settings["env_kwargs"] = parse_pairs(command.env_kwargs, "--env-kwargs")
        certificate = certify(**settings, on_check=advance)
    if command.json:
        sys.stdout.write(json.dumps(certificate.to_dict(), indent=2) + "\n")
        return int(not certificate.passed)
    console.print(certificate.table(in_flags))
    for result in certificate.results:
        for line in result.evidence[:SHOWN]:
            text = in_flags(printable(f"{result.check}: {line}"))
            console.print(text, markup=False, soft_wrap=True)
    counts = certificate.settings["counts"].items()
    tasks = printable(", ".join(f"{count} {split}" for split, count in counts))
    say(console, f"tasks: {tasks}; panel sha256 {certificate.panel_sha256[:16]}")
    say(console, f"{certificate}" + (f" {command.out}" if command.out else ""))
    return int(not certificate.passed)
